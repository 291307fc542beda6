/*-------------------------------------------------------------------------
 *
 * part_body.c
 *	  The body of a part: slices of a bytea.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/part_body.h"

#include "access/detoast.h"

void
ls_body_init(ls_body *body, Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	body->datum = datum;
	body->plain = NULL;
	body->plain_len = 0;
	if (!VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value))
	{
		body->plain = VARDATA_ANY(value);
		body->plain_len = VARSIZE_ANY_EXHDR(value);
	}
}

/*
 * A failed read of TOAST raises, which is safe here: pure code above us holds
 * arenas of a memory context only.
 */
bool
ls_body_fetch(void *context, uint64_t offset, size_t length, void *to)
{
	ls_body *body = context;
	struct varlena *slice;
	bool whole;

	if (body->plain != NULL)
	{
		if (offset > body->plain_len || length > body->plain_len - offset)
			return false;
		memcpy(to, body->plain + offset, length);
		return true;
	}
	if (offset > INT32_MAX || length > INT32_MAX - offset)
		return false;
	slice = detoast_attr_slice((struct varlena *) DatumGetPointer(body->datum), (int32) offset,
							   (int32) length);
	whole = VARSIZE_ANY_EXHDR(slice) == length;
	if (whole)
		memcpy(to, VARDATA_ANY(slice), length);
	pfree(slice);
	return whole;
}
