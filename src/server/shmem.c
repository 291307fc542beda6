/*-------------------------------------------------------------------------
 *
 * shmem.c
 *	  Shared memory of all modules, requested and started from one list, and
 *	  memory helpers.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include <sys/mman.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#define MAX_ITEMS 32
#define TRANCHE "logsvc"

static const ls_shmem_item *items[MAX_ITEMS];
static int n_items = 0;
static LWLockPadded *locks = NULL;
static shmem_request_hook_type previous_request = NULL;
static shmem_startup_hook_type previous_startup = NULL;

void
ls_shmem_add(const ls_shmem_item *item)
{
	if (n_items >= MAX_ITEMS)
		elog(ERROR, "too many shared memory items");
	items[n_items++] = item;
}

static void
request(void)
{
	if (previous_request)
		previous_request();
	for (int i = 0; i < n_items; i++)
		RequestAddinShmemSpace(MAXALIGN(items[i]->size));
	RequestNamedLWLockTranche(TRANCHE, LS_LOCKS);
}

static void
startup(void)
{
	if (previous_startup)
		previous_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	locks = GetNamedLWLockTranche(TRANCHE);
	for (int i = 0; i < n_items; i++)
	{
		bool found;

		*items[i]->memory = ShmemInitStruct(items[i]->name, items[i]->size, &found);
		if (found)
			continue;
		memset(*items[i]->memory, 0, items[i]->size);
		if (items[i]->init != NULL)
			items[i]->init();
	}
	LWLockRelease(AddinShmemInitLock);
}

void
ls_shmem_register(void)
{
	previous_request = shmem_request_hook;
	shmem_request_hook = request;
	previous_startup = shmem_startup_hook;
	shmem_startup_hook = startup;
}

bool
ls_shmem_ready(void)
{
	return locks != NULL;
}

void
ls_require_shmem(void)
{
	if (!ls_shmem_ready())
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_NOT_PRELOADED)),
				errmsg("logsvc is not in shared_preload_libraries"),
				errhint("Add logsvc to shared_preload_libraries in postgresql.conf and restart "
						"the server."));
}

LWLock *
ls_lwlock(ls_lock lock)
{
	return &locks[lock].lock;
}

bool
ls_place_take(pg_atomic_uint32 *taken, uint32 most)
{
	uint32 old = pg_atomic_read_u32(taken);

	while (old < most)
	{
		if (pg_atomic_compare_exchange_u32(taken, &old, old + 1))
			return true;
	}
	return false;
}

/* ---- arenas in memory contexts ---- */

/* Bytes of a block from which on huge pages are asked for. */
#define HUGE_PAGES_FROM (4 * 1024 * 1024)

/*
 * Asks for huge pages, where the server's system gives them to who asks.  Blocks of this size are
 * hash tables and arrays that are filled: in random places, where most of the time would go to
 * page faults and to misses of the translation cache.
 */
static void
advise_huge_pages(char *block, size_t size)
{
#ifdef MADV_HUGEPAGE
	const uintptr_t page = 2 * 1024 * 1024;
	uintptr_t from = ((uintptr_t) block + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t) block + size) & ~(page - 1);

	/* It is only advice: kernels without huge pages refuse it. */
	if (from < to)
		(void) madvise((void *) from, to - from, MADV_HUGEPAGE);
#endif
}

static void *
context_alloc(void *context, size_t size)
{
	char *block = MemoryContextAllocExtended((MemoryContext) context, size,
											 MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);

	if (block != NULL && size >= HUGE_PAGES_FROM)
		advise_huge_pages(block, size);
	return block;
}

static void
context_free(void *context, void *chunk)
{
	pfree(chunk);
}

ls_arena *
ls_context_arena(MemoryContext context, size_t limit)
{
	ls_arena_source source = {context_alloc, context_free, context};
	ls_arena *arena = ls_arena_create(&source, limit);

	if (arena == NULL)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	return arena;
}

ls_str
ls_str_of_text(const struct varlena *text)
{
	return ls_str_make(VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
}

struct varlena *
ls_text_of_str(ls_str s)
{
	struct varlena *text;

	if (s.len > MaxAllocSize - VARHDRSZ - 1)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("the result is too large"));
	text = palloc(s.len + VARHDRSZ);

	SET_VARSIZE(text, s.len + VARHDRSZ);
	if (s.len > 0)
		memcpy(VARDATA(text), s.data, s.len);
	return text;
}

char *
ls_cstring_of_str(ls_str s)
{
	return pnstrdup(s.data == NULL ? "" : s.data, s.len);
}
