/*
 * pipeline_test.c: masks, Grok, times, and what bounds a pipeline.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/pipeline/pipeline.h"
#include "test/unit/tap.h"

#define KEY "\"key\":\"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\","

static ls_arena *arena;
static ls_arena *event_arena;

/* Of the events of run_on; empty: they have none. */
static ls_str level;
static ls_str span = {"", 0};
static ls_str truncated;

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

/* CPU time in nanoseconds, as of a processor that is not emulated: what is under test has the limits of servers. */
static uint64_t
now(void)
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return ((uint64_t) cpu.tv_sec * UINT64_C(1000000000) + (uint64_t) cpu.tv_nsec) / TEST_SLOWER;
}

static ls_program *
compile(const char *processors)
{
	char definition[8192];
	const char *error;
	const char *path;
	ls_program *program;

	snprintf(definition, sizeof(definition),
			 "{" KEY "\"pipelines\":[{\"id\":\"p\",\"name\":\"p\",\"version\":1,\"processors\":[%s]}]}",
			 processors);
	program = ls_program_compile(str(definition), arena, &error, &path);
	if (program == NULL)
		printf("# %s: %s\n", path, error);
	return program;
}

static bool
no_index(void *context, ls_str index)
{
	(void) context;
	return ls_str_eq(index, LS_STR("web"));
}

static ls_pipeline_run
begin(ls_program *program)
{
	ls_pipeline_run run = {.program = program,
						   .arena = event_arena,
						   .limits = LS_DECODE_LIMITS,
						   .now = INT64_C(1767225600) * LS_USECS_PER_SEC,
						   .known_index = no_index,
						   .cpu = now, /* not the time of others on a busy machine */
						   .budget = INT64_MAX / 2};

	if (!ls_pipeline_begin(&run, arena))
		exit(1);
	return run;
}

/* An event with a text and, unless its key is NULL, an attribute, after processors. */
static ls_event_fate
run_on(const char *processors, ls_str text, const ls_attribute *attribute, const ls_event **out)
{
	static ls_program *program = NULL;
	static ls_pipeline_run run;
	static ls_event event;

	if (program != NULL)
		ls_program_free(program);
	ls_arena_reset(arena);
	memset(&event, 0, sizeof(event));
	event.has = 1u << LS_FIELD_EVENT | 1u << LS_FIELD_LEVEL | 1u << LS_FIELD_TRUNCATED;
	event.field[LS_FIELD_EVENT] = text;
	event.field[LS_FIELD_LEVEL] = level;
	event.field[LS_FIELD_TRUNCATED] = truncated;
	event.attributes = (ls_attribute *) attribute;
	event.n_attributes = attribute != NULL;
	event.field[LS_FIELD_SPAN_ID] = span;
	if (span.len > 0)
		event.has |= 1u << LS_FIELD_SPAN_ID;
	if (level.len == 0)
		event.has &= ~(1u << LS_FIELD_LEVEL);
	if (truncated.len == 0)
		event.has &= ~(1u << LS_FIELD_TRUNCATED);
	*out = &event;
	program = compile(processors);
	if (program == NULL)
	{
		event.field[LS_FIELD_EVENT] = LS_STR("?");
		return LS_FATE_KEPT;
	}
	run = begin(program);
	return ls_pipeline_run_event(&run, &event, out);
}

/* The text of an event after processors. */
static ls_str
after(const char *processors, ls_str text, ls_event_fate *fate, const ls_event **out)
{
	*fate = run_on(processors, text, NULL, out);
	return (*out)->field[LS_FIELD_EVENT];
}

static void
masked(const char *preset, const char *text, const char *expected)
{
	char processor[200];
	ls_event_fate fate;
	const ls_event *out;

	snprintf(processor, sizeof(processor),
			 "{\"type\":\"mask\",\"field\":\"event\",\"preset\":\"%s\"}", preset);
	is_str(after(processor, str(text), &fate, &out), expected, text);
}

static void
test_presets(void)
{
	masked("email", "a@b.co,x@y.example.org;@ a@ @b.co a@b", "***,***;@ a@ @b.co a@b");
	/* A sign at the very beginning hides nothing of what follows it. */
	masked("email", "@a@b.co c", "@*** c");
	masked("email", "%4004\xd8\x9d@x.example c", "%40*** c");
	masked("email", "\"john doe\"@example.com <j\xc3\xb6rg@m\xc3\xbcller.de>", "*** <***>");
	masked("email", "mailto:ann+tag@x.example?cc=bob%40y.example", "mailto:***?cc=***");
	masked("email", "user@[10.0.0.1] ann@x.example.", "*** ***.");
	masked("creditcard", "4111111111111111", "***");
	masked("creditcard", "id 12 4111 1111 1111 1111 ok", "id 12 *** ok");
	masked("creditcard", "378282246310005/6011111111111117", "***/***");
	masked("creditcard", "41111111111111112 and 4111111111111112", "41111111111111112 and 4111111111111112");
	masked("creditcard", "1767225600000 20260101000000 0000000000000000", "1767225600000 20260101000000 0000000000000000");
	masked("ip", "10.0.0.1 256.1.1.1 1.2.3 _10.0.0.2_ (::1)", "*** 256.1.1.1 1.2.3 _***_ (***)");
	masked("ip", "2001:db8:0:0:0:0:0:1 2001:db8::1/64 std::string 12:34:56", "*** ***/64 std::string 12:34:56");
	masked("ip", "client:2001:db8::1, 64:ff9b::10.0.0.1 00:11:22:33:44:55", "client:***, *** 00:11:22:33:44:55");
	masked("jwt", "eyJhbGciOiJub25lIn0.eyJhIjoxfQ. x eyJhbGciOiJub25lIn0", "*** x eyJhbGciOiJub25lIn0");
	masked("iban", "NL91ABNA0417164300 nl91 abna 0417 1643 00 NL92ABNA0417164300",
		   "*** *** NL92ABNA0417164300");
	masked("iban", "DE8937040044053201300 DE893704004405320130001", "DE8937040044053201300 DE893704004405320130001");
	/* Letters may touch it, if it is in capitals or the word IBAN is before it; ids of small letters are no accounts. */
	masked("iban", "IBANDE89370400440532013000 accountNL91ABNA0417164300EUR Ibande89370400440532013000 1DE89370400440532013000x",
		   "IBAN*** account***EUR Iban*** 1***x");
	masked("iban", "xde89370400440532013000 de89370400440532013000x xNL91abna0417164300",
		   "xde89370400440532013000 de89370400440532013000x xNL91abna0417164300");
}

/* Escapes, and what stands at an address without a space. */
static void
test_touching(void)
{
	masked("ip", "client\\n10.0.0.1 \\u000a10.0.0.2 \\u002010.0.0.3 %2C10.0.0.4 %2010.0.0.5",
		   "client\\n*** \\u000a*** \\u0020*** %2C*** %20***");
	masked("ip", "\x1b[32m10.0.0.1\x1b[0m Connecting...10.0.0.2 10.0.0.3ms", "\x1b[32m***\x1b[0m Connecting...*** ***ms");
	masked("ip", "IP 10.0.0.1.443 > 10.0.0.2.80: 256.1.1.1 1.2.3", "IP ***.443 > ***.80: 256.1.1.1 1.2.3");
	masked("ip", "\\n2001:db8:0:0:0:0:0:1 \\tfe80::1 %20fe80::2 std::string", "\\n*** \\t*** %20*** std::string");
	masked("iban", "\\nDE89370400440532013000 %0aNL91ABNA0417164300 \\nDE88370400440532013000", "\\n*** %0a*** \\nDE88370400440532013000");
	masked("email", "{\\\"m\\\":\\\"bob\\u0040example.com\\\"} a@b.co \\u0040 %40", "{\\\"m\\\":\\\"***\\\"} *** \\u0040 %40");
	masked("creditcard", "4111+1111+1111+1111 4111%201111%201111%201111 4111\t1111\t1111\t1111", "*** *** ***");
	masked("creditcard", "4111\xc2\xa0" "1111\xc2\xa0" "1111\xc2\xa0" "1111 %204111111111111111 8171999927660000", "*** %20*** ***");
	masked("creditcard", "4111++1111++1111++1111 1000000000000008", "*** 1000000000000008");
}

/* What people and programs write between the groups of a number. */
static void
test_separators(void)
{
	masked("creditcard", "4111_1111_1111_1111 4111,1111,1111,1111 4111/1111/1111/1111 3782_822463_10005", "*** *** *** ***");
	masked("creditcard", "4111, 1111, 1111, 1111 4111  1111  1111  1111 4111 - 1111 - 1111 - 1111", "*** *** ***");
	masked("creditcard", "4111\xe2\x80\x91" "1111\xe2\x80\x93" "1111\xe2\x88\x92" "1111 4111\xe2\x80\xaf" "1111\xe2\x80\x89" "1111\xe3\x80\x80" "1111",
		   "*** ***");
	masked("creditcard", "41\xe2\x80\x8b" "11\xe2\x80\x8d" "11\xef\xbb\xbf" "111\xc2\xad" "111\xe2\x81\xa0" "1111", "***");
	/* Characters that show nothing, several beside each other too, with and without a blank. */
	masked("creditcard", "4111\xe1\xa0\x8e" "1111\xef\xb8\x8f" "1111\xcd\x8f" "1111", "***");
	masked("creditcard", "4\xef\xb8\x8f\xe2\x83\xa3" "111\xd8\x9c" "1111\xe1\x85\x9f" "1111\xf3\xa0\x81\xbf" "1111", "***");
	masked("creditcard", "41\xe2\x80\x8b\xe2\x80\x8b\xe2\x80\x8b\xe2\x80\x8b" "11 \xe2\x81\xa9" "1111\xe3\x85\xa4" "1111\xf0\x9d\x85\xb3" "1111", "***");
	masked("creditcard", "4111\xef\xbe\xa0" "1111\xef\xbf\xb0" "1111\xe1\x9e\xb4" "1111 4111\xe2\xa0\x80" "1111\xf0\x9b\xb2\xa0" "1111\xe1\xa0\x8b" "1111", "*** ***");
	masked("iban", "DE89\xef\xb8\x8f" "3704\xcd\x8f\xcd\x8f\xcd\x8f\xcd\x8f" "0044\xe1\xa0\x8e" "0532013000", "***");
	masked("creditcard", "4,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1 /41/11/11/11/11/11/11/11 41111,11111,111111", "4,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1 /41/11/11/11/11/11/11/11 41111,11111,111111");
	masked("creditcard", "4111 1111 1111    1111 4111\xe2\x82\xac" "1111 1111 1111", "4111 1111 1111    1111 4111\xe2\x82\xac" "1111 1111 1111");
	masked("iban", "DE89_3704_0044_0532_0130_00 DE89/3704/0044/0532/0130/00 DE89  3704  0044  0532  0130  00", "*** *** ***");
	masked("iban", "DE89\xe2\x80\x91" "3704\xc2\xa0" "0044\xe2\x80\xaf" "0532%200130, 00 DE88_3704_0044_0532_0130_00", "*** DE88_3704_0044_0532_0130_00");
}

/* JSON in a text is taken apart later, perhaps: its escapes hide nothing. */
static void
test_escapes(void)
{
	static const char hash[] = "{\"type\":\"mask\",\"field\":\"event\",\"preset\":\"email\",\"hash\":true}";
	ls_event_fate fate;
	const ls_event *out;
	char first[64];

	masked("creditcard", "{\"c\":\"\\u0034111\\u00201111\\u20111111 111\\u0031\",\"d\":1}", "{\"c\":\"***\",\"d\":1}");
	masked("email", "\\u0061nn@b.c\\u006f, bob\\u0040example\\u002ecom \\u0040", "***, *** \\u0040");
	masked("email", "x\\u00e9@b.co \\ud83d\\ude00@b.co \\ud83d @b.co \\u12 a@b.co", "*** *** \\ud83d @b.co \\u12 ***");
	masked("iban", "\\u0044E89370400440532013000 \\u0041DE89370400440532013000", "*** \\u0041***");
	masked("ip", "10\\u002e0.0.1 \\u003a:1 \\u0000", "*** *** \\u0000");
	is_str(after("{\"type\":\"mask\",\"field\":\"event\",\"pattern\":\"s[e]cret\"}", LS_STR("a \\u0073ecre\\u0074 b secret"), &fate, &out), "a *** b ***",
		   "patterns see what they stand for");
	/* OpenSSL prepares itself at its first hash, for longer than an event may take. */
	(void) after(hash, LS_STR("bob@example.com"), &fate, &out);
	snprintf(first, sizeof(first), "%.*s", 32, after(hash, LS_STR("bob@example.com"), &fate, &out).data);
	is_str(after(hash, LS_STR("bob\\u0040example.co\\u006d"), &fate, &out), first, "the hash is that of the value");
}

/* What was cut before a mask: of what stood at its end, nothing stays. */
static void
test_cut(void)
{
	static const char mask[] = "{\"type\":\"mask\",\"field\":\"*\",\"preset\":\"creditcard\"}";
	static char text[32 * 1024 + 1];
	static char key[257];
	ls_attribute attribute = {.key = LS_STR("a"), .kind = LS_KIND_STRING};
	const ls_event *out;

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text + 100, " 4111 1111 1111 1111 ", 21);
	memcpy(text + sizeof(text) - 16, "4111 1111 1111 ", 15);
	attribute.text = str(text);
	(void) run_on(mask, LS_STR("a"), &attribute, &out);
	is_int((long long) out->attributes[0].text.len, 32 * 1024 - 16, "what was not cut keeps its end");
	truncated = LS_STR("attributes.a");
	(void) run_on(mask, LS_STR("a"), &attribute, &out);
	is_int((long long) out->attributes[0].text.len, 32 * 1024 - 16 - 512 + 3, "of what was cut the end is masked");
	is_str(ls_str_make(out->attributes[0].text.data + out->attributes[0].text.len - 5, 5), "xx***", "as a whole");
	(void) run_on("{\"type\":\"mask\",\"field\":\"a\",\"pattern\":\"[0-9]{16}\"}", LS_STR("a"), &attribute, &out);
	is_str(out->attributes[0].text, "***", "a pattern cannot know what it would have found");
	memset(key, 'k', 256);
	memcpy(key + 256 - 12, "411111111111", 12);
	attribute.key = str(key);
	attribute.text = LS_STR("v");
	truncated = LS_STR("attributes.kkkk");
	(void) run_on(mask, LS_STR("a"), &attribute, &out);
	is_str(out->attributes[0].key, "***", "nor is there a part of a name");
	{
		char names[280];

		snprintf(names, sizeof(names), "event,attributes.%s", key);
		truncated = str(names);
		(void) run_on(mask, LS_STR("a"), &attribute, &out);
		is_str(out->field[LS_FIELD_TRUNCATED], "attributes,event", "nor in the names of what was cut");
	}
	truncated = LS_STR("");
}

/* No text of a sender is where masks do not look. */
static void
test_names(void)
{
	static const char *const makers[] = {
		"{\"type\":\"parse_kv\"}", "{\"type\":\"parse_json\"}"};
	static const char *const texts[] = {"_pipelineError=bob@example.com", "{\"_pipelineError\":\"bob@example.com\"}"};
	char processors[300];
	ls_attribute attribute = {.kind = LS_KIND_STRING, .text = LS_STR("bob@example.com")};
	const ls_event *out;
	const char *error;
	const char *path;

	for (int i = 0; i < 2; i++)
	{
		snprintf(processors, sizeof(processors), "%s,{\"type\":\"mask\",\"field\":\"*\",\"preset\":\"email\"}", makers[i]);
		(void) run_on(processors, str(texts[i]), NULL, &out);
		is_int((long long) out->n_attributes, 1, "one attribute:");
		ok(strstr(out->attributes[0].text.data, "service's own") != NULL, "the failure");
	}
	attribute.key = LS_STR("_pipexlineError");
	(void) run_on("{\"type\":\"mask\",\"field\":\"*\",\"pattern\":\"x\",\"replacement\":\"\"},"
				  "{\"type\":\"mask\",\"field\":\"*\",\"pattern\":\"bob\"}",
				  LS_STR("a"), &attribute, &out);
	is_str(out->attributes[0].key, "***", "a mask does not make the name either");
	is_str(out->attributes[0].text, "***@eample.com", "and the next one looks at it");
	ls_arena_reset(arena);
	ok(ls_program_compile(str("{" KEY "\"pipelines\":[{\"id\":\"p\",\"name\":\"p\",\"processors\":[{\"type\":\"parse_grok\","
							  "\"pattern\":\"%{DATA:attributes._pipelineError}\"}]}]}"),
						  arena, &error, &path) == NULL, "nor does a group");
	level = LS_STR("bob@example.com");
	truncated = LS_STR("event,attributes.bob@example.com");
	(void) run_on("{\"type\":\"mask\",\"field\":\"*\",\"preset\":\"email\"}", LS_STR("a"), NULL, &out);
	is_str(out->field[LS_FIELD_LEVEL], "***", "a level is text");
	is_str(out->field[LS_FIELD_TRUNCATED], "attributes,event", "names of what was cut are too");
	level = LS_STR("error");
	truncated = LS_STR("attributes.user-7,attributes.b");
	(void) run_on("{\"type\":\"mask\",\"field\":\"*\",\"pattern\":\"^user-[0-9]+$|err\"}", LS_STR("a"), NULL, &out);
	is_str(out->field[LS_FIELD_LEVEL], "error", "but not a standard one");
	is_str(out->field[LS_FIELD_TRUNCATED], "attributes", "each of the names");
	level = truncated = LS_STR("");
}

/* Ids of spans have digits that pass for a card number. */
static void
test_span_ids(void)
{
	static const char card[] = "{\"type\":\"mask\",\"field\":\"*\",\"preset\":\"creditcard\"}";
	static const struct
	{
		const char *id;
		const char *becomes;
	} ids[] = {
		{"4111111111111111", "***"}, /* a card number, as far as can be told */
		{"ab30569309025904", "ab30569309025904"},
		{"ab30569309025904ab30569309025904", "ab30569309025904ab30569309025904"},
		{"ab30569309025904x", "ab***x"}, /* no id */
	};
	const ls_event *out;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
	{
		span = str(ids[i].id);
		(void) run_on(card, LS_STR("a"), NULL, &out);
		is_str(out->field[LS_FIELD_SPAN_ID], ids[i].becomes, ids[i].id);
	}
	span = str("ab30569309025904");
	(void) run_on("{\"type\":\"mask\",\"field\":\"spanId\",\"preset\":\"creditcard\"}", LS_STR("a"), NULL, &out);
	is_str(out->field[LS_FIELD_SPAN_ID], "ab***", "by its name it is masked");
	(void) run_on("{\"type\":\"mask\",\"field\":\"*\",\"pattern\":\"[0-9]{9}\"}", LS_STR("a"), NULL, &out);
	is_str(out->field[LS_FIELD_SPAN_ID], "ab***25904", "and by a pattern");
	(void) run_on(card, LS_STR("ab30569309025904"), NULL, &out);
	is_str(out->field[LS_FIELD_EVENT], "ab***", "in a text it is no id");
	span = LS_STR("");
}

/* Where a member may be, but cannot be found: nothing of it is left. */
static void
test_inside(void)
{
	static const char mask[] = "{\"type\":\"mask\",\"field\":\"user.mail\",\"preset\":\"email\"}";
	ls_attribute attribute = {.key = LS_STR("user"), .kind = LS_KIND_STRING, .text = LS_STR("{\"mail\":\"bob@example.com\",\"x")};
	const ls_event *out;

	(void) run_on(mask, LS_STR("a"), &attribute, &out);
	is_str(out->attributes[0].text, "***", "JSON that was cut");
	(void) run_on("{\"type\":\"remove\",\"fields\":[\"user.mail\"]}", LS_STR("a"), &attribute, &out);
	is_int((long long) out->n_attributes, 0, "is removed as a whole");
	attribute.text = LS_STR("bob@example.com");
	(void) run_on(mask, LS_STR("a"), &attribute, &out);
	is_str(out->attributes[0].text, "bob@example.com", "another text is not");
	attribute.kind = LS_KIND_JSON;
	attribute.text = LS_STR("[{\"mail\":\"bob@example.com\",\"id\":1},[{\"mail\":[\"a@b.co\"]}],2]");
	(void) run_on(mask, LS_STR("a"), &attribute, &out);
	is_str(out->attributes[0].text, "[{\"mail\":\"***\",\"id\":1},[{\"mail\":[\"***\"]}],2]", "elements of an array");
	(void) run_on("{\"type\":\"remove\",\"fields\":[\"user.mail\"]}", LS_STR("a"), &attribute, &out);
	is_str(out->attributes[0].text, "[{\"id\":1},[{}],2]", "are looked into by remove too");
}

/* Texts of any length are read once, or given up.  CPU time, with much room: before, it took seconds. */
static void
test_time(void)
{
	static char text[256 * 1024 + 1];
	ls_event_fate fate;
	const ls_event *out;
	uint64_t began;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = "a "[i % 2];
	memcpy(text + sizeof(text) - 4, "=>b", 3);
	began = now();
	(void) after("{\"type\":\"parse_kv\"}", str(text), &fate, &out);
	for (size_t i = 0; i < sizeof(text) - 4; i++)
		text[i] = "= "[i % 2];
	(void) after("{\"type\":\"parse_kv\",\"keySeparator\":\"=>\"}", str(text), &fate, &out);
	ok(now() - began < UINT64_C(1000000000), "words without a value, false separators");
	memset(text, 'x', 32 * 1024);
	text[32 * 1024] = '\0';
	began = now();
	(void) after("{\"type\":\"mask\",\"field\":\"event\",\"pattern\":\"(?=x*+)(?=x*+)(?=x*+)(?=x*+)(?=x*+)(?=x*+)(?=x*+)"
				 "(?=x*+)(?=x*+)(?=x*+)(?=x*+)(?=x*+)(?=x*+)(?=x*+)[xy](?!x|$)\"}", str(text), &fate, &out);
	ok(now() - began < UINT64_C(1000000000), "an expression that reads ahead");
	is_str(out->field[LS_FIELD_EVENT], "***", "is given up");
	printf("# %llu us\n", (unsigned long long) (now() - began) / 1000);
}

/* Presets look at a text once: half a megabyte of what they begin with takes moments. */
static void
test_linear(void)
{
	static const char *const begins[] = {"@", "a@", "%40", "4", "4 ", "1.", "a:", "::", "eyJ", "eyJ.", "DE89", "a\"@", "\\u0040", "4, ", "4111,", "DE89, ", "4\xe2\x80\x91", "%20", "4%20", "\\n"};
	static const char *const presets[] = {"email", "creditcard", "ip", "jwt", "iban"};
	size_t size = 512 * 1024;
	char *text = malloc(size);
	size_t total = 0;

	for (size_t b = 0; b < sizeof(begins) / sizeof(begins[0]); b++)
	{
		for (size_t i = 0; i < size; i++)
			text[i] = begins[b][i % strlen(begins[b])];
		for (size_t p = 0; p < sizeof(presets) / sizeof(presets[0]); p++)
		{
			size_t from = 0, begin, end;

			while (ls_mask_preset(str(presets[p]))(ls_str_make(text, size), from, &begin, &end))
			{
				if (begin < from || end <= begin || end > size)
					exit(1);
				from = end;
				total++;
			}
		}
	}
	free(text);
	ok(total > 0, "long texts");
}

static void
test_closed(void)
{
	static char text[40000];
	ls_event_fate fate;
	const ls_event *out;

	memset(text, 'a', sizeof(text) - 1);
	memcpy(text + 3000, " bob c", 7);
	is_str(after("{\"type\":\"mask\",\"field\":\"event\",\"pattern\":\"(a+)+[!?]c\"}", str(text), &fate, &out),
		   "***", "too many steps: the field is replaced");
	is_int((long long) out->n_attributes, 1, "and marked");
	is_str(after("{\"type\":\"mask\",\"field\":\"event\",\"pattern\":\"[^x]*[^z]*+[!?]c\",\"onFailure\":\"keep\"}", str(text), &fate, &out),
		   "***", "quadratic: too");
	is_int((long long) out->n_attributes, 0, "not marked");
	memset(text, 'a', sizeof(text) - 1);
	is_str(after("{\"type\":\"mask\",\"field\":\"event\",\"pattern\":\"bob\"}", str(text), &fate, &out),
		   "***", "a text that is too long for a pattern");
	is_str(after("{\"type\":\"mask\",\"field\":\"event\",\"pattern\":\"a\\\\Kb|\\\\Kx\"}", LS_STR("ab"), &fate, &out), "a***",
		   "a match that begins later");
	(void) after("{\"type\":\"parse_json\",\"onFailure\":\"drop\"}", LS_STR("x"), &fate, &out);
	is_int(fate, LS_FATE_DROPPED, "dropped on failure");
	(void) after("{\"type\":\"route\",\"index\":\"nowhere\",\"onFailure\":\"keep\"}", LS_STR("x"), &fate, &out);
	is_int(fate, LS_FATE_KEPT, "an index that is gone");
	(void) after("{\"type\":\"route\",\"index\":\"web\"}", LS_STR("x"), &fate, &out);
	is_str(out->field[LS_FIELD_INDEX], "web", "and one that is there");
}

/* When the time of a request is over, masks replace and others fail. */
static void
test_budget(void)
{
	ls_program *program;
	ls_pipeline_run run;
	ls_event event = {.has = 1u << LS_FIELD_EVENT};
	const ls_event *out;

	ls_arena_reset(arena);
	program = compile("{\"type\":\"mask\",\"field\":\"event\",\"preset\":\"ip\"},{\"type\":\"set\",\"field\":\"a\",\"value\":1}");
	run = begin(program);
	run.budget = 0;
	event.field[LS_FIELD_EVENT] = LS_STR("x");
	is_int(ls_pipeline_run_event(&run, &event, &out), LS_FATE_CHANGED, "no time left");
	is_str(out->field[LS_FIELD_EVENT], "***", "replaced");
	is_int((long long) out->n_attributes, 1, "nothing was set");
	is_str(out->attributes[0].key, "_pipelineError", "but the error");
	ls_program_free(program);
}

static void
test_grok(void)
{
	static const char line[] = "127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /a?b=c HTTP/1.0\" 200 2326 "
							   "\"http://x.example/\" \"curl/7\"";
	ls_grok_field fields[LS_GROK_MAX_FIELDS];
	const ls_event *out;
	ls_event_fate fate;
	const char *error;
	uint32_t n;
	ls_str regex;

	(void) after("{\"type\":\"parse_grok\",\"pattern\":\"%{COMBINEDAPACHELOG}\"}", str(line), &fate, &out);
	is_int(out->timestamp, INT64_C(971211336) * LS_USECS_PER_SEC, "the time of an Apache line");
	is_int((long long) out->n_attributes, 10, "and what else it says");
	(void) after("{\"type\":\"parse_grok\",\"pattern\":\"%{TIMESTAMP_ISO8601:timestamp} %{LOGLEVEL:level} %{IPV6:ip} %{UUID:id} %{URI:u}\"}",
				 LS_STR("2026-01-01T00:00:00Z WARN 2001:db8::1 00112233-4455-6677-8899-aabbccddeeff http://a.example:80/x?y=1"), &fate, &out);
	is_int((long long) out->n_attributes, 3, "other patterns");
	is_str(out->field[LS_FIELD_LEVEL], "warn", "a level");
	(void) after("{\"type\":\"parse_grok\",\"pattern\":\"%{SYSLOGLINE}\",\"onFailure\":\"keep\"}",
				 LS_STR("Oct 11 22:14:15 host su[230]: failed"), &fate, &out);
	is_str(out->field[LS_FIELD_EVENT], "failed", "a line of syslog");
	ok(!ls_grok_expand(LS_STR("%{NONE}"), NULL, NULL, arena, &regex, fields, &n, &error), "no such pattern");
	ok(!ls_grok_expand(LS_STR("%{IP"), NULL, NULL, arena, &regex, fields, &n, &error), "no end");
}

static ls_str
itself(void *context, ls_str name)
{
	(void) context;
	return name.len == 1 ? LS_STR("%{A}%{A}") : LS_STR("");
}

int
main(void)
{
	ls_grok_field fields[LS_GROK_MAX_FIELDS];
	const char *error;
	uint32_t n;
	ls_str regex;

	arena = ls_arena_create(NULL, 64 * 1024 * 1024);
	event_arena = ls_arena_create(NULL, 16 * 1024 * 1024);
	test_presets();
	test_touching();
	test_separators();
	test_escapes();
	test_cut();
	test_names();
	test_span_ids();
	test_inside();
	test_time();
	test_linear();
	test_closed();
	test_budget();
	test_grok();
	ok(!ls_grok_expand(LS_STR("%{A}"), itself, NULL, arena, &regex, fields, &n, &error), "a pattern of itself");
	return done_testing();
}
