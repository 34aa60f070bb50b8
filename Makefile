# Every target is one step of .ci/run, so that what passes here passes there.
# `make` alone builds; `make ci` is the whole run.

.PHONY: build test race lint fmt generate check-generate proto descriptor fuzz bench ci

build:
	.ci/run build

test:
	.ci/run test

race:
	.ci/run race

lint:
	.ci/run lint

# Rewrites Go and proto files in the project's format.
fmt:
	.ci/run fmt

# Rewrites gen/ from proto/, the descriptor set too.
generate:
	.ci/run generate descriptor

# Fails when gen/ is not what generate would write; touches nothing.
check-generate:
	.ci/run check-generate

# Lint, format and breaking changes of the contract.
proto:
	.ci/run proto

# gen/llmd.binpb, for `grpcurl -protoset` and other tools without reflection.
descriptor:
	.ci/run descriptor

# Ten seconds for each fuzz target; FUZZTIME=1m for more.
fuzz:
	FUZZTIME=$${FUZZTIME:-10s} .ci/run fuzz

bench:
	.ci/run bench

ci:
	.ci/run
