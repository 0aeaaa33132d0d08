# Two things for whoever comes by: make demo, make test. Everything needs Go and
# make, and nothing else.

BIN := bin
CLUSTERS := $(BIN)/clusters
CONTROLLERS := $(BIN)/controllers
KUEUE := $(BIN)/kueue
# The Kueue of tests and the demo, and the older ones that tests run on at night: one from
# before Kueue recorded the cluster of a Workload, and two between.
KUEUE_VERSION := v0.19.2
OLDER_KUEUES := v0.18.4 v0.16.2 v0.12.10
TOOLS := $(BIN)/tools
RELEASE_TOOLS := $(addprefix $(TOOLS)/,goreleaser krew validate-krew-manifest)
PLUGIN := $(BIN)/kubectl-jobmanagedby
# Where make install puts the plugin.
PREFIX ?= $(shell go env GOPATH)

# One set of flags for whatever is compiled: what the plugin, the control plane, the
# linters and the programs in hack share is compiled once. No cgo, as it is released;
# and debug information, which is a tenth of the work, is for whoever asks for it.
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath -gcflags=%,$(GOFLAGS)) -trimpath -gcflags=all=-dwarf=false

# The race detector needs cgo. Go's own linker does in 4 s what takes the system's, to
# which cgo leads it, 15 s, and a quarter of that goes into tables for debuggers; for each
# of some 40 packages. They are vetted by make lint, and not once more.
CC := $(shell command -v $$(go env CC))
ifneq ($(CC),)
RACE := -race -vet=off -ldflags="-s -w $(if $(filter linux,$(shell go env GOOS)),-linkmode=internal)"
# What it compiles it shares with nothing, so it may keep the paths of sources, which
# failing assertions quote. It has every program sleep for a second at its end, and
# tests run hundreds. Memory is for time: a quarter of all computing was collecting it.
RACE_ENV := CGO_ENABLED=1 GOFLAGS="$(filter-out -trimpath,$(GOFLAGS))" GORACE=atexit_sleep_ms=10 GOGC=400 GOMEMLIMIT=2GiB
else
RACE := -vet=off
RACE_ENV := GOGC=400 GOMEMLIMIT=2GiB
endif
GOTESTSUM = $(TOOLS)/gotestsum --format pkgname-and-test-fails --jsonfile $(BIN)/$@.json --
GOTEST = $(RACE_ENV) $(GOTESTSUM) $(RACE) -timeout 30m
# Tests that need clusters run the plugin hundreds of times. Under the race detector each of
# these processes computes four times as much, and half of all that a run took went there. So
# it has them at night alone (test-race), and the tests of each package in every run. These
# tests wait more than they compute, so more run at once than there are processors.
CLUSTER_ENV := GOGC=400 GOMEMLIMIT=2GiB
CLUSTER_FLAGS := -timeout 30m -p 2 -parallel 16
# What judges all recordings. Under the race detector it takes ten times as long and 5 GB, for
# commands that run at once in the same way in each recording. So there, -short has pkg/cmd leave
# the recordings out; and rules starts nothing that runs at once, which a test of
# internal/architecture holds. That package judges all source files, as slowly.
JUDGES := ./pkg/cmd ./pkg/inspect/rules ./internal/architecture
# All other packages of some patterns, with pkg/cmd in its short form.
others = $$(go list $(1) | grep -vE '/(pkg/inspect/rules|internal/architecture)$$')
UNIT_TESTS := ./cmd/... ./hack/... ./internal/... ./pkg/... ./test/fixture/... ./test/readme ./test/bench/...
CLUSTER_TESTS := ./test/clusters ./test/e2e ./test/kueue ./test/controllers ./test/tutorial
SAY_RACE = @$(if $(CC),,echo "There is no C compiler, so these tests run without the race detector.")
SLOWEST = @echo "The ten slowest tests:"; $(TOOLS)/gotestsum tool slowest --num 10 --jsonfile $(BIN)/$@.json

GO_FILES := $(shell find cmd internal pkg -name '*.go' -not -name '*_test.go') go.mod go.sum

.PHONY: help
help: ## List what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

.PHONY: build
build: $(PLUGIN) $(BIN)/kubectl-jobs_managedby ## Build the plugin into bin/, under both of its names
# Static, as it is released: it needs no C library, and less memory.
$(PLUGIN): $(GO_FILES)
	go build -ldflags '-s -w' -o $@ ./cmd/kubectl-jobmanagedby

$(BIN)/kubectl-jobs_managedby:
	ln -sf kubectl-jobmanagedby $@

.PHONY: install
install: $(PLUGIN) ## Install the plugin for kubectl, under both of its names
	mkdir -p $(PREFIX)/bin
	install -m 755 $(PLUGIN) $(PREFIX)/bin/kubectl-jobmanagedby
	ln -sf kubectl-jobmanagedby $(PREFIX)/bin/kubectl-jobs_managedby
	@case ":$$PATH:" in *:$(PREFIX)/bin:*) ;; *) echo "note: $(PREFIX)/bin is not on PATH, so kubectl does not find it yet" ;; esac

.PHONY: clusters
clusters: ## Build the control plane for tests and the demo, once
	@test/clusters/install.sh $(CLUSTERS)

.PHONY: controllers
controllers: ## Build the controllers of JobSet and Kubeflow Trainer for tests, once
	@test/controllers/install.sh $(CONTROLLERS)

.PHONY: kueue
kueue: ## Build Kueue for tests and the demo, once
	@test/kueue/install.sh $(KUEUE) $(KUEUE_VERSION)

.PHONY: demo
demo: build ## Show the plugin on three real clusters, and leave them up
	@{ test/clusters/install.sh -q $(CLUSTERS) && test/kueue/install.sh -q $(KUEUE) $(KUEUE_VERSION); } || test/demo/first-look.sh $(PLUGIN)
	@$(MAKE) --no-print-directory clusters kueue
	@go run ./test/demo

.PHONY: demo-down
demo-down: clusters ## Take the demo's clusters down
	@go run ./test/demo -down

.PHONY: examples
examples: build clusters kueue ## Record examples/fleet again, a snapshot of the demo's fleet, and its pictures
	@go run ./test/demo -record examples/fleet
	@go run ./test/demo -down
	@go test ./test/readme -update
	@$(MAKE) pictures

.PHONY: test
test: test-unit test-clusters validation ## Run all tests, those against real clusters too

.PHONY: test-unit
test-unit: test-judges ## Run the tests that need no cluster
	$(SAY_RACE)
	$(GOTEST) -short $(call others,$(UNIT_TESTS))
	$(SLOWEST)

.PHONY: test-judges
test-judges: $(TOOLS)/gotestsum ## Run the tests of commands and rules over all recordings, without the race detector
	GOGC=400 GOMEMLIMIT=2GiB $(GOTESTSUM) -vet=off $(JUDGES)
	$(SLOWEST)

.PHONY: test-fast
test-fast: ## Run the tests that need no cluster, of what has changed, without the race detector
	go test -short $(UNIT_TESTS)

.PHONY: test-clusters
test-clusters: build clusters controllers kueue $(TOOLS)/gotestsum ## Run the tests that need clusters
	$(CLUSTER_ENV) $(GOTESTSUM) -vet=off $(CLUSTER_FLAGS) $(CLUSTER_TESTS)
	$(SLOWEST)

.PHONY: test-race
test-race: build clusters controllers kueue $(TOOLS)/gotestsum ## Run them under the race detector, in half an hour
	$(SAY_RACE)
	$(GOTEST) $(CLUSTER_FLAGS) $(CLUSTER_TESTS)
	$(SLOWEST)

.PHONY: test-controllers
test-controllers: clusters controllers $(TOOLS)/gotestsum ## Run the tests against real controllers of JobSet and Kubeflow Trainer
	$(GOTEST) -parallel 24 ./test/controllers

.PHONY: validation
validation: ## Test that Kubernetes' own validation takes every status that dispatch writes
	cd test/validation && go test ./...

.PHONY: churn
churn: build clusters kueue ## Have check look at healthy Jobs that come and go, briefly
	CHURN=1 $(RACE_ENV) go test $(RACE) -count=1 -timeout 10m -v -run '^TestNoFalseAlarms$$' ./test/kueue

.PHONY: churn-long
churn-long: build clusters kueue ## The same for longer, with a burst of 200 Jobs and a slow MultiKueue
	CHURN=long $(RACE_ENV) go test $(RACE) -count=1 -timeout 60m -v -run TestNoFalseAlarms ./test/kueue

.PHONY: test-faults
test-faults: build clusters ## Have faults of all sorts befall dispatches; SEED=N repeats a schedule
	FAULTS=long $(RACE_ENV) go test $(RACE) -count=1 -timeout 40m -v -run '^TestFaults$$' ./test/e2e

# What all versions can do. Some tests want of their clusters what is new, or a worker
# that keeps managedBy, and Kueue 0.19 a newer Kubernetes.
SKEW := $(RACE_ENV) go test $(RACE) -count=1 -timeout 30m -parallel 16 -run '^Test(Skew|Scripts|Dispatch|Cancel|Preflight|Recreate|Trace|Two|Successive|StatusIsTrue|Logs)' \
	-skip 'Gang|PreflightSurprises|DispatchFollowsTheUser|TraceOverLiveClusters|TraceTellsKueues|ForMultiKueue|LogsFindTheCluster|LogsFollow$$' ./test/e2e

.PHONY: test-skew
test-skew: build clusters kueue ## Have clusters of Kubernetes 1.31 to 1.37 work together; builds the older ones, once
	test/clusters/versions/install.sh $(CLUSTERS)/versions
	VERSIONS=worker-1=v1.31.0,worker-2=v1.33.13 $(SKEW)
	VERSIONS=management=v1.33.13,worker-1=v1.35.4,worker-2=v1.31.0 $(SKEW)
	VERSIONS=management=v1.35.4,worker-2=v1.33.13 $(SKEW) -run TestSkew

.PHONY: test-kueue
# Without TestPlacements: Kueue before 0.19 does not give its reasons one by one.
test-kueue: clusters ## Run the tests against a real MultiKueue of older versions of Kueue; builds them, once
	test/kueue/install.sh $(BIN)/older-kueues $(OLDER_KUEUES)
	for version in $(OLDER_KUEUES); do KUEUE=$(CURDIR)/$(BIN)/older-kueues/$$version go test -count=1 -timeout 30m -v -skip '^TestPlacements$$' ./test/kueue || exit; done

# Set-ups of up to eight Jobs each, from the seed FIRST on.
.PHONY: test-placements
test-placements: build clusters kueue ## Compare what trace -f says of random Jobs with what Kueue does; SEED=N repeats one set-up
	PLACEMENTS=long go test -count=1 -timeout 60m -v -run '^TestPlacements$$' ./test/kueue

# For how long each is looked for. What breaks something is left below the package's
# testdata/fuzz, where go test finds it from then on.
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz: ## Look for input that breaks something, for ten minutes a target; FUZZTIME=1m says otherwise
	@set -e; for file in $$(grep -rl '^func Fuzz' --include='*_test.go' internal pkg test); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' $$file); do \
			echo "== $$(dirname $$file) $$target"; \
			(cd $$(dirname $$file) && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) .); \
		done; \
	done

.PHONY: bench
# All of it runs, whatever misses its goals; ONLY=ls,dispatch runs some, and the page keeps
# what the others have measured last.
bench: build clusters ## Measure how fast it is beside what one would otherwise do, into docs/performance.md, in half an hour
	go run ./test/bench $(if $(ONLY),-only $(ONLY))

.PHONY: generate
generate: ## Write generated files anew
	go run ./hack/docs
	go run ./hack/licences

.PHONY: pictures
pictures: ## Draw the README's pictures anew, of what the plugin prints on examples/fleet
	go run ./hack/pictures

# Without the linters that also read the source of all that is imported: of Kubernetes
# that takes a quarter of an hour and 8 GB, for a few lines of ours.
SHALLOW := --config $(CURDIR)/.golangci.yaml --disable bodyclose,govet,nilerr,noctx,staticcheck,unparam

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## Run the linters over all modules
	go vet ./...
	$(TOOLS)/golangci-lint run ./...
	cd test/clusters/controlplane && $(CURDIR)/$(TOOLS)/golangci-lint run $(SHALLOW) ./...
	cd test/controllers/manager && $(CURDIR)/$(TOOLS)/golangci-lint run $(SHALLOW) ./...
	cd test/validation && $(CURDIR)/$(TOOLS)/golangci-lint run $(SHALLOW) ./...

# Those of releases, but for this machine's, which lint is for.
PLATFORMS = $(filter-out $(shell go env GOOS),$(shell sed -n 's/,//g; s/^    goos: \[\(.*\)\]$$/\1/p' .goreleaser.yaml))

.PHONY: platforms
# What is imported is compiled once, for minutes; from then on it takes seconds. It is not
# vetted: no file of ours is for one platform alone, and vetting took a minute each time.
platforms: ## Check that the plugin compiles for the other platforms
	@set -e; for os in $(PLATFORMS); do echo "go build for $$os"; GOOS=$$os go build ./cmd/... ./internal/... ./pkg/...; done

.PHONY: verify
verify: lint ## Check that generated files and go.mod are fresh, and lint
	go run ./hack/docs -check
	go run ./hack/licences -check
	go mod verify
	go run ./hack/pictures -check
	go mod tidy -diff
	cd test/clusters/controlplane && go mod tidy -diff
	cd test/controllers/manager && go mod tidy -diff
	cd test/validation && go mod tidy -diff
	cd hack/tools && go mod tidy -diff
	cd hack/release/tools && go mod tidy -diff

.PHONY: release-check
# HERE=1 does so for this machine's platform alone: compiling for the five others
# is what takes long the first time. ANEW=1 compares with a build that shares nothing
# with this one.
release-check: clusters $(RELEASE_TOOLS) ## Build a release, publish nothing, and install it as krew does
	$(TOOLS)/goreleaser check
	sed $(if $(HERE),-e "s|^    goos: .*|    goos: [$$(go env GOOS)]|" -e "s|^    goarch: .*|    goarch: [$$(go env GOARCH)]|",'') .goreleaser.yaml >$(BIN)/goreleaser.yaml
	@# A signature needs an identity.
	$(TOOLS)/goreleaser release --config $(BIN)/goreleaser.yaml --snapshot --clean --skip=sign
	go run ./hack/release $(if $(HERE),-here) $(if $(ANEW),-anew)

# A module of their own: goreleaser alone has more dependencies than all else.
$(RELEASE_TOOLS): $(TOOLS)/%: hack/release/tools/go.mod hack/release/tools/go.sum
	@mkdir -p $(TOOLS)
	cd hack/release/tools && go build -ldflags '-s -w' -o $(CURDIR)/$@ $(shell sed -n 's,^\t\(.*/$*\(/v[0-9]*\)*\)$$,\1,p' hack/release/tools/go.mod)
	@touch $@

$(TOOLS)/%: hack/tools/go.mod hack/tools/go.sum
	@mkdir -p $(TOOLS)
	cd hack/tools && go build -ldflags '-s -w' -o $(CURDIR)/$(TOOLS)/$* $(shell sed -n 's,^\t\(.*/$*\)$$,\1,p' hack/tools/go.mod)
	@touch $@

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN) dist
