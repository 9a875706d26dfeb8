# make help lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# The tools have a module of their own, so that users of the library do not inherit their dependencies.
TOOL = $(GO) tool -modfile=test/tools/go.mod

# How long each fuzz target runs in make fuzz, and in make test.
FUZZTIME ?= 10m
SHORT_FUZZTIME ?= 1s

# When a package of tests is given up. The longest take two minutes; a machine may have other things to do.
TEST_TIMEOUT ?= 30m

# Which benchmarks make bench runs, for how long, and how often.
BENCH ?= .
BENCHTIME ?= 1s
COUNT ?= 3

# For how long make soak runs.
SOAK ?= 10m

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS = $(if $(VERSION),-X main.version=$(VERSION))

# Where make generate writes: here, or into a tree to compare with.
OUT ?= .
API = interpreter/v1alpha1

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: test
test: generate-check fmt-check vet lint tidy-check test-race fuzz-short run e2e ## test everything

.PHONY: check
check: fmt-check vet ## the quick round while working: format, vet, tests
	$(GO) test ./...

.PHONY: run
run: build ## ask an example customization whether an example object is healthy
	bin/interpret -f examples/customization/deployment.yaml --operation InterpretHealth --observed-file examples/customization/web.yaml

.PHONY: build
build: ## build bin/interpret
	@$(GO) build -ldflags '$(LDFLAGS)' -o bin/interpret ./cmd/interpret

.PHONY: generate
generate: ## write the generated files: deep copies, CRD manifests, the Lua reference
	@mkdir -p $(OUT)/$(API)/crds
	$(GO) run ./docs/gen $(OUT)/docs
	$(TOOL) controller-gen object crd paths=./$(API) output:object:dir=$(OUT)/$(API) output:crd:dir=$(OUT)/$(API)/crds

.PHONY: generate-check
generate-check: ## fail if make generate would change something
	@tree=$$(mktemp -d); trap 'rm -rf "$$tree"' EXIT; \
	$(MAKE) --no-print-directory generate OUT="$$tree"; \
	diff -r $(API)/crds "$$tree/$(API)/crds" && \
	(cd "$$tree" && find . -type f) | while read -r file; do diff "$$file" "$$tree/$$file"; done || \
	{ echo 'generated files differ (< here, > generated): run make generate and commit the result' >&2; exit 1; }

.PHONY: fmt-check
fmt-check:
	@files=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .); if [ -n "$$files" ]; then echo "not in gofmt's format:" $$files >&2; exit 1; fi

.PHONY: vet
vet:
	$(GO) vet -tags cases ./...
	cd test/e2e && $(GO) vet ./...

.PHONY: lint
lint:
	$(TOOL) staticcheck -tags cases ./...
	cd test/e2e && $(GO) tool -modfile=../tools/go.mod staticcheck ./...

.PHONY: tidy-check
tidy-check:
	$(GO) mod tidy -diff
	cd test/e2e && $(GO) mod tidy -diff

.PHONY: test-race
test-race: ## all tests with the race detector
	$(GO) test -race -timeout $(TEST_TIMEOUT) ./...

.PHONY: envtest
envtest: ## build the API server that make e2e runs, unless KUBEBUILDER_ASSETS names one
	@GO='$(GO)' test/envtest/build.sh >/dev/null

.PHONY: e2e
e2e: envtest ## test against a real API server
	@assets=$$(GO='$(GO)' test/envtest/build.sh 2>/dev/null) && cd test/e2e && KUBEBUILDER_ASSETS="$$assets" $(GO) test -count=1 -timeout $(TEST_TIMEOUT)

.PHONY: kind-table
kind-table: envtest ## write the table of the kinds that Kubernetes serves, as an API server tells them
	@assets=$$(GO='$(GO)' test/envtest/build.sh 2>/dev/null) && cd test/e2e && KUBEBUILDER_ASSETS="$$assets" $(GO) run ./kindtable '$(abspath $(OUT))/interpreter/kinds/standard.json'

.PHONY: cases
cases: ## run recorded cases: make cases DIR=path
	$(if $(DIR),,$(error name the directory of the cases: make cases DIR=path))
	CASES_DIR='$(abspath $(DIR))' $(GO) test -count=1 -tags cases ./...

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each
	@GO='$(GO)' test/fuzz.sh $(FUZZTIME)

.PHONY: fuzz-short
fuzz-short:
	@GO='$(GO)' test/fuzz.sh $(SHORT_FUZZTIME)

.PHONY: bench
bench: ## measure, and print a table; OLD=file compares with a copy of bin/bench.txt kept from before
	@mkdir -p bin
	@$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) ./... >bin/bench.txt || { cat bin/bench.txt; exit 1; }
	@$(GO) run ./test/benchtable <bin/bench.txt
	$(if $(OLD),@$(TOOL) benchstat '$(OLD)' bin/bench.txt)

.PHONY: bench-webhook
bench-webhook: ## compare the webhook server with a bare HTTP handler
	$(GO) test -run '^$$' -bench 'Handler|RoundTrip' -benchtime $(BENCHTIME) -count $(COUNT) ./webhook

.PHONY: soak
soak: ## ask a webhook server for SOAK while its rules and certificates change
	SOAK=$(SOAK) $(GO) test -count=1 -v -timeout 0 -run '^TestSoak$$' ./webhook

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
