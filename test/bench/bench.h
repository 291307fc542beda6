/*
 * bench.h: what benchmarks of pure code share.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/pure.h"

/* Ends the benchmark, whose figures would be those of something else. */
static inline void
check(bool condition, const char *what)
{
	if (!condition)
	{
		fprintf(stderr, "benchmark: %s\n", what);
		exit(1);
	}
}

/* Processor time of this process. */
static inline double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* An ls_part_fetch of a body in memory, an ls_str. */
static inline bool
fetch_body(void *context, uint64_t offset, size_t length, void *to)
{
	const ls_str *body = context;

	if (offset > body->len || length > body->len - offset)
		return false;
	memcpy(to, body->data + offset, length);
	return true;
}

#endif /* BENCH_H */
