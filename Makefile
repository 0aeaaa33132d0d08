# Start with make demo or make test. All targets need only Go and make.

BIN := bin
CLUSTERS := $(BIN)/clusters
CONTROLLERS := $(BIN)/controllers
KUEUE := $(BIN)/kueue
SCHEDULER := $(BIN)/scheduler
# KUEUE_VERSION is for tests and the demo. CI also tests OLDER_KUEUES at night: 0.12 does not yet
# record the cluster of a Workload.
KUEUE_VERSION := v0.19.2
OLDER_KUEUES := v0.18.4 v0.16.2 v0.12.10
TOOLS := $(BIN)/tools
RELEASE_TOOLS := $(addprefix $(TOOLS)/,goreleaser krew validate-krew-manifest)
PLUGIN := $(BIN)/kubectl-jobmanagedby
# make install puts the plugin into $(PREFIX)/bin.
PREFIX ?= $(shell go env GOPATH)

# All builds use the same flags, so that the plugin, the control plane, the linters and the
# programs in hack share compiled packages. Releases have no cgo either. Debug information is off:
# it costs a tenth of the compile time.
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath -gcflags=%,$(GOFLAGS)) -trimpath -gcflags=all=-dwarf=false

# The race detector needs cgo. With cgo, Go uses the system's linker, which takes 15 s for each of
# some 40 packages. Go's own linker takes 4 s. -s -w omits debug tables, a quarter of that time.
# make lint already vets all packages.
CC := $(shell command -v $$(go env CC))
ifneq ($(CC),)
RACE := -race -vet=off -ldflags="-s -w $(if $(filter linux,$(shell go env GOOS)),-linkmode=internal)"
# Race builds share no compiled packages, so they drop -trimpath: failing assertions then quote the
# paths of sources. By default, each race program sleeps for a second at exit, and tests run
# hundreds of them. GOGC trades memory for time: garbage collection took a quarter of the CPU time.
RACE_ENV := CGO_ENABLED=1 GOFLAGS="$(filter-out -trimpath,$(GOFLAGS))" GORACE=atexit_sleep_ms=10 GOGC=400 GOMEMLIMIT=2GiB
else
RACE := -vet=off
RACE_ENV := GOGC=400 GOMEMLIMIT=2GiB
endif
GOTESTSUM = $(TOOLS)/gotestsum --format pkgname-and-test-fails --jsonfile $(BIN)/$@.json --
GOTEST = $(RACE_ENV) $(GOTESTSUM) $(RACE) -timeout 30m
# Tests that need clusters run the plugin hundreds of times. The race detector multiplies the CPU
# time of each process by four, and took half of each run. So cluster tests use it only at night
# (test-race), and unit tests of RACED always do. Cluster tests wait more than they compute, so more of them run
# in parallel than there are processors.
CLUSTER_ENV := GOGC=200 GOMEMLIMIT=1GiB
CLUSTER_FLAGS := -timeout 30m -p 2 -parallel 8
# RACED are the packages that start goroutines or guard what they share. The tests of all others run
# without the race detector, which would take them ten times as long. A test in internal/architecture
# checks this list. Tests of pkg/cmd that run many commands, or read huge answers, are skipped with -short,
# and run in test-judges: with the race detector, they would run the same concurrent code many times.
RACED := ./cmd/... ./hack/pictures ./internal/fuzzfleet ./pkg/bundle ./pkg/cmd ./pkg/cmd/check ./pkg/cmd/dispatch ./pkg/cmd/logs ./pkg/cmd/mcp ./pkg/cmd/recreate ./pkg/cmd/util/... ./pkg/dispatch ./pkg/dispatch/internal/... ./pkg/dispatch/manifest ./pkg/dispatch/preflight ./pkg/dispatch/recreate ./pkg/fleet ./pkg/fleet/cache ./pkg/inspect/read/... ./pkg/logs/... ./pkg/printers/... ./pkg/probe/... ./test/fixture/...
UNIT_TESTS := ./cmd/... ./hack/... ./internal/... ./pkg/... ./test/fixture/... ./test/readme ./test/bench/...
# ONLY_RACED are tests of pkg/cmd that take long. They find errors of goroutines, so test-judges leaves them to the
# race detector, if there is one.
ONLY_RACED := TestInterruptAtEachRequest|TestWaitWithoutAnAnswer|TestWatchingOneJobWithoutAnAnswer
JUDGES = ./pkg/cmd $$(go list $(UNIT_TESTS) | grep -vxF "$$(go list $(RACED))")
CLUSTER_TESTS := ./test/scheduler ./test/kueue ./test/e2e ./test/tutorial ./test/controllers ./test/clusters
SAY_RACE = @$(if $(CC),,echo "No C compiler: these tests run without the race detector.")
SLOWEST = @echo "The ten slowest tests:"; $(TOOLS)/gotestsum tool slowest --num 10 --jsonfile $(BIN)/$@.json

GO_FILES := $(shell find cmd docs internal pkg -name '*.go' -not -name '*_test.go') $(wildcard docs/schema/*.json) go.mod go.sum

.PHONY: help
help: ## List all targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

.PHONY: build
build: $(PLUGIN) $(BIN)/kubectl-jobs_managedby ## Build the plugin into bin/, under both names
# Static, as in releases: the plugin needs no C library, and less memory. GOGC shortens the first build.
$(PLUGIN): $(GO_FILES)
	@[ -e $@ ] || echo "Building the plugin. The first time, this compiles Kubernetes' client libraries, in two minutes."
	GOGC=400 go build -ldflags '-s -w' -o $@ ./cmd/kubectl-jobmanagedby

$(BIN)/kubectl-jobs_managedby:
	ln -sf kubectl-jobmanagedby $@

.PHONY: install
install: $(PLUGIN) ## Install the plugin for kubectl, under both names
	mkdir -p $(PREFIX)/bin
	install -m 755 $(PLUGIN) $(PREFIX)/bin/kubectl-jobmanagedby
	ln -sf kubectl-jobmanagedby $(PREFIX)/bin/kubectl-jobs_managedby
	@case ":$$PATH:" in *:$(PREFIX)/bin:*) ;; *) echo "note: $(PREFIX)/bin is not on PATH, so kubectl does not find it yet" ;; esac

.PHONY: clusters
clusters: ## Build the control plane for tests and the demo, once
	@test/clusters/install.sh $(CLUSTERS)

.PHONY: controllers
controllers: ## Build JobSet and Trainer for tests, once
	@test/controllers/install.sh $(CONTROLLERS)

.PHONY: kueue
kueue: ## Build Kueue for tests and the demo, once
	@test/kueue/install.sh $(KUEUE) $(KUEUE_VERSION)

.PHONY: scheduler
scheduler: ## Build Kueue's scheduler for tests, once
	@test/scheduler/install.sh $(SCHEDULER)

.PHONY: demo
demo: build ## Show the plugin on three real clusters, and keep them running
	@{ test/clusters/install.sh -q $(CLUSTERS) && test/kueue/install.sh -q $(KUEUE) $(KUEUE_VERSION); } || test/demo/first-look.sh $(PLUGIN)
	@$(MAKE) --no-print-directory clusters kueue
	@go run ./test/demo

.PHONY: demo-down
demo-down: clusters ## Stop the demo's clusters
	@go run ./test/demo -down

.PHONY: examples
examples: build clusters kueue ## Record examples/fleet and its pictures again
	@go run ./test/demo -record examples/fleet
	@go run ./test/demo -down
	@go test ./test/readme -update
	@$(MAKE) pictures

.PHONY: test
test: test-unit test-clusters validation ## Run all tests, including those on real clusters

.PHONY: test-unit
test-unit: test-judges ## Run the tests that need no cluster
	$(SAY_RACE)
	$(GOTEST) -short $(RACED)
	$(SLOWEST)

.PHONY: test-judges
test-judges: $(TOOLS)/gotestsum ## Run the unit tests that need no race detector
	GOGC=400 GOMEMLIMIT=2GiB $(GOTESTSUM) -vet=off -ldflags="-s -w" $(if $(CC),-skip '^($(ONLY_RACED))$$') $(JUDGES)
	$(SLOWEST)

.PHONY: test-fast
test-fast: ## Run unit tests of changed packages, without the race detector
	go test -short $(UNIT_TESTS)

.PHONY: test-clusters
test-clusters: build clusters controllers kueue scheduler $(TOOLS)/gotestsum ## Run the tests that need clusters
	$(CLUSTER_ENV) $(GOTESTSUM) -vet=off -ldflags="-s -w" $(CLUSTER_FLAGS) $(CLUSTER_TESTS)
	$(SLOWEST)

.PHONY: test-race
test-race: build clusters controllers kueue scheduler $(TOOLS)/gotestsum ## Run more tests with the race detector, in half an hour
	$(SAY_RACE)
	$(RACE_ENV) go test $(RACE) -timeout 30m ./pkg/cmd
	LONG=1 $(GOTEST) $(CLUSTER_FLAGS) $(CLUSTER_TESTS)
	$(SLOWEST)

.PHONY: test-controllers
test-controllers: clusters controllers kueue $(TOOLS)/gotestsum ## Test with real controllers of JobSet and Trainer
	$(GOTEST) -parallel 24 ./test/controllers

.PHONY: test-ecosystem
test-ecosystem: clusters kueue ## Test with KubeRay, AppWrapper, MPI, PyTorch, LeaderWorkerSet and Tekton
	test/controllers/install.sh $(CONTROLLERS) ecosystem
	ECOSYSTEM=1 $(CLUSTER_ENV) go test -count=1 -timeout 30m -parallel 8 -v -run '^Test(MultiKueue|Ecosystem)' ./test/controllers
	test/controllers/tekton/install.sh $(CONTROLLERS)
	ECOSYSTEM=tekton $(CLUSTER_ENV) go test -count=1 -timeout 30m -parallel 8 -v -run '^TestTekton' ./test/controllers

.PHONY: validation
validation: ## Validate each status that dispatch writes, with Kubernetes' code
	cd test/validation && go test ./...

.PHONY: churn
churn: build clusters kueue ## Check that healthy Jobs cause no findings, for a minute
	CHURN=1 $(RACE_ENV) go test $(RACE) -count=1 -timeout 10m -v -run '^TestNoFalseAlarms$$' ./test/kueue

.PHONY: churn-long
churn-long: build clusters kueue ## Run churn for half an hour, with a burst and a slow MultiKueue
	CHURN=long $(RACE_ENV) go test $(RACE) -count=1 -timeout 60m -v -run TestNoFalseAlarms ./test/kueue

.PHONY: test-faults
test-faults: build clusters ## Dispatch Jobs during faults; SEED=N repeats a schedule
	FAULTS=long $(RACE_ENV) go test $(RACE) -count=1 -timeout 40m -v -run '^TestFaults$$' ./test/e2e

# SKEW runs the tests that all versions can pass. It skips tests that need new features or a worker
# that keeps managedBy. Kueue 0.19 needs a newer Kubernetes.
SKEW := $(RACE_ENV) go test $(RACE) -count=1 -timeout 30m -parallel 16 -run '^Test(Skew|Scripts|Dispatch|Cancel|Preflight|Recreate|Trace|Two|Successive|StatusIsTrue|Logs)' \
	-skip 'Gang|PreflightSurprises|DispatchFollowsTheUser|TraceOverLiveClusters|TraceShowsKueues|ForMultiKueue|LogsFindTheCluster|LogsFollow$$' ./test/e2e

.PHONY: test-skew
test-skew: build clusters kueue ## Test clusters of Kubernetes 1.31 to 1.37 together
	test/clusters/versions/install.sh $(CLUSTERS)/versions
	VERSIONS=worker-1=v1.31.0,worker-2=v1.33.13 $(SKEW)
	VERSIONS=management=v1.33.13,worker-1=v1.35.4,worker-2=v1.31.0 $(SKEW)
	VERSIONS=management=v1.35.4,worker-2=v1.33.13 $(SKEW) -run TestSkew

.PHONY: test-kueue
# TestPlacements is skipped: Kueue before 0.19 does not give separate reasons.
test-kueue: clusters ## Test with a real MultiKueue of older Kueue versions
	test/kueue/install.sh $(BIN)/older-kueues $(OLDER_KUEUES)
	for version in $(OLDER_KUEUES); do KUEUE=$(CURDIR)/$(BIN)/older-kueues/$$version go test -count=1 -timeout 30m -v -skip '^TestPlacements$$' ./test/kueue || exit; done

# First with Kueue's scheduler as a library, in 20,000 worlds, then with a live Kueue. There, each set-up
# has up to eight Jobs, and FIRST is the first seed. SEED=N is a world and a set-up.
.PHONY: test-placements
test-placements: build clusters kueue scheduler ## Compare placements with Kueue; SEED=N repeats one
	PLACEMENTS=long go test -count=1 -v ./test/scheduler
	PLACEMENTS=long go test -count=1 -timeout 60m -v -run '^TestPlacements$$' ./test/kueue

# FUZZTIME is the time per target. Go stores a failing input in the package's testdata/fuzz, and
# go test runs it from then on.
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz: ## Fuzz each target for ten minutes; FUZZTIME=1m changes that
	@set -e; for file in $$(grep -rl '^func Fuzz' --include='*_test.go' internal pkg test); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' $$file); do \
			echo "== $$(dirname $$file) $$target"; \
			(cd $$(dirname $$file) && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) .); \
		done; \
	done

.PHONY: bench
# All benchmarks run, even if some miss their goals. ONLY=ls,dispatch runs some, and the page keeps the
# last results of the others.
bench: build clusters ## Measure speed into docs/performance.md, in half an hour
	go run ./test/bench $(if $(ONLY),-only $(ONLY))

.PHONY: generate
generate: ## Regenerate generated files
	go run ./hack/docs
	go run ./hack/licences

.PHONY: pictures
pictures: ## Redraw the README's pictures of examples/fleet
	go run ./hack/pictures

# SHALLOW disables the linters that also read the source of all imports. For Kubernetes, that takes a
# quarter of an hour and 8 GB, for a few lines of our own.
SHALLOW := --config $(CURDIR)/.golangci.yaml --disable bodyclose,govet,nilerr,noctx,staticcheck,unparam

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## Run the linters over all modules
	go vet ./...
	$(TOOLS)/golangci-lint run ./...
	cd test/clusters/controlplane && $(CURDIR)/$(TOOLS)/golangci-lint run $(SHALLOW) ./...
	cd test/controllers/manager && $(CURDIR)/$(TOOLS)/golangci-lint run $(SHALLOW) ./...
	cd test/controllers/tekton && $(CURDIR)/$(TOOLS)/golangci-lint run $(SHALLOW) ./...
	cd test/scheduler/oracle && $(CURDIR)/$(TOOLS)/golangci-lint run $(SHALLOW) ./...
	cd test/validation && $(CURDIR)/$(TOOLS)/golangci-lint run $(SHALLOW) ./...
	cd hack/image && $(CURDIR)/$(TOOLS)/golangci-lint run $(SHALLOW) ./...

# PLATFORMS are those of releases, without this machine's: lint compiles for that one.
PLATFORMS = $(filter-out $(shell go env GOOS),$(shell sed -n 's/,//g; s/^    goos: \[\(.*\)\]$$/\1/p' .goreleaser.yaml))

.PHONY: platforms
# The first run compiles imports, in minutes; later runs take seconds. go list -export compiles and does
# not link: release-check does. Nothing is vetted: no file of ours is for a single platform, and vetting
# took a minute each time.
platforms: ## Check that the plugin compiles for the other platforms
	@set -e; for os in $(PLATFORMS); do echo "compiling for $$os"; GOOS=$$os go list -export ./cmd/... ./internal/... ./pkg/... >/dev/null; done

.PHONY: verify
verify: lint ## Run linters; check that generated files and go.mod are fresh
	go run ./hack/docs -check
	go run ./hack/licences -check
	go mod verify
	go run ./hack/pictures -check
	go mod tidy -diff
	cd test/clusters/controlplane && go mod tidy -diff
	cd test/controllers/manager && go mod tidy -diff
	cd test/controllers/tekton && go mod tidy -diff
	cd test/scheduler/oracle && go mod tidy -diff && go mod edit -json | grep -q '"$(KUEUE_VERSION)"' || { echo "test/scheduler/oracle/go.mod does not require Kueue $(KUEUE_VERSION)"; exit 1; }
	cd test/validation && go mod tidy -diff
	cd hack/image && go mod tidy -diff
	cd hack/tools && go mod tidy -diff
	cd hack/release/tools && go mod tidy -diff

.PHONY: release-check
# HERE=1 builds only for this machine's platform: compiling for the five others takes long the first
# time. ANEW=1 compares with a second build that shares nothing with the first.
release-check: clusters $(RELEASE_TOOLS) ## Build a release, publish nothing, install it as krew does
	$(TOOLS)/goreleaser check
	sed $(if $(HERE),-e "s|^    goos: .*|    goos: [$$(go env GOOS)]|" -e "s|^    goarch: .*|    goarch: [$$(go env GOARCH)]|",'') .goreleaser.yaml >$(BIN)/goreleaser.yaml
	@# A signature needs an identity.
	$(TOOLS)/goreleaser release --config $(BIN)/goreleaser.yaml --snapshot --clean --skip=sign
	@# Images are for Linux alone.
	$(if $(and $(HERE),$(filter-out linux,$(shell go env GOOS))),,cd hack/image && go run . -dist $(CURDIR)/dist)
	go run ./hack/release $(if $(HERE),-here) $(if $(ANEW),-anew)

# The release tools have their own module: goreleaser has more dependencies than everything else.
$(RELEASE_TOOLS): $(TOOLS)/%: hack/release/tools/go.mod hack/release/tools/go.sum
	@mkdir -p $(TOOLS)
	cd hack/release/tools && go build -ldflags '-s -w' -o $(CURDIR)/$@ $(shell sed -n 's,^\t\(.*/$*\(/v[0-9]*\)*\)$$,\1,p' hack/release/tools/go.mod)
	@touch $@

$(TOOLS)/%: hack/tools/go.mod hack/tools/go.sum
	@mkdir -p $(TOOLS)
	cd hack/tools && go build -ldflags '-s -w' -o $(CURDIR)/$(TOOLS)/$* $(shell sed -n 's,^\t\(.*/$*\)$$,\1,p' hack/tools/go.mod)
	@touch $@

.PHONY: clean
clean: ## Remove all build output
	rm -rf $(BIN) dist
