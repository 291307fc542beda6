/*-------------------------------------------------------------------------
 *
 * event_id.c
 *	  The text form of event ids (pure).
 *
 * An id has 16 bytes, like the ids of all other resources: 8 for the batch number
 * and 4 for the place in the batch, both big-endian, and 4 zeros.  So ids sort as
 * texts in the same order as by number, and an event needs no random bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/event_id.h"

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void
ls_event_id_format(uint64_t batch, uint32_t place, char out[LS_EVENT_ID_LENGTH + 1])
{
	/* 128 bits in 26 digits of 5: the low half is the place and zeros. */
	uint64_t high = batch;
	uint64_t low = (uint64_t) place << 32;

	memcpy(out, "evt_", 4);
	for (int i = 25; i >= 0; i--)
	{
		out[4 + i] = digits[low & 31];
		low = low >> 5 | high << 59;
		high >>= 5;
	}
	out[LS_EVENT_ID_LENGTH] = '\0';
}

static int
digit_value(char c)
{
	const char *found;

	if (c >= 'a' && c <= 'z')
		c = (char) (c - 'a' + 'A');
	found = memchr(digits, c, 32);
	return found == NULL ? -1 : (int) (found - digits);
}

bool
ls_event_id_parse(ls_str text, uint64_t *batch, uint32_t *place)
{
	uint64_t high = 0;
	uint64_t low = 0;

	if (text.len != LS_EVENT_ID_LENGTH || memcmp(text.data, "evt_", 4) != 0)
		return false;
	for (int i = 4; i < LS_EVENT_ID_LENGTH; i++)
	{
		int v = digit_value(text.data[i]);

		/* 26 digits hold 130 bits: the first one has 3. */
		if (v < 0 || (i == 4 && v > 7))
			return false;
		high = high << 5 | low >> 59;
		low = low << 5 | (uint64_t) v;
	}
	if ((low & UINT32_MAX) != 0)
		return false;
	*batch = high;
	*place = (uint32_t) (low >> 32);
	return true;
}
