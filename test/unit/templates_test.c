/*
 * templates_test.c: texts as templates and what differs (part_templates.c,
 * part_expand.c).
 *
 *	templates_test		the tests
 *	templates_test FOLDER	seeds of test/fuzz/templates_fuzz.c
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/part/part_impl.h"
#include "test/unit/tap.h"

static ls_arena *arena;
static ls_part_templater *templater;
static uint64_t state = 88172645463325252;

static uint32_t
draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t) ((state >> 32) * n >> 32);
}

static ls_str
text(const char *format, ...)
{
	char buffer[2000];
	va_list args;

	va_start(args, format);
	vsnprintf(buffer, sizeof(buffer), format, args);
	va_end(args);
	return ls_arena_strdup(arena, ls_str_make(buffer, strlen(buffer)));
}

/* The payload of n texts; empty when they do not become templates. */
static ls_str
encode(const ls_str *values, uint32_t n)
{
	ls_buf out;
	size_t packed;

	ls_buf_init(&out, arena);
	if (!ls_part_templates_encode(templater, values, n, &out, &packed))
		return LS_STR("");
	return packed > out.len ? LS_STR("") : ls_str_make(out.data, out.len);
}

static bool
decode(ls_str payload, const ls_str *values, uint32_t n)
{
	/* A copy of its own, so that sanitizers see what is read behind it. */
	char *bytes = malloc(payload.len);
	const uint32_t *offsets;
	const char *data;
	ls_reader r;
	bool same;

	if (payload.len > 0)
		memcpy(bytes, payload.data, payload.len);
	r = ls_reader_make(bytes, payload.len);
	same = ls_part_text_decode(&r, n, arena, &offsets, &data) && r.pos == r.end;
	/* The same, one by one. */
	if (payload.len > 0 && bytes[0] == LS_TEXTS_TEMPLATES)
	{
		static uint32_t lengths[LS_PART_BLOCK_ROWS];
		ls_text_templates templates;
		bool read;

		r = ls_reader_make(bytes + 1, payload.len - 1);
		read = ls_part_templates_read(&r, n, arena, &templates) && r.pos == r.end;
		same = same && read;
		if (read)
			read = ls_part_templates_lengths(&templates, n, lengths);
		for (uint32_t i = 0; read && i < n; i++)
		{
			uint32_t v = n - 1 - i;
			ls_str one = LS_STR("");
			bool made = ls_part_templates_text(&templates, v, arena, &one);

			same = same && made && templates.numbers[v] < templates.n &&
				   lengths[v] == ls_utf8_length(one.data, one.len) &&
				   ls_str_eq(one, ls_str_make(data + offsets[v], offsets[v + 1] - offsets[v]));
		}
	}
	for (uint32_t i = 0; same && values != NULL && i < n; i++)
		same = ls_str_eq(ls_str_make(data + offsets[i], offsets[i + 1] - offsets[i]), values[i]);
	free(bytes);
	return same;
}

/* ---- kinds of lines ---- */

static ls_str
make_line(int kind, uint32_t i)
{
	uint64_t any = (uint64_t) draw(UINT32_MAX) << 32 | draw(UINT32_MAX);

	switch (kind)
	{
		case 0: /* random numbers of all lengths */
			return text("took %u ms, %llu bytes", draw(1u << draw(31)),
						(unsigned long long) any >> draw(60));
		case 1: /* zeros in front */
			return text("order %05u of %03u at %019llu", draw(100000), draw(1000),
						(unsigned long long) any % UINT64_C(1000000000000000000));
		case 2:
			return text("[instance: %08x-%04x-%04x-%04x-%012llx] up", draw(UINT32_MAX), draw(65536),
						draw(65536), draw(65536), (unsigned long long) any & 0xFFFFFFFFFFFF);
		case 3: /* steps, and one of few */
			return text("seq %u status %u via 10.0.%u.%u", 4000000 + i * 3 + draw(2),
						draw(4) * 101 + 200, draw(4), draw(256));
		case 4: /* some zeros in front, of different lengths */
			return text("%0*u of %s", 1 + (int) draw(4), draw(2000), draw(2) ? "a" : "b");
		case 5:
			return text("blk_%s%llu sha256:%016llx%016llx%08x", draw(2) ? "-" : "",
						(unsigned long long) any, (unsigned long long) any,
						(unsigned long long) any * 77, draw(UINT32_MAX));
		case 6: /* longer than a number can be */
			return text("%llu%llu%llu%llu and %x", (unsigned long long) any,
						(unsigned long long) any * 3, (unsigned long long) any * 5,
						(unsigned long long) any * 7, draw(UINT32_MAX));
		case 7: /* nothing is like another */
			return text("%c%c%c%c%c%c \xc3\xa9 %u", 'g' + draw(20), 'g' + draw(20), 'g' + draw(20),
						'g' + draw(20), 'g' + draw(20), 'g' + draw(20), draw(9));
		case 8: /* what stands for a variable inside */
			return text("a\x01%u", draw(9));
		case 9:
			return LS_STR("");
		case 10:
			return text("face %u", draw(1000));
		case 11: /* a variable that never differs */
			return LS_STR("HTTP/1.1 200 0123456789abcdef 7");
		case 12: /* more variables than a template has */
			return text(
				"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 "
				"29 30 31 32 33 34 35 36 37 38 39 40 %u",
				draw(100));
		default: /* the most */
			return text("%u.%u.%u.%u.%u.%u.%u.%u.%u.%u.%u.%u.%u.%u.%u.%u.%u.%u.%u.%u", draw(9),
						draw(90), draw(900), draw(9), draw(90), draw(900), draw(9), draw(90),
						draw(900), draw(9), draw(90), draw(900), draw(9), draw(90), draw(900),
						draw(9), draw(90), draw(900), draw(9), draw(90));
	}
}

#define KINDS 14

static void
test_kinds(void)
{
	static const uint32_t sizes[] = {8, 9, 100, 4096};
	bool all = true;
	int templates = 0;

	for (int kind = 0; kind < KINDS; kind++)
	{
		for (int s = 0; s < 4; s++)
		{
			ls_str *values = ls_new_array(arena, ls_str, sizes[s]);
			ls_str payload;

			for (uint32_t i = 0; i < sizes[s]; i++)
				values[i] = make_line(draw(5) == 0 ? (int) draw(KINDS) : kind, i);
			payload = encode(values, sizes[s]);
			if (payload.len > 0 && !decode(payload, values, sizes[s]))
			{
				all = false;
				printf("# kind %d, %u rows\n", kind, sizes[s]);
			}
			templates += payload.len > 0;
		}
		ls_arena_reset(arena);
		templater = ls_part_templater_create(arena);
	}
	ok(all, "all kinds of lines come back as they were");
	ok(templates >= 20, "most of those that can be templates are");
}

/* Texts of few characters, where everything that can be cut is. */
static uint32_t
count_templates(ls_str payload)
{
	ls_reader r = ls_reader_make(payload.data, payload.len);

	if (ls_read_u8(&r) != LS_TEXTS_TEMPLATES)
		return 0;
	ls_read_varint(&r);
	return (uint32_t) ls_read_varint(&r);
}

/* What is a variable, wherever it is in a text. */
static void
test_cut(void)
{
	static const char *const words[] = {"face", "dead", "beef", "cafe"};
	bool parts = true;
	bool alone = true;
	bool inside = true;

	for (int before = 0; before < 40; before++)
	{
		ls_str ids[64];
		ls_str names[64];
		ls_str numbers[64];

		for (uint32_t i = 0; i < 64; i++)
		{
			ids[i] =
				text("%.*s %08x-%s-%s-%04x", before, "zyxwvutsrqponmlkjihgzyxwvutsrqponmlkjihg",
					 0x10000000u + draw(1000), words[draw(4)], words[draw(4)], draw(65536));
			names[i] = text("%.*s %s-%s %u", before, "zyxwvutsrqponmlkjihgzyxwvutsrqponmlkjihg",
							words[i % 4], words[i % 4], draw(1000));
			numbers[i] = text("%.*s%s%u", before, "zyxwvutsrqponmlkjihgzyxwvutsrqponmlkjihg",
							  i % 2 ? "abc" : "def", draw(1000));
		}
		parts = parts && count_templates(encode(ids, 64)) == 1;
		alone = alone && count_templates(encode(names, 64)) == 4;
		inside = inside && count_templates(encode(numbers, 64)) == 2;
	}
	ok(parts, "parts of an id with dashes are variables, those with letters only too");
	ok(alone, "hexadecimal letters without a digit are none elsewhere");
	ok(inside, "of short runs with letters and digits, the digits are");
}

static void
test_random(void)
{
	static const char characters[] = "00129af--. x\x01";
	bool all = true;
	int templates = 0;

	for (int round = 0; round < 600; round++)
	{
		uint32_t n = 1 + draw(60);
		uint32_t different = 1 + draw(4);
		ls_str *values = LS_PART_ARRAY(arena, ls_str, n);
		char patterns[4][30];
		ls_str payload;

		for (uint32_t i = 0; i < different; i++)
		{
			uint32_t len = draw(29);

			for (uint32_t k = 0; k < len; k++)
				patterns[i][k] = characters[draw(sizeof(characters) - (draw(50) > 0 ? 2 : 1))];
			patterns[i][len] = '\0';
		}
		for (uint32_t i = 0; i < n; i++)
		{
			char *line = (char *) text("%s", patterns[draw(different)]).data;

			for (char *c = line; *c != '\0'; c++)
			{
				if (*c >= '0' && *c <= '9' && draw(3) > 0)
					*c = (char) ('0' + draw(10));
				else if (*c >= 'a' && *c <= 'f' && draw(3) > 0)
					*c = (char) ('a' + draw(6));
			}
			values[i] = ls_str_make(line, strlen(line));
		}
		payload = encode(values, n);
		if (payload.len > 0)
		{
			templates++;
			all = decode(payload, values, n) && all;
		}
		ls_arena_reset(arena);
		templater = ls_part_templater_create(arena);
	}
	ok(all, "random texts come back as they were");
	ok(templates > 60, "many of them as templates");
}

/* Whatever byte is changed or missing: refused, or texts; sanitizers look on. */
static void
test_damage(void)
{
	ls_str values[48];
	ls_str payload;
	uint32_t refused = 0;
	char *copy;

	for (uint32_t i = 0; i < 48; i++)
		values[i] = make_line(i % 4 == 3 && i > 40 ? 7 : (int) (i % 4), i);
	payload = encode(values, 48);
	if (!ok(payload.len > 100, "lines to damage"))
		return;
	copy = malloc(payload.len);
	for (size_t at = 0; at < payload.len; at++)
	{
		for (int bit = 0; bit < 8; bit++)
		{
			memcpy(copy, payload.data, payload.len);
			copy[at] = (char) (copy[at] ^ 1 << bit);
			refused += !decode(ls_str_make(copy, payload.len), NULL, 48);
		}
	}
	ok(refused > payload.len, "many changes are found out, none does harm");
	refused = 0;
	for (size_t len = 0; len < payload.len; len++)
		refused += !decode(ls_str_make(payload.data, len), NULL, 48);
	is_int(refused, (long long) payload.len, "a payload that is cut off is refused");
	free(copy);
	ok(!decode(payload, NULL, 47) && !decode(payload, NULL, 49), "and another number of rows");
}

/* A line that costs 80 bytes costs little more than its digits hold. */
static void
test_size(void)
{
	ls_str values[4096];
	ls_part_compressor *compressor = ls_part_compressor_create(arena);
	uint64_t *scratch = ls_new_array(arena, uint64_t, 4096);
	ls_buf plain;
	ls_buf templates;
	ls_buf body;
	size_t packed;
	uint32_t plain_size;

	for (uint32_t i = 0; i < 4096; i++)
		values[i] =
			text("Received block blk_%018llu of size 67108864 from /10.250.%03u.%03u",
				 (unsigned long long) draw(UINT32_MAX) * draw(200000000), draw(1000), draw(1000));
	ls_buf_init(&plain, arena);
	ls_buf_init(&templates, arena);
	ls_buf_init(&body, arena);
	ls_part_text_encode(&plain, values, 4096, false, scratch);
	ok(ls_part_templates_encode(templater, values, 4096, &templates, &packed), "lines of a shape");
	plain_size = ls_part_frame_write(compressor, LS_CODEC_MERGED,
									 ls_str_make(plain.data, plain.len), 0, &body);
	ok(ls_part_frame_write(compressor, LS_CODEC_MERGED, ls_str_make(templates.data, templates.len),
						   packed, &body) < plain_size * 3 / 4,
	   "take three quarters of what they take plain, at most");
}

/* CPU time of 4,096 lines that differ in a word of eight letters before `end`, the least of three.
 * */
static clock_t
time_lines(const char *end)
{
	ls_str *values = ls_new_array(arena, ls_str, 4096);
	clock_t least = 0;

	for (uint32_t i = 0; i < 4096; i++)
	{
		char word[9] = "gggggggg";

		for (uint32_t k = 0, left = i; k < 8; k++, left /= 8)
			word[k] = (char) ('g' + left % 8);
		values[i] = text("xNOGklpzTRzytIRl%s%s", word, end);
	}
	for (int round = 0; round < 3; round++)
	{
		clock_t begin = clock();

		(void) encode(values, 4096);
		if (round == 0 || clock() - begin < least)
			least = clock() - begin;
	}
	return least;
}

/* The first lines all have the same ls_hash64 of seed 0: who sends lines can see to that. */
static void
test_collisions(void)
{
	clock_t same = time_lines("SonupWzr");
	clock_t others = time_lines("SonupWzs");

	ok(same < 10 * others + CLOCKS_PER_SEC / 100,
	   "lines made to collide take no longer than others");
}

/* The example of docs/part-format.md. */
static void
test_document(void)
{
	char *document = ls_arena_alloc0(arena, 1 << 20);
	FILE *file = fopen("docs/part-format.md", "rb");
	ls_str values[10];
	ls_str written;
	ls_buf bytes;
	const char *pos;

	if (!ok(file != NULL && fread(document, 1, (1 << 20) - 1, file) > 0, "docs/part-format.md"))
		return;
	fclose(file);
	ls_buf_init(&bytes, arena);
	pos = strstr(document, "```hex templates");
	for (pos = pos == NULL ? "```" : strchr(pos, '\n') + 1; strncmp(pos, "```", 3) != 0;
		 pos = strchr(pos, '\n') + 1)
	{
		const char *c = pos;
		unsigned byte;
		int length;

		for (; *c != '#' && sscanf(c, "%2x%n", &byte, &length) == 1; c += length)
			ls_buf_char(&bytes, (char) byte);
	}
	for (uint32_t i = 0; i < 9; i++)
		values[i] = text("job %.2s took %u ms", &"314159265358979323"[2 * i], i * i * 100 + i);
	values[9] = LS_STR("stopped");
	written = encode(values, 10);
	ok(decode(ls_str_make(bytes.data, bytes.len), values, 10), "the example can be read");
	if (!ok(ls_str_eq(written, ls_str_make(bytes.data, bytes.len)), "and is what is written today"))
	{
		for (size_t i = 0; i < written.len; i++)
			printf("%s%02x", i % 16 == 0 ? "\n# " : " ", (uint8_t) written.data[i]);
		printf("\n");
	}
}

static int
write_seeds(const char *folder)
{
	for (int kind = 0; kind < KINDS; kind++)
	{
		ls_str values[24];
		ls_str payload;
		char path[1000];
		FILE *file;

		for (uint32_t i = 0; i < 24; i++)
			values[i] = make_line(i > 20 ? 7 : i > 10 ? (kind + 1) % KINDS : kind, i);
		payload = encode(values, 24);
		if (payload.len == 0)
			continue;
		snprintf(path, sizeof(path), "%s/kind-%d", folder, kind);
		file = fopen(path, "wb");
		if (file == NULL)
			return 1;
		fputc(24, file);
		fputc(0, file);
		fwrite(payload.data, 1, payload.len, file);
		fclose(file);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	arena = ls_arena_create(NULL, 0);
	templater = ls_part_templater_create(arena);
	if (argc > 1)
		return write_seeds(argv[1]);
	test_kinds();
	test_cut();
	test_random();
	test_damage();
	test_size();
	test_collisions();
	test_document();
	ls_arena_destroy(arena);
	return done_testing();
}
