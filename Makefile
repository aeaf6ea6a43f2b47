# Coxswain. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The checks, pinned. They are built outside go.mod, because requiring them
# there would raise go.temporal.io/api past what the embedded server needs.
export GOLANGCI_LINT := v2.15.0
export WORKFLOWCHECK := v0.6.0
export GOFUMPT       := v0.12.0
export TEMPORAL_API  := v1.63.5

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X coxswain/cmd/internal/cli.Version=$(VERSION)
# The command line library's man pages bring a Markdown parser, which every start would pay for.
GOBUILD := CGO_ENABLED=0 go build -trimpath -tags urfave_cli_no_docs -ldflags '$(LDFLAGS)'

##@ Use

.PHONY: build
build: cox cox-temporal ## build bin/cox and bin/cox-temporal

.PHONY: cox
cox: ## build bin/cox alone
	$(GOBUILD) -o bin/cox ./cmd/cox

.PHONY: cox-temporal
cox-temporal: ## build bin/cox-temporal alone
	$(GOBUILD) -o bin/cox-temporal ./cmd/cox-temporal

.PHONY: run
run: build ## build, then start the demo: Temporal, worker, Web UI and scripted agents
	bin/cox up --demo

##@ Check

.PHONY: test
test: build ## run all tests (arguments for go test: ARGS='-run Name')
	scripts/test.sh $(ARGS)

.PHONY: lint
lint: ## run all checks of the source
	scripts/lint.sh

.PHONY: check
check: test lint ## test and lint, as CI does

.PHONY: docs
docs: ## write what the documents take from the code
	go run -tags urfave_cli_no_docs ./cmd/cox-docs

.PHONY: fmt
fmt: ## format the source
	bin=$$(scripts/install-tool.sh mvdan.cc/gofumpt $(GOFUMPT)); git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 "$$bin" -w

.PHONY: fix
fix: ## let the linters mend what they can
	bin=$$(scripts/install-tool.sh github.com/golangci/golangci-lint/v2/cmd/golangci-lint $(GOLANGCI_LINT)); "$$bin" run --timeout 40m --fix ./...

.PHONY: live
live: build ## prove the whole loop on the real, pinned Codex; fails without it
	codex=$$(scripts/install-codex.sh --check); \
	COX_LIVE=1 COX_CODEX_BIN="$$codex" COX_BIN=$(CURDIR)/bin/cox COX_TEMPORAL_BIN=$(CURDIR)/bin/cox-temporal \
		go test -count=1 -timeout 20m -v -run Live ./cmd/internal/live

.PHONY: mutate
mutate: ## delete rules one at a time in a copy and show that their tests fail
	scripts/mutate.sh $(ARGS)

.PHONY: bench
bench: build ## measure; the last thing printed is one JSON document
	@COX_BIN=$(CURDIR)/bin/cox COX_TEMPORAL_BIN=$(CURDIR)/bin/cox-temporal go run ./cmd/cox-bench

.PHONY: crash
crash: cox-temporal ## kill real processes at every arrow and audit what is left: SEED=n goes on with a seed, WORLD=n repeats one world, DURATION=10m
	CGO_ENABLED=0 go build -trimpath -tags failpoints,urfave_cli_no_docs -o bin/crash/cox ./cmd/cox
	go build -trimpath -o bin/crash/cox-crash ./cmd/cox-crash
	codex=$$(scripts/install-codex.sh --check); \
	COX_BIN=$(CURDIR)/bin/crash/cox COX_TEMPORAL_BIN=$(CURDIR)/bin/cox-temporal COX_CODEX_BIN="$$codex" \
		bin/crash/cox-crash -duration $(or $(DURATION),10m) $(if $(SEED),-seed $(SEED)) $(if $(WORLD),-world $(WORLD)) $(ARGS)

##@ Tidy up

.PHONY: codex
codex: ## install the pinned Codex into the cache
	scripts/install-codex.sh

.PHONY: clean
clean: ## remove what the build made; caches stay
	rm -rf bin

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
