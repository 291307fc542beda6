# Unit tests, fuzz targets and benchmarks of the pure parts: plain C programs
# under build/, linked with the pure sources only.  A unit test prints TAP.

# Rooms without PostgreSQL, and the pure files of the others.
PURE_ROOMS = base pattern part engine verdict judge model identity decode pipeline
PURE_SOURCES := $(sort $(foreach r,$(PURE_ROOMS),$(wildcard src/$(r)/*.c)) \
	src/gateway/console_files.c src/gateway/http_choice.c src/gateway/http_syntax.c src/gateway/framing.c src/gateway/websocket.c src/gateway/openapi.c src/gateway/routes.c src/gateway/schemas.c \
	$(shell grep -ls '(pure)' src/ipc/*.c src/query/*.c src/notify/*.c src/workspace/*.c src/api/*.c 2>/dev/null) \
	$(filter %.c,$(GENERATED)))
PURE_CFLAGS = -std=gnu11 -g -Wall -Wextra -Werror -Wno-unused-parameter -Wno-missing-field-initializers -I. -MMD -MP
PURE_LIBS = -ljansson -lzstd -llz4 -lsnappy -lz -lpcre2-8 -lcrypto -lm
# clang sees more than gcc: what is added to NULL, and numbers that do not fit.
UNIT_CC = clang
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# What runs them when they are for another processor, how many times slower it is, and the tests that take too long
# there with sanitizers: they run as the benchmarks are compiled.
UNIT_RUN =
UNIT_SLOWER =
UNIT_PLAIN =

UNIT_TESTS := $(patsubst test/unit/%_test.c,build/unit/%_test,$(sort $(wildcard test/unit/*_test.c)))
FUZZ_TARGETS := $(patsubst test/fuzz/%_fuzz.c,build/fuzz/%,$(sort $(wildcard test/fuzz/*_fuzz.c)))
PURE_BENCHES := $(patsubst test/bench/%_bench.c,build/bench/%_bench,$(sort $(wildcard test/bench/*_bench.c)))

build/unit/checked/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(UNIT_CC) $(PURE_CFLAGS) $(UNIT_SLOWER:%=-DTEST_SLOWER=%) -O1 $(SANITIZE) -c $< -o $@
build/fuzz/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	clang $(PURE_CFLAGS) -DLS_FUZZING -O1 $(SANITIZE) -fsanitize=fuzzer-no-link -c $< -o $@
build/bench/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(PURE_CFLAGS) $(UNIT_SLOWER:%=-DTEST_SLOWER=%) -O2 -fno-strict-aliasing -fwrapv -c $< -o $@

# What is taken in by .incbin is in no .d file.
$(foreach d,unit/checked fuzz/obj bench/obj,build/$(d)/src/identity/breach_common.o): src/identity/common_passwords.bin
$(foreach d,unit/checked fuzz/obj bench/obj,build/$(d)/src/gateway/schemas.o): $(wildcard src/gateway/schemas/*.json) src/gateway/signatures.json

build/unit/libpure.a: $(PURE_SOURCES:%.c=build/unit/checked/%.o)
build/fuzz/libpure.a: $(PURE_SOURCES:%.c=build/fuzz/obj/%.o)
build/bench/libpure.a: $(PURE_SOURCES:%.c=build/bench/obj/%.o)
build/%/libpure.a:
	rm -f $@ && ar rcs $@ $^

build/unit/%_test: build/unit/checked/test/unit/%_test.o build/unit/libpure.a
	$(UNIT_CC) $(SANITIZE) -o $@ $^ $(PURE_LIBS)
$(UNIT_PLAIN:%=build/unit/%_test): build/unit/%_test: build/bench/obj/test/unit/%_test.o build/bench/libpure.a
	@echo '$(@F) is compiled without sanitizers'
	$(CC) -O2 -o $@ $^ $(PURE_LIBS)
build/fuzz/%: build/fuzz/obj/test/fuzz/%_fuzz.o build/fuzz/libpure.a
	clang $(SANITIZE) -fsanitize=fuzzer -o $@ $^ $(PURE_LIBS)
build/bench/%_bench: build/bench/obj/test/bench/%_bench.o build/bench/libpure.a
	$(CC) -O2 -o $@ $^ $(PURE_LIBS)

.PHONY: ablation
build/bench/judge_ablation: test/bench/judge_ablation.c $(wildcard src/judge/*.[ch]) build/bench/libpure.a
	$(CC) $(PURE_CFLAGS) -O2 -fno-strict-aliasing -fwrapv -DLS_JUDGE_ABLATION -o $@ $(filter %.c,$^) build/bench/libpure.a $(PURE_LIBS)
## make ablation            what each rule of the built-in evaluator is worth
ablation: build/bench/judge_ablation
	$<

.PRECIOUS: build/unit/checked/%.o build/fuzz/obj/%.o build/bench/obj/%.o

.PHONY: fuzz
## make fuzz                libFuzzer; S=60 seconds for each target, T=decode: one target
S ?= 60
fuzz: $(if $(filter fuzz,$(MAKECMDGOALS)),$(if $(T),build/fuzz/$(T),$(FUZZ_TARGETS)))
	@for t in $(if $(T),$(T),$(notdir $(FUZZ_TARGETS))); do \
		mkdir -p build/corpus/$$t test/corpus/$$t; \
		echo "fuzzing $$t for $(S) s"; \
		build/fuzz/$$t -max_total_time=$(S) -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
			-artifact_prefix=build/corpus/$$t- build/corpus/$$t test/corpus/$$t || exit 1; \
	done

-include $(shell find build -name '*.d' 2>/dev/null)
