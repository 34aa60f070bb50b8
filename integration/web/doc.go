// Package web calls llmd as browsers and programs without gRPC do, by the clients of
// another project (connect-go) and by plain HTTP, and compares with what a gRPC client
// gets.
package web
