// Package interceptors holds what happens around every RPC, whatever it does:
// telemetry, logging, recovery from panics, authentication, limits. chain.go decides the order, once.
//
// Nothing here knows a message: bodies are neither read nor logged, since they
// hold prompts. What concerns one RPC belongs to package service.
package interceptors
