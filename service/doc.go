// Package service implements the RPCs of llmd.v1. Handlers are thin: they check
// the request, let service/generation do the work, and say in the contract's words
// what came of it.
//
//	inference.go   the handlers of InferenceService
//	models.go      the handlers of ModelService
//	validate.go    what a request must look like
//	errors.go      the only map from errors to statuses
//	status.go      how an error becomes a status with details
//	adapters.go    the one table that names every adapter
//	upstream.go    which host, credentials and headers a model's requests get
package service
