/*
 * log_hub.h: reads labelled data sets as the loghub collection has them.
 *
 * FOLDER/Name/Name_2k.log is the rows, Name_2k.log_structured.csv beside it the
 * truth, with columns Content and EventId.
 */
#ifndef LOG_HUB_H
#define LOG_HUB_H

#include "test/unit/log_grammar.h"

static inline ls_str
log_hub_file(ls_arena *arena, const char *path)
{
	FILE *file = fopen(path, "rb");
	ls_buf buf;

	ls_buf_init(&buf, arena);
	if (file == NULL)
		return ls_str_make(NULL, 0);
	for (;;)
	{
		size_t n;

		if (!ls_buf_reserve(&buf, 1 << 16))
			break;
		n = fread(buf.data + buf.len, 1, 1 << 16, file);
		buf.len += n;
		if (n == 0)
			break;
	}
	fclose(file);
	return ls_str_make(buf.data, buf.len);
}

/* Takes one field off the rest; `last` tells the end of the record. */
static inline ls_str
log_hub_field(ls_arena *arena, ls_str *rest, bool *last)
{
	ls_buf out;
	const char *p = rest->data;
	const char *end = p + rest->len;
	bool quoted = p < end && *p == '"';

	ls_buf_init(&out, arena);
	p += quoted;
	while (p < end)
	{
		if (quoted && *p == '"')
		{
			if (p + 1 < end && p[1] == '"')
				p++;
			else
			{
				quoted = false;
				p++;
				continue;
			}
		}
		else if (!quoted && (*p == ',' || *p == '\n'))
			break;
		if (quoted || *p != '\r')
			ls_buf_char(&out, *p);
		p++;
	}
	*last = p >= end || *p == '\n';
	p += p < end;
	*rest = ls_str_make(p, (size_t) (end - p));
	return ls_str_make(out.data, out.len);
}

/* False when there is no such data set, or rows and truth do not agree. */
static inline bool
log_hub_read(ls_arena *arena, const char *folder, const char *name, log_rows *raw,
			 log_rows *content)
{
	char path[1000];
	ls_str lines;
	ls_str csv;
	ls_str *ids = ls_new_array(arena, ls_str, 100000);
	int content_column = -1;
	int id_column = -1;
	bool last = false;
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/%s/%s_2k.log", folder, name, name);
	lines = log_hub_file(arena, path);
	strncat(path, "_structured.csv", sizeof(path) - strlen(path) - 1);
	csv = log_hub_file(arena, path);
	if (lines.len == 0 || csv.len == 0)
		return false;
	*raw = (log_rows){.rows = ls_new_array(arena, ls_str, 100000),
					  .labels = ls_new_array(arena, int, 100000)};
	while (lines.len > 0 && raw->n < 100000)
	{
		ls_str line = log_cut(&lines, "\n");

		if (line.len > 0 && line.data[line.len - 1] == '\r')
			line.len--;
		raw->rows[raw->n++] = line;
		raw->bytes += line.len;
	}
	for (int i = 0; !last; i++)
	{
		ls_str field = log_hub_field(arena, &csv, &last);

		if (log_is(field, "Content"))
			content_column = i;
		else if (log_is(field, "EventId"))
			id_column = i;
	}
	*content = *raw;
	content->rows = ls_new_array(arena, ls_str, 100000);
	content->bytes = 0;
	while (csv.len > 0 && n < raw->n)
	{
		last = false;
		for (int i = 0; !last; i++)
		{
			ls_str field = log_hub_field(arena, &csv, &last);

			if (i == content_column)
			{
				content->rows[n] = field;
				content->bytes += field.len;
			}
			else if (i == id_column)
			{
				int k = 0;

				while (k < raw->nlabels && !ls_str_eq(ids[k], field))
					k++;
				if (k == raw->nlabels)
					ids[raw->nlabels++] = field;
				raw->labels[n] = k;
			}
		}
		n++;
	}
	content->nlabels = raw->nlabels;
	/* a shuffle must not move the labels of the other */
	content->labels = ls_arena_alloc(arena, n * sizeof(int));
	memcpy(content->labels, raw->labels, n * sizeof(int));
	return n == raw->n;
}

#endif
