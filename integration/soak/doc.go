// Package soak runs real llmd processes for a long time near the highest load that the
// machine holds, while the configuration is reloaded, providers fail and processes are
// replaced one by one.
//
//	soak_test.go      the run, and what must hold at its end
//	provider_test.go  a provider that fails as the prompt's seed says
//	process_test.go   llmd as a process: start, end, memory
//
// Without anything said it runs for a few seconds. LLMD_LONG=1 makes that half an hour;
// LLMD_SOAK_TIME and LLMD_SOAK_STREAMS set it otherwise.
package soak
