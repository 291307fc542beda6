/*-------------------------------------------------------------------------
 *
 * part_body.c
 *	  The body of a part: slices of a bytea.
 *
 * A body is written at once, so its chunks mostly follow each other in the TOAST table, four to a
 * page.  Where one of them is says where all others should be.  So a slice is read from the pages
 * where its chunks are expected, and by the TOAST index only if they are not there.  To descend
 * that index for each slice, and to visit its page and the chunk's for each 2 kB, was a third of a
 * search for one event.
 *
 * Places of some thousand bodies are remembered in the process.  They only say where to look: a
 * chunk counts if it has the number of the value, its own number and the right length, and nobody
 * removes the chunks of a row that a snapshot sees.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/part_body.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/toast_internals.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define CHUNKS_OF_PAGE EXTERN_TUPLES_PER_PAGE

/* A body whose chunks are elsewhere so often is read through the index only. */
#define MOST_MISSES 3

/* The place of chunk 0, in chunks from the start of the table. */
typedef struct known_place
{
	Oid table;
	Oid value; /* 0: free */
	int64 first;
} known_place;

#define KNOWN_PLACES 4096 /* a power of 2 */

static known_place known[KNOWN_PLACES];

static SnapshotData chunk_snapshot = {.snapshot_type = SNAPSHOT_TOAST};

void
ls_body_init(ls_body *body, Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;

	memset(body, 0, sizeof(*body));
	body->datum = datum;
	if (!VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value))
	{
		body->plain = VARDATA_ANY(value);
		body->plain_len = VARSIZE_ANY_EXHDR(value);
		return;
	}
	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	body->size = (uint32) VARATT_EXTERNAL_GET_EXTSIZE(pointer);
	body->stored = (int64) body->size + VARHDRSZ == pointer.va_rawsize; /* not compressed */
	body->table = pointer.va_toastrelid;
	body->value = pointer.va_valueid;
}

/* ---- chunks ---- */

/* A slice that is being read. */
typedef struct slice
{
	ls_body *body;
	Relation table;
	uint32 offset;
	uint32 length;
	uint32 next; /* chunk */
	uint32 last;
	char *to;
} slice;

static known_place *
place_of(const ls_body *body)
{
	return &known[(body->value * UINT32_C(0x9E3779B1) >> 8) & (KNOWN_PLACES - 1)];
}

static void
remember_place(const ls_body *body, uint32 chunk, ItemPointer at)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(at);

	if (offset <= CHUNKS_OF_PAGE)
		*place_of(body) = (known_place){body->table, body->value,
										(int64) ItemPointerGetBlockNumber(at) * CHUNKS_OF_PAGE +
											(offset - 1) - chunk};
}

/* Copies what the slice has of its next chunk; false: the tuple is not that chunk. */
static bool
take_chunk(slice *s, HeapTuple tuple)
{
	TupleDesc desc = RelationGetDescr(s->table);
	uint32 begin = s->next * TOAST_MAX_CHUNK_SIZE;
	uint32 size = Min(s->body->size - begin, TOAST_MAX_CHUNK_SIZE);
	uint32 from = Max(begin, s->offset);
	uint32 end = Min(begin + size, s->offset + s->length);
	struct varlena *chunk;
	Datum values[3];
	bool nulls[3];

	for (int i = 0; i < 3; i++)
		values[i] = fastgetattr(tuple, i + 1, desc, &nulls[i]);
	if (nulls[0] || nulls[1] || nulls[2] || DatumGetObjectId(values[0]) != s->body->value ||
		DatumGetInt32(values[1]) != (int32) s->next)
		return false;
	chunk = (struct varlena *) DatumGetPointer(values[2]);
	if (VARATT_IS_EXTERNAL(chunk) || VARATT_IS_COMPRESSED(chunk) ||
		VARSIZE_ANY_EXHDR(chunk) != size)
		return false;
	memcpy(s->to + (from - s->offset), VARDATA_ANY(chunk) + (from - begin), end - from);
	s->next++;
	return true;
}

/* Takes the chunks that are on a page from an item on, as far as they follow each other. */
static void
take_from_page(slice *s, BlockNumber block, OffsetNumber item)
{
	Buffer buffer = ReadBuffer(s->table, block);
	Page page;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	for (; item <= CHUNKS_OF_PAGE && s->next <= s->last; item++)
	{
		HeapTupleData tuple;
		ItemId id;

		if (PageIsNew(page) || item > PageGetMaxOffsetNumber(page))
			break;
		id = PageGetItemId(page, item);
		if (!ItemIdIsNormal(id))
			break;
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, id);
		tuple.t_len = ItemIdGetLength(id);
		tuple.t_tableOid = RelationGetRelid(s->table);
		ItemPointerSet(&tuple.t_self, block, item);
		if (!HeapTupleSatisfiesVisibility(&tuple, &chunk_snapshot, buffer) ||
			!take_chunk(s, &tuple))
			break;
	}
	UnlockReleaseBuffer(buffer);
}

/* Reads chunks where they are expected, up to the first one that is not there. */
static void
read_expected(slice *s)
{
	const known_place *place = place_of(s->body);
	BlockNumber blocks;

	if (place->table != s->body->table || place->value != s->body->value ||
		s->body->misses >= MOST_MISSES)
		return;
	/* A relation that is shorter than it was when the place was found has other chunks. */
	blocks = RelationGetNumberOfBlocks(s->table);
	while (s->next <= s->last)
	{
		int64 at = place->first + s->next;
		uint32 next = s->next;

		CHECK_FOR_INTERRUPTS();
		if (at >= 0 && at / CHUNKS_OF_PAGE < blocks)
			take_from_page(s, (BlockNumber) (at / CHUNKS_OF_PAGE),
						   (OffsetNumber) (at % CHUNKS_OF_PAGE + 1));
		if (s->next == next ||
			(s->next <= s->last && (place->first + s->next) % CHUNKS_OF_PAGE != 0))
		{
			s->body->misses++;
			return;
		}
	}
}

/* Reads the chunks that are left by the index; false: they are not as they must be. */
static bool
read_indexed(slice *s)
{
	Relation *indexes;
	int n_indexes;
	int valid = toast_open_indexes(s->table, AccessShareLock, &indexes, &n_indexes);
	SysScanDesc scan;
	ScanKeyData keys[3];
	HeapTuple tuple;
	bool right = true;

	ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(s->body->value));
	ScanKeyInit(&keys[1], 2, BTGreaterEqualStrategyNumber, F_INT4GE,
				Int32GetDatum((int32) s->next));
	ScanKeyInit(&keys[2], 2, BTLessEqualStrategyNumber, F_INT4LE, Int32GetDatum((int32) s->last));
	scan = systable_beginscan_ordered(s->table, indexes[valid], &chunk_snapshot, 3, keys);
	while (right && s->next <= s->last &&
		   (tuple = systable_getnext_ordered(scan, ForwardScanDirection)) != NULL)
	{
		uint32 chunk = s->next;

		right = take_chunk(s, tuple);
		if (right)
			remember_place(s->body, chunk, &tuple->t_self);
	}
	systable_endscan_ordered(scan);
	toast_close_indexes(indexes, n_indexes, AccessShareLock);
	return right && s->next > s->last;
}

/* False: read it as the server does, which also says what is wrong. */
static bool
read_chunks(ls_body *body, uint32 offset, uint32 length, void *to)
{
	slice s = {.body = body,
			   .offset = offset,
			   .length = length,
			   .next = offset / TOAST_MAX_CHUNK_SIZE,
			   .last = (offset + length - 1) / TOAST_MAX_CHUNK_SIZE,
			   .to = to};
	bool done;

	s.table = table_open(body->table, AccessShareLock);
	done = s.table->rd_tableam == GetHeapamTableAmRoutine();
	if (done)
	{
		read_expected(&s);
		done = s.next > s.last || read_indexed(&s);
	}
	table_close(s.table, AccessShareLock);
	return done;
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
	if (body->stored && length > 0 && offset + length <= body->size &&
		HaveRegisteredOrActiveSnapshot() && read_chunks(body, (uint32) offset, (uint32) length, to))
		return true;
	slice = detoast_attr_slice((struct varlena *) DatumGetPointer(body->datum), (int32) offset,
							   (int32) length);
	whole = VARSIZE_ANY_EXHDR(slice) == length;
	if (whole)
		memcpy(to, VARDATA_ANY(slice), length);
	pfree(slice);
	return whole;
}
