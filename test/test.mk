# Tests that need a server.  Everything runs in temporary clusters, from a copy
# of the tree under TMPDIR, against build/tmp_install: nothing is installed into
# the system, and as root the tests run as TEST_USER (initdb refuses root).

# T is a part of the name of a file or of its folder, or several: T=matrix, T=ingest/, T=ingest/quotas,
# T="pgtap/ search/".
T ?=
matching = $(if $(T),$(foreach f,$(1),$(if $(strip $(foreach t,$(T),$(findstring $(t),$(patsubst test/t/%,%,$(patsubst test/sql/%,sql/%,$(f:test/pgtap/%=pgtap/%)))))),$(f))),$(1))

TEST_UNIT = $(call matching,$(UNIT_TESTS))
TEST_REGRESS = $(call matching,$(sort $(wildcard test/sql/*.sql)))
TEST_PGTAP = $(call matching,$(sort $(wildcard test/pgtap/*.sql)))
TEST_TAP = $(call matching,$(sort $(wildcard test/t/*/*.pl)))
# Citus: below the DESTDIR of its make install, or in the server.
CITUS_PREFIX ?=
CITUS := $(wildcard $(CITUS_PREFIX)$(shell $(PG_CONFIG) --pkglibdir 2> /dev/null)/citus.so)
TEST_CITUS = $(call matching,$(sort $(wildcard test/citus/*.pl)))

# A debug build and a release build share the object files: whatever was built
# with other flags is built again.
build/flags: FORCE
	@mkdir -p build
	@echo '$(CC) $(CFLAGS) $(PG_CONFIG)' | cmp -s - $@ || echo '$(CC) $(CFLAGS) $(PG_CONFIG)' > $@
$(OBJS): build/flags
# Files of test/debug and test/bench are linked in or not.
build/objects: FORCE
	@mkdir -p build
	@echo '$(OBJS)' | cmp -s - $@ || echo '$(OBJS)' > $@
$(shlib): build/objects
FORCE: ;

.PHONY: test unit check-regress check-pgtap check-tap
.PHONY: FORCE run-tests test-debug-install bench-install tmp-install # internal

tmp-install: all
	rm -rf build/tmp_install
	$(MAKE) --no-print-directory install DESTDIR=$(CURDIR)/build/tmp_install > build/tmp_install.log

# Programs that TAP tests run.
include test/unit/gateway.mk
TEST_PROGRAMS = $(if $(TEST_TAP),build/unit/openapi) $(if $(strip $(foreach t,gateway service/workers,$(findstring $(t),$(TEST_TAP)))),build/unit/gateway_host_checked) \
	$(if $(findstring service/node_clocks,$(TEST_TAP)),build/unit/clock.so)

# A real identity provider and real exporters from npm; with Node when there is none.
TEST_NPM = $(if $(strip $(foreach t,openid openapi otlp_sdk loggers resend mcp object_store loki_tail,$(findstring $(t),$(TEST_TAP)))),build/npm/installed)
# Shippers of Debian.
TEST_SHIPPERS = $(if $(strip $(foreach t,syslog shippers,$(findstring $(t),$(TEST_TAP)))),build/shippers) \
	$(if $(strip $(foreach t,senders/syslog shippers,$(findstring $(t),$(TEST_TAP)))),build/syslog-ng/versions)
build/shippers: docker/test-shippers.txt
	@PG_CONFIG='$(PG_CONFIG)' docker/deps.sh test-shippers.txt
	@mkdir -p $(@D) && touch $@
build/syslog-ng/versions: docker/unpack-syslog-ng.sh
	@docker/unpack-syslog-ng.sh $(@D)
# What Prometheus says of the metrics and the alert rules.
TEST_PROMTOOL = $(if $(findstring service/metrics,$(TEST_TAP)),build/prometheus/promtool)
build/prometheus/promtool: docker/unpack-promtool.sh
	@docker/unpack-promtool.sh $(@D)
# The version before this one, as it was released.
TEST_RELEASED = $(if $(findstring upgrade,$(TEST_TAP)),$(patsubst sql/released/logsvc--%.sql,build/released/%/built,$(wildcard sql/released/*.sql)))
build/released/%/built: sql/released/versions test/upgrade/build-released
	@PG_CONFIG='$(PG_CONFIG)' test/upgrade/build-released $*
	@touch $@
# What drives Chromium, where there is one or has to be one (test/browser/README.md).
TEST_BROWSER = $(if $(findstring console/,$(TEST_TAP)),$(if $(or $(LOGSVC_REQUIRE_BROWSER),$(shell command -v chromium)),build/browser/installed))
build/browser/installed: $(wildcard test/browser/package*.json)
	@docker/test-npm.sh $(@D) test/browser
	@touch $@
build/npm/installed: $(wildcard test/npm/*)
	@docker/test-npm.sh $(@D)
	@touch $@

staged = PG_CONFIG='$(PG_CONFIG)' PGXS='$(PGXS)' CITUS_PREFIX='$(CITUS_PREFIX)' TEST_DISTRIBUTED='$(DISTRIBUTED)' TEST_SETTINGS='$(SETTINGS)' TEST_LOCALE='$(LOCALE)' test/run

test-debug-install:
	$(MAKE) --no-print-directory DEBUG=1 tmp-install
bench-install:
	$(MAKE) --no-print-directory BENCH=1 tmp-install

## make test                deps, then all tests; T=settings: the test files whose name contains it
# On a fresh machine deps brings what the next make needs to see.
test: deps
	@$(MAKE) --no-print-directory run-tests
run-tests: test-debug-install $(TEST_UNIT) $(TEST_PROGRAMS) $(TEST_NPM) $(TEST_BROWSER) $(TEST_SHIPPERS) $(TEST_PROMTOOL) $(TEST_RELEASED)
	@$(if $(CITUS)$(T),,echo 'Citus is not installed: the tests of test/citus are not run (make test-citus CITUS_PREFIX=...)')
	$(staged) $(TEST_UNIT) $(TEST_REGRESS) $(TEST_PGTAP) $(TEST_TAP) $(if $(CITUS),$(TEST_CITUS))
## make unit                unit tests of pure code under sanitizers; T=query: those whose name contains it
unit: $(TEST_UNIT)
	prove --exec '$(UNIT_RUN)' $^
## make check-regress       pg_regress: test/sql; T=name
check-regress: test-debug-install
	$(staged) $(TEST_REGRESS)
## make check-pgtap         pgTAP: test/pgtap; T=name
check-pgtap: test-debug-install
	$(staged) $(TEST_PGTAP)
## make check-tap           whole servers: test/t; T=name or T=room/; SETTINGS=test/settings/formats.conf: more lines for postgresql.conf; LOCALE=en_US.UTF-8
check-tap: test-debug-install $(TEST_PROGRAMS) $(TEST_NPM) $(TEST_BROWSER) $(TEST_SHIPPERS) $(TEST_PROMTOOL) $(TEST_RELEASED)
	$(staged) $(TEST_TAP)

## make test-citus          a coordinator and two workers of Citus, in temporary clusters: test/citus; CITUS_PREFIX=DESTDIR of its make install
.PHONY: test-citus
test-citus: test-debug-install build/unit/openapi
	@$(if $(CITUS),:,echo 'there is no citus.so for $(PG_CONFIG) below CITUS_PREFIX=$(CITUS_PREFIX)' >&2; exit 1)
	$(staged) $(TEST_CITUS)

# Other versions of PostgreSQL, in folders of other Debian suites (test/servers); root only.
# A copy of the tree is built there: nothing here is touched.
.PHONY: test-build test-matrix test-packages
## make test-build          compiles for PostgreSQL 15, 17 and 18, gcc and clang (root); SERVERS="18:sid"
test-build:
	@test/servers build
## make test-matrix         tests with PostgreSQL 15, 17 and 18, and a table (root); MATRIX=17 T="search/ pgtap/" ALL=1 COMPILERS="gcc clang" LIMIT=3600
test-matrix:
	@T='$(T)' MATRIX='$(MATRIX)' ALL='$(ALL)' LIMIT='$(LIMIT)' COMPILERS='$(COMPILERS)' test/servers test

## make test-pg-upgrade     pg_upgrade from 15 to 17, 15 to 18, 17 to 18 with data, in folders with both servers (root); UPGRADE="15:bookworm 17:trixie, 17:trixie 18:forky" EVENTS=200000
.PHONY: test-pg-upgrade
.PHONY: pg-upgrade # internal
test-pg-upgrade:
	@UPGRADE='$(UPGRADE)' EVENTS='$(EVENTS)' test/servers pg-upgrade
# Both servers have logsvc.
pg-upgrade: test-debug-install
	@FROM='$(FROM)' EVENTS='$(EVENTS)' $(staged) test/upgrade/pg_upgrade.pl

## make test-arm64          compiles for ARM64, and runs the unit tests under qemu-user (root); T=name
.PHONY: test-arm64
test-arm64:
	@T='$(T)' test/servers arm64

## make test-packages       builds, installs, tries and purges Debian packages, then the steps of docker/Dockerfile (root); SERVER=17:trixie
test-packages:
	@test/packages deb
	@test/packages image

## make installcheck        pg_regress on a running server in which logsvc is installed and preloaded (PGXS)

# test/year/year.pl says what its variables do.
.PHONY: year
## make year                a year of 50 organizations, with a clock that is set ahead, 30 min; DAYS=365 TENANTS=50 EVENTS=20000 RETENTION=90
year: bench-install build/unit/event_source build/unit/clock.so
	$(staged) test/year/year.pl
build/unit/clock.so: test/year/clock.c
	@mkdir -p $(@D)
	@$(CC) -std=c11 -Wall -Wextra -O2 -shared -fPIC -o $@ $<

# test/drill/drill.pl says what its variables do.
.PHONY: drill
## make drill               backup and restore with pgBackRest (Debian's package) under load, 1 min: RPO and RTO; EVENTS=20000 ARCHIVE_TIMEOUT=5
drill: test-debug-install
	@command -v pgbackrest > /dev/null || { echo "install the package pgbackrest first" >&2; exit 1; }
	$(staged) test/drill/drill.pl

# test/simulation/README.md says what is measured, assumed and calculated.
.PHONY: simulation simulation-costs
## make simulation          what several servers would do, from the costs of one, 5 min: docs/scale.md; NODES="10 100" ORGANIZATIONS=1000000 EVENTS=1e9 SKEW=1.0 SEED=1
simulation:
	@NODES='$(NODES)' ORGANIZATIONS='$(ORGANIZATIONS)' EVENTS='$(EVENTS)' SKEW='$(SKEW)' SEED='$(SEED)' perl test/simulation/simulation.pl
## make simulation-costs    measures these costs here, some 10 min: writes test/simulation/costs.tsv; ORGANIZATIONS=4000 EVENTS=1000000 DURATION=3 IDLE=60
simulation-costs: bench-install build/unit/event_source
	@$(staged) test/simulation/measure.pl > build/simulation-costs.tsv
	@cp build/simulation-costs.tsv test/simulation/costs.tsv

# test/soak/soak.pl says what its variables do.
.PHONY: soak
## make soak                faults under load, nothing accepted may be lost, 20 min; ROUNDS=60 SEED= FAULTS= SECONDS= DURATION=
soak: test-debug-install
	$(staged) test/soak/soak.pl

.PHONY: clients
## make clients             what real clients lose, some 25 min: writes docs/clients.md; T=winston: only those LINES=100000
clients: test-debug-install build/npm/installed build/shippers build/syslog-ng/versions
	@T='$(T)' $(staged) test/clients/clients.pl > build/clients.md
	@cp build/clients.md docs/clients.md

.PHONY: mutation
## make mutation            removes each check of access, a test must fail, some 90 min; T=regex JOBS=2 CHECKED=1 (the tests have just passed)
mutation: test-debug-install build/unit/openapi build/unit/gateway_host_checked build/shippers build/syslog-ng/versions
	PG_CONFIG='$(PG_CONFIG)' PGXS='$(PGXS)' test/mutation/access.pl

.PHONY: differential
## make differential        random queries against a reference; SEED= QUERIES= EVENTS= FIRST= WORKERS= SPILL= BLOCK_ROWS= LEVELS=
differential: test-debug-install
	$(staged) test/differential/differential.pl

# The long form of test/t/store/corruption.pl; without SEED= another seed each time.
.PHONY: corruption
## make corruption          searches in damaged parts; SEED= FLIPS=5000 FIRST=
corruption: test-debug-install build/unit/openapi
	SEED=$${SEED:-$$$$} FLIPS=$(or $(FLIPS),5000) $(staged) test/t/store/corruption.pl
