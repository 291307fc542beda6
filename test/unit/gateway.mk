# The gateway as a program of its own (test/t/040_gateway.pl, test/bench/gateway.sh),
# and what its pure parts add to the fuzz targets.

GATEWAY_SOURCES := $(sort $(wildcard src/http/gateway*.c)) src/http/http_syntax.c \
	src/http/routes.c src/http/openapi.c src/ipc/frame.c src/base/arena.c src/base/bytes.c \
	src/base/json.c src/base/utf8.c test/unit/gateway_host.c

# As it is shipped, and once more under sanitizers.
build/unit/gateway_host: $(GATEWAY_SOURCES:%.c=build/bench/obj/%.o)
	@mkdir -p $(@D)
	$(CC) -O2 -o $@ $^ -lmicrohttpd
build/unit/gateway_host_checked: $(GATEWAY_SOURCES:%.c=build/unit/obj/%.o)
	$(CC) $(SANITIZE) -o $@ $^ -lmicrohttpd

build/fuzz/route: build/fuzz/obj/test/fuzz/route_fuzz.o build/fuzz/obj/src/http/routes.o \
		build/fuzz/obj/src/http/http_syntax.o build/fuzz/libpure.a
	clang $(SANITIZE) -fsanitize=fuzzer -o $@ $^ $(PURE_LIBS)

build/unit/route_test: build/unit/obj/test/unit/route_test.o \
		build/unit/obj/src/http/http_syntax.o build/unit/libpure.a
	$(CC) $(SANITIZE) -o $@ $^ $(PURE_LIBS)
