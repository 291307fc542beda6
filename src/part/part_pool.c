/*-------------------------------------------------------------------------
 *
 * part_pool.c
 *	  An arena inside an arena, with reused memory (pure).
 *
 * A reader decodes one block after the other and must not keep them all, but the
 * arena that it was given can only be freed as a whole.  So blocks live in an
 * arena of their own.  It gets its chunks from the given arena, and freed chunks
 * wait here for the next block.  Nothing has to be closed: when the given arena is
 * freed, even after an error in the caller, everything is.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

/* Four sizes per power of two, so rounding up wastes at most a quarter. */
#define POOL_CLASSES 128

typedef struct pool_chunk
{
	struct pool_chunk *next;
	uint32_t class;
	_Alignas(16) char data[];
} pool_chunk;

typedef struct part_pool
{
	ls_arena *parent;
	pool_chunk *free[POOL_CLASSES];
} part_pool;

/* The class of a size, and the size of that class. */
static uint32_t
class_of(size_t *size)
{
	unsigned top;
	size_t step;
	size_t rounded;

	if (*size < 256)
		*size = 256;
	top = 63 - (unsigned) __builtin_clzll(*size);
	step = (size_t) 1 << (top - 2);
	rounded = (*size + step - 1) & ~(step - 1);
	*size = rounded;
	top = 63 - (unsigned) __builtin_clzll(rounded);
	return (top - 8) * 4 + (uint32_t) ((rounded >> (top - 2)) & 3);
}

static void *
pool_alloc(void *context, size_t size)
{
	part_pool *pool = context;
	pool_chunk *chunk;
	uint32_t class;

	if (size > UINT32_MAX)
		return NULL;
	class = class_of(&size);
	chunk = pool->free[class];
	if (chunk != NULL)
	{
		pool->free[class] = chunk->next;
		return chunk->data;
	}
	chunk = ls_arena_alloc(pool->parent, sizeof(pool_chunk) + size);
	if (chunk == NULL)
		return NULL;
	chunk->class = class;
	return chunk->data;
}

static void
pool_free(void *context, void *data)
{
	part_pool *pool = context;
	pool_chunk *chunk = (pool_chunk *) ((char *) data - offsetof(pool_chunk, data));

	chunk->next = pool->free[chunk->class];
	pool->free[chunk->class] = chunk;
}

ls_arena *
ls_part_pool_arena(ls_arena *parent)
{
	part_pool *pool = ls_new(parent, part_pool);
	ls_arena_source source = {pool_alloc, pool_free, pool};

	if (pool == NULL)
		return NULL;
	pool->parent = parent;
	return ls_arena_create(&source, 0);
}
