// Command llmd serves every large language model through one gRPC contract.
//
//	serve    run the server
//	demo     see streaming, a hand-off and an abort on one machine, without keys
//	call     send one prompt to a model
//	models   list models
//	check    list providers, their credentials and what is missing
//	health   ask a running server how it is
//	version  print the version
//
// Commands exit with 0, with 1 when something failed, with 2 when the command
// line or the configuration is wrong, and with 130 when they were interrupted.
package main
