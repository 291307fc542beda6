/*-------------------------------------------------------------------------
 *
 * node_memory.c
 *	  How much memory this machine, or this container, has.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include <unistd.h>

#include "storage/fd.h"

/* A number in a file; PG_UINT64_MAX: there is none ("max", or no such file). */
static uint64
number_in(const char *path)
{
	FILE *file = AllocateFile(path, "r");
	char line[64] = "";
	char *end;
	uint64 number;

	if (file == NULL)
		return PG_UINT64_MAX;
	if (fgets(line, sizeof(line), file) == NULL)
		line[0] = '\0';
	FreeFile(file);
	number = strtou64(line, &end, 10);
	return end == line || number == 0 ? PG_UINT64_MAX : number;
}

/* The limits of the control group and of those it is in; version 2. */
static uint64
group_limit(void)
{
	FILE *file = AllocateFile("/proc/self/cgroup", "r");
	uint64 limit = PG_UINT64_MAX;
	char line[MAXPGPATH];

	if (file == NULL)
		return limit;
	while (fgets(line, sizeof(line), file) != NULL)
	{
		char *end = strchr(line, '\n');

		if (end == NULL || strncmp(line, "0::/", 4) != 0)
			continue;
		for (*end = '\0'; end > line + 3; end = strrchr(line + 3, '/'))
		{
			*end = '\0';
			limit = Min(limit, number_in(psprintf("/sys/fs/cgroup%s/memory.max", line + 3)));
		}
	}
	FreeFile(file);
	return limit;
}

uint64
ls_node_memory(void)
{
	static uint64 memory = 0;

	if (memory == 0)
	{
		long pages = sysconf(_SC_PHYS_PAGES);
		uint64 size = pages <= 0 ? PG_UINT64_MAX : (uint64) pages * (uint64) sysconf(_SC_PAGESIZE);

		size = Min(size, group_limit());
		/* Within a container, and version 1. */
		size = Min(size, number_in("/sys/fs/cgroup/memory.max"));
		memory = Min(size, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
	}
	return memory;
}
