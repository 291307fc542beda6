/*-------------------------------------------------------------------------
 *
 * protobuf.h
 *	  Protobuf's wire format, read in place (pure).
 *
 * A pull reader, not generated code: protobuf-c would build a tree with malloc
 * for every attribute.  Here a message is a view into the body, and texts stay
 * views until the sink copies them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PROTOBUF_H
#define LS_PROTOBUF_H

#include "src/base/pure.h"

/* The tag of a field: number and wire type. */
#define LS_VARINT(n) ((n) << 3)
#define LS_FIXED64(n) ((n) << 3 | 1)
#define LS_BYTES(n) ((n) << 3 | 2)

typedef struct ls_wire
{
	ls_str body;
	const char *error; /* NULL, or what was wrong */
	size_t offset;
} ls_wire;

typedef struct ls_wire_field
{
	uint64_t tag;
	uint64_t number; /* VARINT and fixed */
	ls_str bytes;    /* BYTES */
} ls_wire_field;

static inline bool
ls_wire_fail(ls_wire *w, const ls_reader *r, const char *error)
{
	if (w->error == NULL)
	{
		w->error = error;
		w->offset = (size_t) ((const char *) r->pos - w->body.data);
	}
	return false;
}

static inline ls_reader
ls_wire_message(ls_str bytes)
{
	return ls_reader_make(bytes.data, bytes.len);
}

/* The next field of a message; false at its end or when it is broken (w->error). */
static inline bool
ls_wire_next(ls_wire *w, ls_reader *r, ls_wire_field *field)
{
	if (r->pos >= r->end)
		return false;
	/* Most tags are one byte. */
	field->tag = *r->pos < 0x80 ? *r->pos++ : ls_read_varint(r);
	if (field->tag >> 3 == 0 || field->tag > UINT32_MAX)
		return ls_wire_fail(w, r, "expected a field");
	field->number = 0;
	field->bytes = LS_STR("");
	switch (field->tag & 7)
	{
		case 0:
			field->number = ls_read_varint(r);
			break;
		case 1:
			field->number = ls_read_u64(r);
			break;
		case 2:
			field->bytes = ls_read_lstr(r);
			break;
		case 5:
			field->number = ls_read_u32(r);
			break;
		default:
			return ls_wire_fail(w, r, "unknown wire type");
	}
	return r->failed ? ls_wire_fail(w, r, "a field is cut off") : true;
}

/* What was wrong, in words. */
static inline ls_str
ls_wire_message_of(const ls_wire *w, ls_arena *arena)
{
	ls_buf text;

	ls_buf_init(&text, arena);
	ls_buf_printf(&text, "invalid protobuf at byte %zu: %s", w->offset, w->error);
	return text.failed ? LS_STR("invalid protobuf") : ls_str_make(text.data, text.len);
}

#endif /* LS_PROTOBUF_H */
