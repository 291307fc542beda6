/* decoded.h: what tests of decoders share: a sink that shows events as text. */
#ifndef DECODED_H
#define DECODED_H

#include "src/decode/wire_format.h"
#include "test/unit/tap.h"

#define NOW (INT64_C(1767225600) * LS_USECS_PER_SEC) /* 2026-01-01T00:00:00Z */

typedef bool (*decoder)(const ls_decode_options *, ls_str, ls_decode_result *);

static ls_arena *arena;
static ls_arena *scratch;
static ls_buf seen; /* the events as text, a line each */
static ls_decode_result result;

/* What an event holds, with spaces between; not the time when it is NOW, nor index main. */
static void
show_event(const ls_event *e)
{
	static const char *const names[] = {"event", "level",   "source", "service",
										"index", "traceId", "spanId", "cut"};
	static const char kinds[] = "sinb0j";
	char iso[LS_TIME_ISO_LENGTH + 1];
	const char *space = "";

	if (e->timestamp != NOW)
	{
		ls_time_format_iso(e->timestamp, iso);
		ls_buf_printf(&seen, "%s", iso);
		space = " ";
	}
	for (int f = 0; f < LS_NAMED_FIELDS; f++)
	{
		if ((e->has & 1u << f) == 0 ||
			(f == LS_FIELD_INDEX && ls_str_eq(e->field[f], LS_STR("main"))))
			continue;
		ls_buf_printf(&seen, "%s%s=%.*s", space, names[f], (int) e->field[f].len, e->field[f].data);
		space = " ";
	}
	for (size_t i = 0; i < e->n_attributes; i++)
	{
		const ls_attribute *a = &e->attributes[i];

		ls_buf_printf(&seen, "%s.%.*s=%c:", space, (int) a->key.len, a->key.data, kinds[a->kind]);
		if (a->kind == LS_KIND_INTEGER || a->kind == LS_KIND_BOOLEAN)
			ls_buf_printf(&seen, "%lld", (long long) a->integer);
		else
			ls_buf_str(&seen, a->text);
		space = " ";
	}
}

static void
forget(void *context)
{
	(void) context;
	seen.len = 0;
}

#endif
