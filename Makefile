# Every target but catalogue is one step of .ci/run, so that what passes here
# passes there. `make` alone builds; `make ci` is the whole run.

.PHONY: vulnerabilities update deploy deploy-update build test race lint fmt generate check-generate proto descriptor api licences stubs clients release fuzz bench microbench catalogue ci

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

# Rewrites gen/ from proto/, the descriptor set and docs/api.md too.
generate:
	.ci/run generate descriptor api

# Fails when gen/ is not what generate would write; touches nothing.
check-generate:
	.ci/run check-generate

# Lint, format and breaking changes of the contract.
proto:
	.ci/run proto

# gen/llmd.binpb, for `grpcurl -protoset` and other tools without reflection.
descriptor:
	.ci/run descriptor

# docs/api.md, from the descriptor set.
api:
	.ci/run api

# docs/dependencies.md, from the modules themselves. Run it when go.mod has changed.
licences:
	.ci/run licences

# The stubs of every language, into dist/stubs: see docs/clients.md.
stubs:
	.ci/run stubs

# The clients below examples/ against a running llmd. Builds them first, outside
# the checkout: the first time takes minutes and needs the network.
clients:
	.ci/run clients

# What a release consists of, into dist/release: see docs/releasing.md.
release:
	.ci/run release

# Known vulnerabilities in what llmd calls; needs the network.
vulnerabilities:
	.ci/run vulnerabilities

# The newest versions of all modules, to be read and tested before they land.
update:
	.ci/run update

# The tests of deploy/: image, chart, manifests, unit, alerts, dashboard.
deploy:
	.ci/run deploy

# deploy/kubernetes/shared.yaml, from the chart.
deploy-update:
	.ci/run deploy-update

# Ten seconds for each fuzz target; FUZZTIME=1m for more.
fuzz:
	FUZZTIME=$${FUZZTIME:-10s} .ci/run fuzz

# llmd beside servers that do as little as can be done, ten minutes: docs/performance.md.
# BENCH='-quick -only cpu' for other flags.
bench:
	.ci/run bench

# Benchmarks of the hot packages; BASE=main compares with a commit, by benchstat.
microbench:
	.ci/run microbench

# Writes internal/catalog/models from the public list of models, see
# docs/providers.md. `make catalogue LIST=1.6.0` takes a given version of it. Needs
# npm and the network.
LIST ?= latest
catalogue:
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	(cd "$$dir" && npm pack --silent @earendil-works/pi-ai@$(LIST) && tar xzf *.tgz); \
	version=$$(sed -n 's/^[[:space:]]*"version": *"\([^"]*\)".*/\1/p' "$$dir/package/package.json" | head -n 1); \
	cd tools && go run ./catalogue -data "$$dir/package/dist/providers/data" -version "$$version" -out ../internal/catalog/models

ci:
	.ci/run
