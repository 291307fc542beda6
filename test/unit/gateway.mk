# The gateway as a program of its own (test/t/040_gateway.pl, test/bench/gateway.sh),
# and what its pure parts add to the fuzz targets.

GATEWAY_SOURCES := $(sort $(wildcard src/http/gateway*.c)) src/http/http_syntax.c \
	src/http/routes.c src/http/openapi.c src/ipc/frame.c

# As it is shipped, and once more under sanitizers.
build/unit/gateway_host: $(GATEWAY_SOURCES:%.c=build/bench/obj/%.o) \
		build/bench/obj/test/unit/gateway_host.o build/bench/libpure.a
	@mkdir -p $(@D)
	$(CC) -O2 -o $@ $(filter-out build/bench/obj/src/ipc/%,$^) -lmicrohttpd $(PURE_LIBS)
build/unit/gateway_host_checked: $(GATEWAY_SOURCES:%.c=build/unit/obj/%.o) \
		build/unit/obj/test/unit/gateway_host.o build/unit/libpure.a
	$(CC) $(SANITIZE) -o $@ $(filter-out build/unit/obj/src/ipc/%,$^) -lmicrohttpd $(PURE_LIBS)

build/fuzz/route: build/fuzz/obj/test/fuzz/route_fuzz.o build/fuzz/obj/src/http/routes.o \
		build/fuzz/obj/src/http/http_syntax.o build/fuzz/libpure.a
	clang $(SANITIZE) -fsanitize=fuzzer -o $@ $^ $(PURE_LIBS)
