# SPDX-License-Identifier: BSD-2-Clause
# The front door. CMake does the building: see CMakePresets.json for doing it by hand.

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Tests wait more than they compute; what measures time runs alone.
TEST_JOBS ?= 12
# Sanitizers compute more.
SANITIZED_JOBS ?= 12

RELEASE := build/release

.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

# $(call configured,PRESET,EXTRA), $(call built,PRESET,EXTRA).
# A build directory that was copied along with the tree is of no use: its cache names the other place.
# A new one is for ninja where that is installed: it builds the tree in three quarters of the time.
generator = if command -v ninja >/dev/null; then export CMAKE_GENERATOR="$${CMAKE_GENERATOR:-Ninja}"; fi
configured = { $(generator); cmake --preset $(1) $(2) >/dev/null || { test ! -f build/$(1)/CMakeCache.txt || \
    grep -qx 'CMAKE_HOME_DIRECTORY:INTERNAL=$(CURDIR)' build/$(1)/CMakeCache.txt || \
    echo 'build/ was made in another directory: make clean, then try again' >&2; false; }; }
built = $(call configured,$(1)) && cmake --build --preset $(1) --parallel $(JOBS) $(2)
# The same without a word, unless it fails.
built_quietly = { log=$$($(built) 2>&1) || { printf '%s\n' "$$log" >&2; false; }; }

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 16

.PHONY: deps
deps: ## install what building and testing need (the other targets do this by themselves)
	@scripts/deps.sh test

.PHONY: build
build: ## build the library, the command and everything else into build/release
	@scripts/deps.sh build
	@$(call built,release)

.PHONY: demo
demo: ## five real servers, eight workers, one lock: 15 seconds that end in a verdict
	@scripts/deps.sh run
	@$(call built_quietly,release,--target redlock)
	@PATH="$(abspath $(RELEASE)):$$PATH" redlock dev -c 5 -- examples/demo.sh

.PHONY: test
test: ## all tests: scripts and release build, then ASan and UBSan, then the threaded ones under TSan
	@scripts/deps.sh test
	@scripts/format.sh --check
	@$(call built,release)
	@scripts/test.sh release $(TEST_JOBS) --label-exclude '^sanitized$$'
	@$(call built,asan)
	@scripts/test.sh asan $(SANITIZED_JOBS)
	@$(call built,tsan)
	@scripts/test.sh tsan $(SANITIZED_JOBS)

.PHONY: walk
walk: ## the way of a lock through src/, or with WAY=put that of a PUT through redlockd/, and its hops
	@scripts/deps.sh run
	@scripts/walk.py $(or $(WAY),lock)

.PHONY: check
check: ## all tests on the release build, for the quick round while working
	@scripts/deps.sh test
	@$(call built,release)
	@scripts/test.sh release $(TEST_JOBS)

.PHONY: test-clients
test-clients: ## the service's tests with nginx, HAProxy, node, go and promtool, which it installs
	@scripts/deps.sh test
	@scripts/deps.sh clients || echo "what is missing is left out"
	@$(call built,release)
	@REDLOCK_RACE=1 ctest --test-dir $(RELEASE) --tests-regex '^(redlockd|clients|cases\.http)' --parallel $(TEST_JOBS) --output-on-failure

# PICTURES=docs: take the pictures of the documentation instead.
PICTURES ?=

.PHONY: test-page
test-page: ## the status page of redlockd in a headless Chromium, which it installs
	@scripts/deps.sh test browser
	@$(call configured,release,-DREDLOCK_BROWSER_TESTS=ON)
	@cmake --build --preset release --parallel $(JOBS) --target redlock redlockd redlock_test_contain
	@failed=0; REDLOCK_PICTURES=$(if $(PICTURES),$(abspath $(PICTURES))) \
	    ctest --test-dir $(RELEASE) --tests-regex '^redlockd\.page$$' --output-on-failure || failed=$$?; \
	    $(call configured,release,-DREDLOCK_BROWSER_TESTS=OFF); exit $$failed

# The processors that the packages of Node and Python are compiled for; empty: none, their source alone.
PREBUILT ?= x86_64 aarch64

.PHONY: node-package
node-package: ## build/redlock-native-VERSION.tgz for npm install, compiled and as source
	@scripts/deps.sh build node $(if $(PREBUILT),static-amd64 static-arm64)
	@mkdir -p build
	@cd bindings/node && REDLOCK_PREBUILT="$(PREBUILT)" npm pack --silent --pack-destination "$(CURDIR)/build"

.PHONY: python-package
python-package: ## build/redlock-native-VERSION.tar.gz and wheels for pip install, with the library inside
	@scripts/deps.sh build python-package $(if $(PREBUILT),static-amd64 static-arm64)
	@bindings/python/pack.sh build sdist $(PREBUILT)

.PHONY: prebuilt-test
prebuilt-test: node-package python-package ## both in bare Debians without a compiler, amd64 and arm64, over TLS too (root)
	@scripts/deps.sh test bare-debian static-check-arm64
	@$(call built_quietly,release,--target redlock)
	@scripts/check-prebuilt.sh $(RELEASE)/redlock

.PHONY: test-node
test-node: ## install the package of Node from its tarball, check its types, run its README in TypeScript
	@scripts/deps.sh test node
	@$(call built_quietly,release,--target redlock)
	@scripts/check-node.sh $(RELEASE)/redlock

.PHONY: stress
stress: ## minutes of stress: guards, clocks and tokens under faults (about 20 minutes)
	@scripts/deps.sh test
	@$(call configured,release,-DREDLOCK_SLOW_TESTS=ON)
	@cmake --build --preset release --parallel $(JOBS)
	@ctest --test-dir $(RELEASE) --label-regex slow --output-on-failure
	@$(call configured,release,-DREDLOCK_SLOW_TESTS=OFF)

# How many updates each resource confirms, with paused holders among them.
FENCING_UPDATES ?= 10000

.PHONY: fencing-test
fencing-test: ## paused holders at every resource of fencing/, PostgreSQL and MariaDB too; what the check costs (10 min)
	@scripts/deps.sh test databases
	@scripts/deps.sh clients || echo "what is missing is left out"
	@$(call built_quietly,release,--target redlock)
	@tests/fencing/resources/all.sh $(RELEASE)/redlock --updates $(FENCING_UPDATES) --rounds 6 --cost

# How often a leader is killed or stopped, and for how many names at a time.
FAILOVERS ?= 1000
FAILOVER_NAMES ?= 16

.PHONY: lead-test
lead-test: ## FAILOVERS=1000 of `redlock lead`: killed and stopped leaders, counted by a fenced register (4 min)
	@scripts/deps.sh test
	@$(call built_quietly,release,--target redlock)
	@REDLOCK_COMMAND=$(CURDIR)/$(RELEASE)/redlock $(RELEASE)/redlock dev -c 3 -- \
	    python3 -B tests/fencing/failovers.py $(FAILOVERS) $(FAILOVER_NAMES)

# What the simulator plays: SEEDS of them from FROM on, or one SEED with its trace.
SEEDS ?= 10000
FROM ?= 1
SIM_WORKERS ?= 2
SIM := $(RELEASE)/lab/sim/redlock-sim

.PHONY: sim
sim: ## play SEEDS=10000 simulated worlds full of faults; SEED=n replays one with its trace
	@scripts/deps.sh sim
	@$(call built_quietly,release,--target redlock-sim)
	@$(SIM) $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --from $(FROM) --workers $(SIM_WORKERS))
	@$(if $(SEED)$(filter-out 1,$(FROM)),:,$(SIM) --elected --seeds $(SEEDS) --workers $(SIM_WORKERS))

.PHONY: sim-forever
sim-forever: ## fresh seeds until stopped, or until one fails
	@scripts/deps.sh sim
	@$(call built_quietly,release,--target redlock-sim)
	@$(SIM) --forever --workers $(SIM_WORKERS)

.PHONY: sim-planted
sim-planted: ## switch off one rule after the other: does the simulator notice?
	@scripts/deps.sh sim
	@$(call built_quietly,release,--target redlock-sim-planted)
	@$(SIM)-planted $(RULE) --seeds 50000 --workers $(SIM_WORKERS)

# The fault rig: how long, which faults (0: drawn), default or strict (drawn from the seed).
CHAOS_SECONDS ?= 120
CHAOS_SEED ?= 0
CHAOS_REGIME ?=
CHAOS_NETWORK ?= 1
CHAOS := $(RELEASE)/lab/chaos/redlock-chaos
chaos_run = mkdir -p $(1) && CHAOS_SEED=$(CHAOS_SEED) CHAOS_REGIME=$(CHAOS_REGIME) \
    CHAOS_NETWORK=$(CHAOS_NETWORK) CHAOS_DIR=$(1)

.PHONY: chaos
chaos: ## CHAOS_SECONDS=120 of faults on real servers and processes, checked; CHAOS_SEED=n again
	@scripts/deps.sh test
	@$(call built_quietly,release,--target redlock-chaos)
	@$(call chaos_run,build/chaos) CHAOS_SECONDS=$(CHAOS_SECONDS) $(CHAOS) chaos

.PHONY: chaos-service
chaos-service: ## the same with HTTP clients, one of them in Go, three replicas of redlockd and a lossy balancer
	@scripts/deps.sh test
	@$(call built_quietly,release,--target redlock-chaos)
	@rm -f build/chaos-go; if command -v go >/dev/null; then cd bindings/go && go build -o ../../build/chaos-go ./chaosholder; \
	    else echo "left out: the worker in Go: go is not installed"; fi
	@$(call chaos_run,build/chaos/service) CHAOS_GO=$$(ls $(CURDIR)/build/chaos-go 2>/dev/null) CHAOS_SECONDS=$(CHAOS_SECONDS) $(CHAOS) service

.PHONY: chaos-broken
chaos-broken: ## the same with clients that are set up wrongly: does the checker notice?
	@scripts/deps.sh test
	@$(call built_quietly,release,--target redlock-chaos)
	@$(call chaos_run,build/chaos/broken-guard) $(CHAOS) broken_guard
	@$(call chaos_run,build/chaos/broken-nodes) $(CHAOS) broken_nodes
	@$(call chaos_run,build/chaos/broken-deadline) $(CHAOS) broken_deadline

# On a Sentinel group or a cluster: max_ttl in ms, and nothing but one kind of fault (docs/chaos.md lists them).
CHAOS_MAX_TTL ?= 3000
CHAOS_TRAP ?=
CHAOS_VOTES ?= 3
CHAOS_COVERAGE ?= 0
chaos_group = $(call chaos_run,$(1)) CHAOS_SECONDS=$(2) CHAOS_MAX_TTL=$(CHAOS_MAX_TTL) CHAOS_TRAP=$(CHAOS_TRAP) \
    CHAOS_VOTES=$(CHAOS_VOTES) CHAOS_COVERAGE=$(CHAOS_COVERAGE)

.PHONY: chaos-sentinel
chaos-sentinel: ## the same on one Sentinel group, with failovers, deposed masters and cut-offs
	@scripts/deps.sh test
	@$(call built_quietly,release,--target redlock-chaos)
	@$(call chaos_group,build/chaos/sentinel,$(CHAOS_SECONDS)) $(CHAOS) sentinel

.PHONY: chaos-sentinel-broken
chaos-sentinel-broken: ## the same for a minute each with a rule switched off: two holders are found (root)
	@scripts/deps.sh test
	@$(call built_quietly,release,--target redlock-chaos-planted)
	@for rule in vouch renewal_vouch stale_vouch majority quarantine heir found; do \
	    $(call chaos_group,build/chaos/planted-$$rule,60) $(CHAOS)-planted planted_$$rule || exit 1; \
	done

.PHONY: chaos-cluster
chaos-cluster: ## the same on one cluster, with failovers, cut-offs from the bus and migrated slots
	@scripts/deps.sh test
	@$(call built_quietly,release,--target redlock-chaos)
	@$(call chaos_group,build/chaos/cluster,$(CHAOS_SECONDS)) $(CHAOS) cluster

.PHONY: chaos-cluster-broken
chaos-cluster-broken: ## the same for a minute each with a rule switched off: two holders are found (root)
	@scripts/deps.sh test
	@$(call built_quietly,release,--target redlock-chaos-planted)
	@for rule in vouch votes majority quarantine; do \
	    $(call chaos_group,build/chaos/planted-cluster-$$rule,60) $(CHAOS)-planted planted_cluster_$$rule || exit 1; \
	done

# A soak: how long (an hour; days are fine), and a leak that is planted to see it found.
SOAK_SECONDS ?= 3600

.PHONY: soak
soak: ## SOAK_SECONDS=3600 of faults on library, command and service clients; memory and descriptors
	@scripts/deps.sh test plots
	@$(call built_quietly,release,--target redlock-chaos)
	@$(call chaos_run,build/soak) CHAOS_SECONDS=$(SOAK_SECONDS) python3 -B lab/chaos/soak.py build/soak $(CHAOS) soak

.PHONY: soak-planted
soak-planted: ## the same for a minute each with a leak planted in a client: is it found?
	@scripts/deps.sh test plots
	@$(call built_quietly,release,--target redlock-chaos)
	@for leak in descriptor memory; do \
	    $(call chaos_run,build/soak/$$leak) CHAOS_SECONDS=60 SOAK_LEAK=$$leak \
	        python3 -B lab/chaos/soak.py --leaks build/soak/$$leak $(CHAOS) soak || exit 1; \
	done

# Of scripts/servers.sh --list; all of them.
SERVER ?=

.PHONY: matrix
matrix: ## the release tests on the servers of Debian's other suites: docs/servers.md (7 min each)
	@scripts/deps.sh test
	@$(call built_quietly,release)
	@scripts/matrix.sh $(SERVER)

.PHONY: proof
proof: ## have Spin decide every claim of docs/safety.md (some minutes)
	@scripts/deps.sh proof
	@lab/proof/run.sh

.PHONY: asan
asan: ## the tests under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer
	@scripts/deps.sh test
	@$(call built,asan)
	@scripts/test.sh asan $(SANITIZED_JOBS)

.PHONY: tsan
tsan: ## the threaded tests under ThreadSanitizer
	@scripts/deps.sh test
	@$(call built,tsan)
	@scripts/test.sh tsan $(SANITIZED_JOBS)

.PHONY: fuzz
fuzz: ## libFuzzer on all that comes from outside: FUZZ_SECONDS (60) per target
	@scripts/deps.sh fuzz
	@$(call built_quietly,fuzz)
	@scripts/fuzz.sh $(FUZZ_TARGETS)

.PHONY: coverage
coverage: ## which lines the tests run, room by room; fails below 95 % of src/core
	@scripts/deps.sh test
	@$(call built_quietly,coverage)
	@find build/coverage -name '*.gcda' -delete
	@ctest --preset coverage --parallel $(TEST_JOBS) --quiet --output-log build/coverage/tests.log \
	    || echo "some tests failed (build/coverage/tests.log); counting what ran"
	@scripts/coverage.sh build/coverage

# BENCH_NATIVE_SERVER: a server that deletes by comparison; BENCH_OPTIONS: see redlock-bench --help.
BENCH_OPTIONS ?=
bench_built = scripts/deps.sh bench plots && mkdir -p build/bench && \
    $(call built_quietly,release,--target redlock redlock-bench)
bench_run = status=0; $(RELEASE)/redlock dev -c 5 -- $(RELEASE)/lab/bench/redlock-bench --json build/bench/bench.json \
    $(1) $(BENCH_OPTIONS) || status=$$?; python3 -B lab/bench/tables.py build/bench/bench.json; exit $$status

.PHONY: bench
bench: ## what everything costs, next to the floor: one table, and build/bench/bench.json (5 min)
	@$(bench_built)
	@$(bench_run)

.PHONY: bench-check
bench-check: ## the same, and status 1 when a target is missed by more than a fifth
	@$(bench_built)
	@$(call bench_run,--check)

.PHONY: bench-turns
bench-turns: ## 16 clients on one name, beside the library of another build: BEFORE=DIR (3 min)
	@$(bench_built)
	@$(RELEASE)/redlock dev -c 5 -- python3 -B lab/bench/turns.py \
	    $(or $(BEFORE),$(error name the other build directory: BEFORE=DIR)) $(RELEASE) $(BENCH_OPTIONS)

.PHONY: capacity
capacity: ## what one lock costs, and what that comes to for a million a second
	@scripts/deps.sh run
	@$(call built_quietly,release,--target redlock redlock-capacity)
	@$(RELEASE)/redlock dev -c 5 -- $(RELEASE)/lab/bench/redlock-capacity

.PHONY: bench-service
bench-service: ## what redlockd costs: beside its floors, beside 10,000 waiters, beside etcd (2 min)
	@scripts/deps.sh run
	@scripts/deps.sh etcd || echo "etcd is missing: left out"
	@$(call built_quietly,release,--target redlock redlockd redlock-bench-service)
	@rm -rf build/bench/service && mkdir -p build/bench/service
	@$(RELEASE)/redlock dev -c 3 -- $(RELEASE)/lab/bench/redlock-bench-service $(RELEASE)/redlockd \
	    $(CURDIR)/build/bench/service $(BENCH_OPTIONS)

# How many leaders are killed.
MEASURE ?= 1000

.PHONY: bench-go
bench-go: ## the client for Go beside the same requests of wrk and in C, and the time from kill -9 of a leader to the next
	@scripts/deps.sh test
	@scripts/deps.sh bench-go || echo "what is missing is left out"
	@$(call built_quietly,release,--target redlock redlockd redlock-bench-asked redlock-bench-wrk-socket)
	@echo 'node-timeout = 3s' >build/bench-go.conf
	@cd bindings/go && \
	    REDLOCKD=$(CURDIR)/$(RELEASE)/redlockd \
	    REDLOCK_WRK_SOCKET=$(CURDIR)/$(RELEASE)/lab/bench/libredlock-bench-wrk-socket.so \
	    REDLOCK_ASKED=$(CURDIR)/$(RELEASE)/lab/bench/redlock-bench-asked REDLOCK_MEASURE=$(MEASURE) $(CURDIR)/$(RELEASE)/redlock dev -c 3 -- \
	    env REDLOCK_CONFIG=$(CURDIR)/build/bench-go.conf go test -count 1 -timeout 30m -run 'TestFailover|TestCycles' -v

.PHONY: check-service
check-service: ## /openapi.json and /metrics of redlockd, judged by a validator from npm and by promtool
	@scripts/deps.sh run clients
	@$(call built_quietly,release,--target redlock redlockd)
	@scripts/check-service.sh $(RELEASE)

.PHONY: bench-disconnect
bench-disconnect: ## 1,000 clients of redlockd killed with -9: how soon their locks are free
	@scripts/deps.sh run
	@$(call built_quietly,release,--target redlock redlockd)
	@python3 -B tests/service/disconnect.py $(RELEASE)/redlockd

.PHONY: bench-peers
bench-peers: ## other lock clients, ours and the floor on the same servers (about 5 minutes)
	@scripts/deps.sh run plots
	@scripts/deps.sh peers || echo "what is missing is left out"
	@$(call built_quietly,release,--target redlock redlock-peer)
	@$(RELEASE)/redlock dev -c 5 -- python3 -B lab/bench/peers/run.py --build $(RELEASE)

.PHONY: bench-bindings
bench-bindings: ## the library in other languages beside the peers there (about 3 minutes)
	@scripts/deps.sh run plots
	@scripts/deps.sh peers || echo "what is missing is left out"
	@scripts/deps.sh python || echo "the binding for Python is left out"
	@$(call configured,release) && for target in redlock redlock-peer redlock_node redlock_python; do \
	    cmake --build --preset release --parallel $(JOBS) --target $$target >/dev/null || \
	    echo "$$target: not built"; done
	@$(RELEASE)/redlock dev -c 5 -- python3 -B lab/bench/peers/run.py --build $(RELEASE) --bindings \
	    --out build/bench/bindings.json

.PHONY: bench-plots
bench-plots: ## draw what the benchmarks measured: tables and pictures of docs/performance.md
	@scripts/deps.sh plots
	@python3 -B lab/bench/plot.py

.PHONY: install
install: ## install below PREFIX (default /usr/local), staged in DESTDIR if given
	@scripts/deps.sh build
	@$(call configured,release,-DCMAKE_INSTALL_PREFIX="$(PREFIX)")
	@cmake --build --preset release --parallel $(JOBS) --target redlock_installed
	@DESTDIR="$(DESTDIR)" cmake --install $(RELEASE)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

.PHONY: uninstall
uninstall: ## remove what the last `make install` of this tree installed below PREFIX
	@test -f $(RELEASE)/install_manifest.txt || { echo "nothing was installed from here"; exit 1; }
	@last=$$(sed -n 's|/bin/redlock$$||p' $(RELEASE)/install_manifest.txt); \
	    [ "$$last" = "$(PREFIX)" ] || { \
	    echo "the last installation was below $$last: make uninstall PREFIX=$$last"; exit 1; }
	@sed 's|^|$(DESTDIR)|' $(RELEASE)/install_manifest.txt | xargs -d '\n' rm -fv

.PHONY: dist
dist: ## the source tarball of the last commit, in build/dist
	@scripts/dist.sh

.PHONY: dist-check
dist-check: dist ## the tarball, unpacked where there is no git, builds and passes the release tests
	@scripts/deps.sh test
	@rm -rf build/dist/check && mkdir -p build/dist/check
	@tar -xf build/dist/redlock-$$(scripts/version.sh).tar.gz -C build/dist/check --strip-components=1
	@GIT_CEILING_DIRECTORIES=$(CURDIR)/build/dist $(MAKE) -C build/dist/check check
	@rm -rf build/dist/check

.PHONY: deb
deb: ## Debian packages of the last commit, and their source package, in build/deb
	@scripts/deps.sh deb
	@scripts/deb.sh

.PHONY: deb-check
deb-check: deb ## the same, judged by lintian and built a second time: the same bytes?
	@scripts/deps.sh deb-test
	@scripts/check-deb.sh

.PHONY: deb-test
deb-test: deb ## the packages in a bare Debian and in a booted one: install, use, upgrade, purge (root)
	@scripts/deps.sh deb-test
	@scripts/check-packages.sh

# amd64 or arm64: the machine that static programs and the image are for. Another one than this is emulated by tests.
ARCH ?= $(shell dpkg --print-architecture 2>/dev/null)
STATIC = build/static-$(ARCH)
IMAGE = build/image/redlock-$(shell scripts/version.sh)-image-$(ARCH).tar

.PHONY: static
static: ## the command and the service as files that need no other, for ARCH: build/static-ARCH
	@scripts/deps.sh build static-$(ARCH)
	@scripts/sysroot.sh $(ARCH)
	@mkdir -p $(STATIC)
	@{ $(call built,static-$(ARCH)); } >$(STATIC)/link.log 2>&1 || { cat $(STATIC)/link.log >&2; false; }
	@! readelf -lW $(STATIC)/redlock $(STATIC)/redlockd | grep INTERP || \
	    { echo 'static: these programs need a loader, and would run on no other machine' >&2; false; }
	@ls -l $(STATIC)/redlock $(STATIC)/redlockd

.PHONY: static-arm64
static-arm64: ## the same for arm64, cross-built where this machine is another
	@$(MAKE) static ARCH=arm64

.PHONY: static-check
static-check: static ## the same, locking in an empty root directory, over TLS too; built again: the same bytes?
	@scripts/deps.sh test static-check-$(ARCH)
	@$(call built_quietly,release,--target redlock)
	@scripts/check-static.sh $(ARCH) $(RELEASE)/redlock

.PHONY: static-check-arm64
static-check-arm64: ## the same for arm64, emulated where this machine is another
	@$(MAKE) static-check ARCH=arm64

.PHONY: image
image: static ## a container image of both for ARCH in build/image, and loaded where docker runs on such a machine
	@mkdir -p build/image
	@python3 -B scripts/image.py $(ARCH) $$(scripts/version.sh) $$(scripts/version.sh --seconds) $(IMAGE)
	@ls -l $(IMAGE)
	@if [ $(ARCH) = "$$(dpkg --print-architecture)" ] && docker info >/dev/null 2>&1; then \
	    docker load --input $(IMAGE); else echo 'to load it where docker runs: docker load --input $(IMAGE)'; fi

.PHONY: image-test
image-test: image ## the image under a docker of its own: health, drain, read-only, no rights, no shell (root)
	@scripts/deps.sh test docker
	@$(call built_quietly,release,--target redlock)
	@scripts/check-image.sh $(IMAGE) $(RELEASE)/redlock

.PHONY: compose-test
compose-test: image ## compose.yaml under a docker of its own: a lock in a minute, and what crashes cost (3 min, root)
	@scripts/deps.sh test docker compose
	@scripts/check-compose.sh $(IMAGE)

.PHONY: kubernetes-check
kubernetes-check: ## packaging/kubernetes against the API's schemas from npm, and what its containers run
	@scripts/deps.sh test node
	@$(call built_quietly,release,--target redlock redlockd)
	@scripts/check-kubernetes.sh $(RELEASE)

.PHONY: evidence
evidence: ## every long check of docs/testing.md once, on the last commit, as a table (8 hours; root)
	@scripts/evidence.sh && scripts/evidence.sh --table

.PHONY: release
release: ## all files of a release in one directory, checked; says what to tag and sign (45 min, as root)
	@scripts/deps.sh build abi node python-package
	@scripts/release.sh

.PHONY: format
format: ## format every C file of the tree
	@scripts/deps.sh test
	@scripts/format.sh

.PHONY: format-check
format-check: ## say which files are not formatted
	@scripts/deps.sh test
	@scripts/format.sh --check

.PHONY: tidy
tidy: ## advice of clang-tidy on the library and the command
	@command -v clang-tidy >/dev/null || { echo "install clang-tidy first"; exit 1; }
	@$(call configured,debug) && cmake --build build/debug --target redlock_scripts >/dev/null
	@clang-tidy -p build/debug --quiet $$(find src cli -name '*.c')

.PHONY: clean
clean: ## remove everything that was built
	@rm -rf build
