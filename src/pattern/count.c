/*-------------------------------------------------------------------------
 *
 * count.c
 *	  Finds the words and symbols that are in more than one signature.
 *
 * Two signatures join only if they share words and have the same symbols
 * (including names of members).  A signature is lonely if most of its words, or a
 * symbol, are in no other signature (10,000 rows of unique words).  Steps that
 * compare signatures can skip it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/pattern_internal.h"

/* Variables say nothing, and punctuation is everywhere. */
static inline bool
is_counted(uint64_t code)
{
	unsigned kinds = 1U << TOKEN_SYMBOL | 1U << TOKEN_WORD | 1U << TOKEN_LEVEL;

	return (kinds >> CODE_KIND(code) & ((code & CODE_MASK) > 0xff)) != 0;
}

bool
ls_count_words(miner *m)
{
	uint64_t counters = 1024;
	size_t words = 0;

	for (size_t i = 0; i < m->nsignatures; i++)
	{
		const signature *s = &m->signatures[i];

		for (uint32_t t = s->body; t < s->ntokens; t++)
			words += is_counted(s->codes[t]);
	}
	while (counters < words * 8)
		counters *= 2;
	m->words.mask = counters - 1;
	m->words.bits = ls_new_array(m->arena, uint64_t, counters / 32);
	if (m->words.bits == NULL)
		return false;
	for (size_t i = 0; i < m->nsignatures; i++)
	{
		const signature *s = &m->signatures[i];

		for (uint32_t t = s->body; t < s->ntokens; t++)
		{
			uint64_t code = s->codes[t];

			if (is_counted(code))
			{
				uint64_t at = (code * UINT64_C(0x9e3779b97f4a7c15) >> 16) & m->words.mask;
				uint64_t *bits = &m->words.bits[at / 32];

				if ((*bits >> (at % 32 * 2) & 3) < 3)
					*bits += UINT64_C(1) << (at % 32 * 2);
			}
		}
	}
	return true;
}

bool
ls_is_lonely(const miner *m, const signature *s)
{
	uint32_t words = 0;
	uint32_t alone = 0;
	bool symbol = false;

	for (uint32_t t = s->body; t < s->ntokens; t++)
	{
		if (is_word(s->codes[t]))
		{
			words++;
			alone += is_unshared(m, s->codes[t]);
		}
		else if (!symbol && is_counted(s->codes[t]))
			symbol = is_unshared(m, s->codes[t]);
	}
	/* structured ones with the same message may differ in their members */
	if (symbol && (!s->structured || words < MIN_WORDS || alone > 0))
		return true;
	return (alone >= 2 || (alone == 1 && words <= MIN_WORDS)) &&
		   words - alone < m->options.sim_threshold * words;
}
