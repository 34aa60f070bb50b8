// Package sharedtest looks at shared responses as an operator has them: three llmd
// processes and a real Redis on one machine. What happens in one process must be seen
// through the others, a process may be killed, and Redis may go and come back.
//
// Everything runs in a short form by default; LLMD_LONG=1 asks for the long one.
package sharedtest
