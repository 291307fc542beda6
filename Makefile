# logsvc: a log platform inside PostgreSQL.
#
# `make help` prints the lines that begin with two number signs, here and in test/.
# Lint compares them with the .PHONY targets; those that only other targets need
# are declared on lines that end with "# internal".

## PG_CONFIG=pg_config      the server to build for: PostgreSQL 15 or newer
## DEBUG=1                  a build with assertions, stop points and test/debug, as tests use it
## BENCH=1                  a build with what benchmarks call (make bench)
## NO_CONSOLE=1             a build without the web console

### Build and run
## make                     builds the extension
## make install             installs it into the server; DESTDIR=/tmp/logsvc: below that folder
## make uninstall           removes what make install and make quickstart put into the server

# DATA is where quickstart keeps its cluster; to PGXS it means files to install.
GIVEN_DATA := $(DATA)
override DATA :=

EXTENSION = logsvc
MODULE_big = logsvc
LOGSVC_VERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" logsvc.control)

GENERATED := $(if $(wildcard src/query/parser.y),src/query/parser.c src/query/parser.h src/query/lexer.c)
SOURCES := $(sort src/logsvc.c $(wildcard src/*/*.c) $(filter %.c,$(GENERATED))) \
	$(if $(DEBUG),$(sort $(wildcard test/debug/*.c))) $(if $(BENCH),test/bench/measure_access.c)
OBJS = $(SOURCES:.c=.o)

# What CREATE EXTENSION runs, in order; each upgrade runs the second half of it again.
SQL_PARTS := $(addprefix sql/,$(shell sed 's/\#.*//' sql/load_order))
SQL_API := $(filter sql/api/%,$(SQL_PARTS))
UPGRADES := $(patsubst sql/upgrade/%,sql/logsvc--%,$(wildcard sql/upgrade/*.sql))

override DATA = $(wildcard sql/released/logsvc--*.sql)
DATA_built = sql/logsvc--$(LOGSVC_VERSION).sql $(UPGRADES)
EXTRA_CLEAN = $(GENERATED) src/gateway/signatures.json sql/api/help_texts.sql $(OBJS:.o=.d) $(wildcard test/debug/*.[do] test/bench/*.[do]) $(DATA_built) build

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --load-extension=logsvc

PG_CFLAGS = -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter \
	-Wno-missing-field-initializers -Wno-declaration-after-statement \
	$(if $(filter %gcc,$(CC)),-Wshadow=compatible-local) \
	-ffile-prefix-map=$(CURDIR)=. -DLOGSVC_VERSION='"$(LOGSVC_VERSION)"' -MMD -MP \
	$(if $(DEBUG),-DLS_STOP_POINTS -DUSE_ASSERT_CHECKING) $(if $(BLOCK_ROWS),-DLS_PART_BLOCK_ROWS=$(BLOCK_ROWS)) \
	$(if $(LEVELS),-DLS_PLAN_MAX_LEVELS=$(LEVELS)) $(COPT)
SHLIB_LINK = -lcurl -ljansson -lpcre2-8 -lzstd -llz4 -lsnappy -lz -lssl -lcrypto -lm

# Debian builds its server with LLVM; bitcode of a network service is of no use.
override with_llvm = no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2> /dev/null)
ifneq ($(PGXS),)
include $(PGXS)
else ifneq ($(filter-out deps quickstart test help,$(or $(MAKECMDGOALS),all)),)
$(error $(PG_CONFIG) was not found: run make deps, or say where it is with PG_CONFIG=...)
endif

-include $(OBJS:.o=.d)

src/query/parser.c src/query/parser.h &: src/query/parser.y
	bison -Wall -Werror -o src/query/parser.c --header=src/query/parser.h $<
src/query/lexer.c: src/query/lexer.l src/query/parser.h
	flex -o $@ $<
$(filter src/query/%,$(OBJS)): src/query/parser.h
src/identity/breach_common.o: src/identity/common_passwords.bin
src/gateway/signatures.json: src/gateway/signatures.awk src/gateway/routes.def $(wildcard sql/api/*.sql)
	awk -f src/gateway/signatures.awk src/gateway/routes.def $(filter-out sql/api/help_texts.sql,$(wildcard sql/api/*.sql)) > $@.new
	mv $@.new $@
src/gateway/schemas.o: $(wildcard src/gateway/schemas/*.json) src/gateway/signatures.json
src/api/mcp_route.o: src/api/mcp_tools.json docs/language.md docs/evaluation.md

sql/api/help_texts.sql: sql/help_texts.awk docs/help.md
	awk -f sql/help_texts.awk docs/help.md > $@

sql/logsvc--$(LOGSVC_VERSION).sql: $(SQL_PARTS) sql/load_order
	{ printf '%s\n' '\echo Use "CREATE EXTENSION logsvc" to load this file. \quit'; cat $(SQL_PARTS); } > $@

# The step to this version: what changes tables, then everything that can be run again.
# An older step needs no functions: the last one brings those of today.
$(UPGRADES): sql/logsvc--%.sql: sql/upgrade/%.sql $(SQL_API) sql/load_order
	{ printf '%s\n' '\echo Use "ALTER EXTENSION logsvc UPDATE" to load this file. \quit'; \
	cat $< $(if $(filter %--$(LOGSVC_VERSION).sql,$@),$(SQL_API)); } > $@

# ---- the web console: files that the gateway serves ----

ESBUILD ?= $(shell command -v esbuild)
console_folder = $(DESTDIR)$(datadir)/logsvc/console
CONSOLE := $(if $(NO_CONSOLE),,$(if $(wildcard src/console/index.html),build/console/assets.tsv))

all: $(CONSOLE)
# With other tools than before the files are made again.
build/console.tools: FORCE
	@mkdir -p build
	@echo '$(ESBUILD) $(shell command -v brotli)' | cmp -s - $@ || echo '$(ESBUILD) $(shell command -v brotli)' > $@
build/console/assets.tsv: $(if $(CONSOLE),$(shell find src/console -type f)) tools/console-pack tools/ConsoleTemplates.pm build/console.tools
	@ESBUILD='$(ESBUILD)' tools/console-pack src/console build/console

.PHONY: console-vendor-check
.PHONY: install-console uninstall-console # internal
install: $(if $(CONSOLE),install-console)
# Whole, in the place of the one before: its list and its files belong together.
install-console: $(CONSOLE)
	rm -rf '$(console_folder).new'
	mkdir -p '$(console_folder).new'
	cp -R build/console/. '$(console_folder).new'
	chmod -R u=rwX,go=rX '$(console_folder).new'
	rm -rf '$(console_folder)'
	mv '$(console_folder).new' '$(console_folder)'
uninstall: uninstall-console
uninstall-console:
	rm -rf '$(console_folder)'
	rmdir '$(dir $(console_folder))' 2> /dev/null || true
## make console-vendor-check  compares the console's libraries with their checksums
console-vendor-check:
	@tools/console-vendor-check

# ---- unit tests of the pure parts, under sanitizers ----

include test/unit/unit.mk

# ---- tests that need a server ----

include test/test.mk

# ---- commands ----

HTTP_PORT ?= 8080
PG_PORT ?= 54320
sudo := $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: uninstall deps quickstart stop doctor deb screenshots lint bench help

## make help                prints these lines
help:
	@sed -n 's/^### \(.*\)/\n\1/p; s/^## /  /p' Makefile test/test.mk test/unit/unit.mk

## make deps                installs the Debian packages of docker/packages.txt
deps:
	@PG_CONFIG='$(PG_CONFIG)' docker/deps.sh

## make quickstart          deps, all, install, then a private cluster with real logs; DATA=.quickstart HTTP_PORT=8080 PG_PORT=54320
# A fresh machine has no pg_config before deps: make is started again after it.
quickstart: deps
	@DATA='$(or $(GIVEN_DATA),.quickstart)' HTTP_PORT='$(HTTP_PORT)' PG_PORT='$(PG_PORT)' docker/check-ports.sh
	@echo 'Building logsvc; that takes a minute or two'
	@$(MAKE) -s --no-print-directory all
	@echo "Installing it into $$($(PG_CONFIG) --pkglibdir) and $$($(PG_CONFIG) --sharedir)"
	@$(sudo) $(MAKE) -s --no-print-directory install > /dev/null
	@PG_CONFIG='$(PG_CONFIG)' DATA='$(or $(GIVEN_DATA),.quickstart)' HTTP_PORT='$(HTTP_PORT)' PG_PORT='$(PG_PORT)' \
		docker/quickstart.sh

## make stop                stops the cluster of the last make quickstart; DATA=folder: of that folder
stop:
	@PG_CONFIG='$(PG_CONFIG)' DATA='$(GIVEN_DATA)' docker/stop.sh

## make doctor              checks a server and says what to change: DB="dbname=logs host=..." (by default that of make quickstart)
doctor:
	@PG_CONFIG='$(PG_CONFIG)' PG_PORT='$(PG_PORT)' DB='$(DB)' docker/doctor.sh

## make deb                 builds Debian packages for the servers whose postgresql-server-dev is installed, into ..
deb:
	pg_buildext updatecontrol
	dpkg-buildpackage -us -uc -b

## make screenshots         writes the pictures of README and docs from the data of the last make quickstart (Chromium)
screenshots: build/browser/installed
	@. "$$(cat build/quickstart)/env" && node test/browser/screenshots.mjs docs/images

## make clean               removes everything that was built (PGXS)

### Test (test/README.md says which test is for what)
## make lint                the rules of the source layout, clang-format
lint: all
	@test/lint.pl

## make bench               benchmarks, rows "metric value unit"; B=decode: those whose name contains it
# Programs of the pure parts, and test/bench/*.pl against a server of its own.
B ?=
BENCH_PROGRAMS = $(foreach b,$(PURE_BENCHES),$(if $(findstring $(B),$(notdir $(b))),$(b)))
BENCH_SERVERS = $(strip $(foreach b,$(sort $(wildcard test/bench/*.pl)),$(if $(findstring $(B),$(notdir $(b))),$(b))))

BENCH_BROWSER = $(if $(findstring console,$(BENCH_SERVERS)),$(if $(shell command -v chromium),build/browser/installed))
bench: bench-install $(BENCH_PROGRAMS) build/unit/gateway_host build/unit/event_source $(BENCH_BROWSER)
	@for b in $(BENCH_PROGRAMS); do $$b || exit 1; done
	@$(if $(BENCH_SERVERS),$(staged) $(BENCH_SERVERS) build/unit/gateway_host)
