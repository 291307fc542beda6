/*-------------------------------------------------------------------------
 *
 * status_board.c
 *	  The documents of the public status, in shared memory.
 *
 * The gateway runs no SQL, and everybody may ask for the status: so it has the answer already.  It
 * keeps a copy, and takes another one only when the prober has shown something new.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/status_board.h"

#include "utils/timestamp.h"

#include "src/gateway/http_choice.h"

#define MAX_DOCUMENT 65536
#define MAX_POLICY 512

/* Older documents tell nothing: the prober shows one each minute. */
#define MAX_AGE 300000 /* ms */

typedef struct board
{
	uint64 version; /* 0: nothing was shown */
	TimestampTz at;
	size_t lengths[2];
	size_t policy_length;
	char documents[2][MAX_DOCUMENT];
	char policy[MAX_POLICY];
} board;

static board *shared = NULL;
static const ls_shmem_item item = {"logsvc status", sizeof(board), (void **) &shared, NULL};

void
ls_status_board_register(void)
{
	ls_shmem_add(&item);
}

bool
ls_status_board_show(ls_str json, ls_str page, ls_str policy)
{
	if (json.len > MAX_DOCUMENT || page.len > MAX_DOCUMENT || policy.len > MAX_POLICY)
		return false;
	LWLockAcquire(ls_lwlock(LS_LOCK_STATUS), LW_EXCLUSIVE);
	memcpy(shared->documents[0], json.data, json.len);
	memcpy(shared->documents[1], page.data, page.len);
	memcpy(shared->policy, policy.data, policy.len);
	shared->lengths[0] = json.len;
	shared->lengths[1] = page.len;
	shared->policy_length = policy.len;
	shared->at = GetCurrentTimestamp();
	shared->version++;
	LWLockRelease(ls_lwlock(LS_LOCK_STATUS));
	return true;
}

bool
ls_status_board_read(bool page, ls_status_document *document)
{
	static board copy;
	static char tags[2][LS_HTTP_TAG_SIZE];

	LWLockAcquire(ls_lwlock(LS_LOCK_STATUS), LW_SHARED);
	if (copy.version != shared->version)
	{
		copy = *shared;
		for (int i = 0; i < 2; i++)
			ls_http_make_tag(ls_str_make(copy.documents[i], copy.lengths[i]), tags[i]);
	}
	LWLockRelease(ls_lwlock(LS_LOCK_STATUS));
	if (copy.version == 0 || TimestampDifferenceExceeds(copy.at, GetCurrentTimestamp(), MAX_AGE))
		return false;
	document->body = ls_str_make(copy.documents[page], copy.lengths[page]);
	document->policy = ls_str_make(copy.policy, copy.policy_length);
	document->tag = tags[page];
	return true;
}
