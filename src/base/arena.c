/*-------------------------------------------------------------------------
 *
 * arena.c
 *	  Bump allocation with a limit, and growing buffers in it.
 *
 * Small blocks are carved from chunks; a block of more than 16 kB gets a chunk of its own, so that
 * growing it can give the old one back.  Chunks grow with the arena, from 64 kB to 8 MB: the
 * system then needs to be asked less often, and can give huge pages.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ARENA_CHUNK 65536
#define ARENA_LAST_CHUNK (8 * 1024 * 1024)
#define ARENA_LARGE (ARENA_CHUNK / 4)
#define ARENA_ALIGN(n) (((n) + 15) & ~(uintptr_t) 15)

typedef struct arena_chunk
{
	struct arena_chunk *next;
	struct arena_chunk **back; /* the pointer that points to this chunk */
	void *raw;                 /* what the source gave: aligned as it pleased */
	size_t size;               /* usable bytes */
	size_t used;
	_Alignas(16) char data[];
} arena_chunk;

struct ls_arena
{
	ls_arena_source source;
	size_t limit;
	size_t used;
	bool failed;
	arena_chunk *small; /* the first one is being filled */
	arena_chunk *large;
};

static void *
default_alloc(void *context, size_t size)
{
	(void) context;
	return malloc(size);
}

static void
default_free(void *context, void *chunk)
{
	(void) context;
	free(chunk);
}

ls_arena *
ls_arena_create(const ls_arena_source *source, size_t limit)
{
	ls_arena_source from = {default_alloc, default_free, NULL};
	ls_arena *arena;

	if (source != NULL && source->alloc != NULL)
		from = *source;
	arena = from.alloc(from.context, sizeof(ls_arena));
	if (arena == NULL)
		return NULL;
	memset(arena, 0, sizeof(ls_arena));
	arena->source = from;
	arena->limit = limit;
	return arena;
}

static arena_chunk *
add_chunk(ls_arena *arena, arena_chunk **list, size_t size)
{
	arena_chunk *chunk;
	void *raw = NULL;

	if (size <= SIZE_MAX - sizeof(arena_chunk) - 15)
		raw = arena->source.alloc(arena->source.context, sizeof(arena_chunk) + 15 + size);
	if (raw == NULL)
	{
		arena->failed = true;
		return NULL;
	}
	chunk = (arena_chunk *) ARENA_ALIGN((uintptr_t) raw);
	chunk->raw = raw;
	chunk->size = size;
	chunk->used = 0;
	chunk->next = *list;
	chunk->back = list;
	if (chunk->next != NULL)
		chunk->next->back = &chunk->next;
	*list = chunk;
	return chunk;
}

static void
drop_chunk(ls_arena *arena, arena_chunk *chunk)
{
	*chunk->back = chunk->next;
	if (chunk->next != NULL)
		chunk->next->back = chunk->back;
	arena->source.free(arena->source.context, chunk->raw);
}

/* Counts `size` against the limit. */
static bool
take(ls_arena *arena, size_t size)
{
	if (arena->limit != 0 && (size > arena->limit || arena->used > arena->limit - size))
	{
		arena->failed = true;
		return false;
	}
	arena->used += size;
	return true;
}

/* A quarter of what is there, so that at most that is in vain. */
static size_t
next_chunk(const ls_arena *arena)
{
	size_t size = arena->used / 4;

	if (size < ARENA_CHUNK)
		return ARENA_CHUNK;
	return size < ARENA_LAST_CHUNK ? size : ARENA_LAST_CHUNK;
}

void *
ls_arena_alloc(ls_arena *arena, size_t size)
{
	arena_chunk *chunk;
	size_t need;

	if (size > SIZE_MAX - 15)
	{
		arena->failed = true;
		return NULL;
	}
	need = ARENA_ALIGN(size == 0 ? 1 : size);
	if (!take(arena, need))
		return NULL;

	if (need > ARENA_LARGE)
	{
		chunk = add_chunk(arena, &arena->large, need);
		if (chunk == NULL)
			return NULL;
		chunk->used = need;
		return chunk->data;
	}

	chunk = arena->small;
	if (chunk == NULL || chunk->size - chunk->used < need)
	{
		chunk = add_chunk(arena, &arena->small, next_chunk(arena));
		if (chunk == NULL)
			return NULL;
	}
	chunk->used += need;
	return chunk->data + chunk->used - need;
}

void *
ls_arena_alloc0(ls_arena *arena, size_t size)
{
	void *block = ls_arena_alloc(arena, size);

	if (block != NULL)
		memset(block, 0, size);
	return block;
}

void *
ls_arena_grow(ls_arena *arena, void *block, size_t old_size, size_t size)
{
	size_t old_need = ARENA_ALIGN(old_size == 0 ? 1 : old_size);
	void *grown;

	if (block != NULL && size <= old_need)
		return block;

	/* The last small block of the chunk being filled can grow in place. */
	if (block != NULL && old_need <= ARENA_LARGE && arena->small != NULL &&
		(char *) block + old_need == arena->small->data + arena->small->used && size <= ARENA_LARGE)
	{
		size_t extra = ARENA_ALIGN(size) - old_need;

		if (arena->small->size - arena->small->used >= extra)
		{
			if (!take(arena, extra))
				return NULL;
			arena->small->used += extra;
			return block;
		}
	}

	grown = ls_arena_alloc(arena, size);
	if (grown == NULL || block == NULL)
		return grown;
	memcpy(grown, block, old_size);
	ls_arena_drop(arena, block, old_size);
	return grown;
}

void
ls_arena_drop(ls_arena *arena, void *block, size_t size)
{
	size_t need = ARENA_ALIGN(size == 0 ? 1 : size);

	if (need <= ARENA_LARGE)
		return;
	drop_chunk(arena, (arena_chunk *) ((char *) block - offsetof(arena_chunk, data)));
	arena->used -= need;
}

ls_str
ls_arena_strdup(ls_arena *arena, ls_str s)
{
	char *copy = ls_arena_alloc(arena, s.len + 1);

	if (copy == NULL)
		return ls_str_make(NULL, 0);
	if (s.len > 0)
		memcpy(copy, s.data, s.len);
	copy[s.len] = '\0';
	return ls_str_make(copy, s.len);
}

bool
ls_arena_failed(const ls_arena *arena)
{
	return arena->failed;
}

size_t
ls_arena_used(const ls_arena *arena)
{
	return arena->used;
}

void
ls_arena_reset(ls_arena *arena)
{
	while (arena->large != NULL)
		drop_chunk(arena, arena->large);
	while (arena->small != NULL && arena->small->next != NULL)
		drop_chunk(arena, arena->small);
	if (arena->small != NULL)
		arena->small->used = 0;
	arena->used = 0;
	arena->failed = false;
}

void
ls_arena_destroy(ls_arena *arena)
{
	if (arena == NULL)
		return;
	while (arena->large != NULL)
		drop_chunk(arena, arena->large);
	while (arena->small != NULL)
		drop_chunk(arena, arena->small);
	arena->source.free(arena->source.context, arena);
}

/* ---- buffers ---- */

void
ls_buf_init(ls_buf *buf, ls_arena *arena)
{
	memset(buf, 0, sizeof(ls_buf));
	buf->arena = arena;
}

bool
ls_buf_reserve(ls_buf *buf, size_t extra)
{
	size_t wanted;
	char *grown;

	if (buf->failed)
		return false;
	if (extra <= buf->capacity - buf->len)
		return true;
	if (extra > SIZE_MAX / 2 - buf->len)
	{
		buf->failed = true;
		return false;
	}
	wanted = buf->capacity < 64 ? 64 : buf->capacity;
	while (wanted < buf->len + extra)
		wanted *= 2;
	grown = ls_arena_grow(buf->arena, buf->data, buf->capacity, wanted);
	if (grown == NULL)
	{
		buf->failed = true;
		return false;
	}
	buf->data = grown;
	buf->capacity = wanted;
	return true;
}

void
ls_buf_append(ls_buf *buf, const void *data, size_t len)
{
	if (len == 0 || !ls_buf_reserve(buf, len))
		return;
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
}

void
ls_buf_printf(ls_buf *buf, const char *format, ...)
{
	va_list args;
	size_t room;
	int n;

	/* It is mostly a number: there is room for that. */
	if (!ls_buf_reserve(buf, 32))
		return;
	room = buf->capacity - buf->len;
	va_start(args, format);
	n = vsnprintf(buf->data + buf->len, room, format, args);
	va_end(args);
	if (n >= 0 && (size_t) n >= room && ls_buf_reserve(buf, (size_t) n + 1))
	{
		va_start(args, format);
		vsnprintf(buf->data + buf->len, (size_t) n + 1, format, args);
		va_end(args);
	}
	buf->failed = buf->failed || n < 0;
	if (!buf->failed)
		buf->len += (size_t) n;
}
