# make run    builds everything, serves two simulated deployments on ADDR and prints the address
# make test   everything that must hold, the fast parts first
# make check  format, vet, generated files, unit tests under the race detector
# make bench  the measured bars
# make fuzz   each fuzz test for FUZZTIME
# make torture  the collector killed KILLS times while everything else goes wrong too

ADDR     ?= 127.0.0.1:8080
FUZZTIME ?= 30s
KILLS    ?= 150

# Packages with Go code; e2e is a module of its own.
GOFILES = $(shell find . -name node_modules -prune -o -name '*.go' -print)
# The race detector needs cgo and a C compiler.
HAVE_CC = $(shell command -v $$(go env CC) 2>/dev/null)
# NVML's header marks old functions, which its Go binding wraps all the same: 40 warnings that nobody here can act on.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations

.PHONY: run build web generate test check bench fuzz torture lint unit race frontend e2e clean

run: build
	exec bin/stepscope serve --demo --addr $(ADDR)

build: web
	go build -trimpath -o bin/stepscope ./cmd/stepscope

web:
	scripts/build-web.sh

generate:
	go tool templ generate -path views

test: lint unit race frontend e2e

check: lint race

lint:
	@out=$$(gofmt -l $(GOFILES)); [ -z "$$out" ] || { echo "gofmt -w these files:"; echo "$$out"; exit 1; }
	go vet ./...
	cd e2e && go vet ./...
	go mod tidy -diff
	GOOS=js GOARCH=wasm go vet ./wasm
	go tool templ generate -check -log-level error -path views

unit:
	go test ./...

race:
ifeq ($(HAVE_CC),)
	@echo "make: no C compiler, so the race detector did not run; install one for the whole of make test"
else
	CGO_ENABLED=1 go test -race -short ./...
endif

# The front end's types and tests, then the module it loads: WASM must equal native.
frontend: web
	node scripts/budget.mjs web/static/dist
	npm run check
	npm test --if-present
	STEPSCOPE_WASM=$(CURDIR)/bin/web/trace.wasm go test -run 'WASM|Wasm' ./wasm/... ./engine/trace/...

# The browser tests find Chromium, or install it; STEPSCOPE_NO_BROWSER=1 leaves them out.
e2e: build
	cd e2e && STEPSCOPE_BIN=$(CURDIR)/bin/stepscope go test -count=1 -timeout 20m ./...
	@echo "screenshots of every page and state: $(CURDIR)/e2e/out"

bench: build
	go test -run '^$$' -bench . -benchmem -timeout 60m ./engine/... ./store/... ./collector/... ./web
	cd e2e && STEPSCOPE_BIN=$(CURDIR)/bin/stepscope go test -count=1 -timeout 60m -run '^$$' -bench . -benchtime 1x ./...

torture:
	STEPSCOPE_TORTURE=$(KILLS) go test -count=1 -timeout 60m -v -run Torture ./collector

# go test fuzzes one target of one package at a time.
fuzz:
	@set -e; for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

clean:
	rm -rf bin node_modules
	find web/static/dist -type f ! -name .gitkeep -delete
