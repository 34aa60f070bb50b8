package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(&session{ctx: ctx, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.LookupEnv}, os.Args[1:])
	stop()
	os.Exit(code)
}
