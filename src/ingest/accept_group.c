/*-------------------------------------------------------------------------
 *
 * accept_group.c
 *	  The part builders of a group of requests, by sender.
 *
 * Builders are reused from commit to commit: a new one costs more than the
 * events of a small request.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/accept.h"

#include "utils/memutils.h"

/*
 * A builder that has grown beyond the first is given back after the commit, and so are
 * all that together would keep more than the second.  Each that was ever open keeps a chunk
 * of its arena, 64 kB.
 */
#define BUILDER_KEEP (8 * 1024 * 1024)
#define BUILDERS_KEEP (64 * 1024 * 1024)

static open_part *
take_builder(ls_accept *accept)
{
	open_part *part = accept->pool;

	if (part != NULL)
	{
		accept->pool = part->next;
		accept->pooled -= part->used;
		part->used = 0;
	}
	else
	{
		part = MemoryContextAllocZero(TopMemoryContext, sizeof(open_part));
		part->arena = ls_context_arena(TopMemoryContext, 512 * 1024 * 1024);
	}
	if (part->builder == NULL)
		part->builder = ls_part_builder_create(part->arena);
	if (part->builder == NULL)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	part->next = NULL;
	return part;
}

static void
give_builder(ls_accept *accept, open_part *part)
{
	size_t used = ls_arena_used(part->arena);

	accept->n_memory -= part->used;
	if (used > BUILDER_KEEP || accept->pooled + used > BUILDERS_KEEP)
	{
		ls_arena_reset(part->arena);
		part->builder = NULL;
	}
	else
		ls_part_builder_reset(part->builder);
	part->used = ls_arena_used(part->arena);
	accept->pooled += part->used;
	part->next = accept->pool;
	accept->pool = part;
}

void
ls_accept_count_memory(ls_accept *accept, sender_group *group)
{
	for (open_part *part = group->first; part != NULL; part = part->next)
	{
		size_t used = ls_arena_used(part->arena);

		accept->n_memory += used - part->used;
		part->used = used;
	}
}

sender_group *
ls_accept_find_group(ls_accept *accept, const ls_sender *sender, bool deferred)
{
	sender_group *group;

	for (int i = 0; i < accept->n_groups; i++)
	{
		group = &accept->groups[i];
		if (group->deferred == deferred && group->sender.test == sender->test &&
			memcmp(&group->sender.organization, &sender->organization, sizeof(pg_uuid_t)) == 0)
			return group;
	}
	group = &accept->groups[accept->n_groups++];
	memset(group, 0, sizeof(*group));
	group->sender = *sender;
	group->deferred = deferred;
	group->first = group->last = take_builder(accept);
	return group;
}

open_part *
ls_accept_add_builder(ls_accept *accept, sender_group *group)
{
	open_part *part = take_builder(accept);

	group->last->next = part;
	group->last = part;
	return part;
}

static void
give_builders(ls_accept *accept, open_part *part)
{
	while (part != NULL)
	{
		open_part *next = part->next;

		give_builder(accept, part);
		part = next;
	}
}

void
ls_accept_drop_builders(ls_accept *accept, sender_group *group, open_part *last)
{
	open_part *dropped = last->next;

	last->next = NULL;
	group->last = last;
	give_builders(accept, dropped);
}

void
ls_accept_forget_groups(ls_accept *accept)
{
	for (int i = 0; i < accept->n_groups; i++)
		give_builders(accept, accept->groups[i].first);
	accept->n_groups = 0;
}
