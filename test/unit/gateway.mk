# The gateway as a program of its own, for test/t/gateway and
# test/bench/gateway.sh.

GATEWAY_SOURCES := $(sort $(wildcard src/gateway/gateway*.c)) src/gateway/console_files.c src/gateway/http_choice.c src/gateway/http_syntax.c \
	src/gateway/framing.c src/gateway/websocket.c src/base/base64.c src/base/listener.c src/gateway/routes.c src/gateway/openapi.c src/gateway/schemas.c src/ipc/frame.c src/base/arena.c src/base/bytes.c src/base/digest.c \
	src/base/address.c src/base/measure.c src/base/json.c src/base/json_document.c src/base/utf8.c test/unit/gateway_host.c

# As it is shipped, and once more under sanitizers.
build/unit/gateway_host: $(GATEWAY_SOURCES:%.c=build/bench/obj/%.o)
	@mkdir -p $(@D)
	$(CC) -O2 -o $@ $^ -ljansson -lssl -lcrypto
build/unit/gateway_host_checked: $(GATEWAY_SOURCES:%.c=build/unit/checked/%.o)
	$(UNIT_CC) $(SANITIZE) -o $@ $^ -ljansson -lssl -lcrypto

# What benchmarks load, and its comparison with real logs.
build/unit/event_source: $(addprefix build/bench/obj/test/bench/,event_source.o event_writer.o)
	@mkdir -p $(@D)
	$(CC) -O2 -o $@ $^
build/bench/likeness_bench build/bench/bytes_bench: build/bench/obj/test/bench/event_source.o

# The API description, with which tests compare answers.
OPENAPI_SOURCES = src/gateway/openapi.c src/gateway/schemas.c src/gateway/routes.c src/base/arena.c src/base/bytes.c \
	src/base/json.c src/base/json_document.c src/base/utf8.c test/unit/openapi.c
build/unit/openapi: $(OPENAPI_SOURCES:%.c=build/bench/obj/%.o)
	@mkdir -p $(@D)
	$(CC) -O2 -o $@ $^ -ljansson
