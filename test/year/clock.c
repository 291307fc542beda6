/*
 * clock.c: a preloaded library that sets the clock of a server ahead.
 *
 * The file CLOCK_FILE holds the seconds, an int64, by which the clock is ahead.  It is mapped, so
 * all processes of a server see a change at once, without reading.  Clocks that only
 * measure time (CLOCK_MONOTONIC) go on as they are.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *ahead;

__attribute__((constructor)) static void
map_clock(void)
{
	const char *name = getenv("CLOCK_FILE");
	int file = name != NULL ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *map = file >= 0 ? mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;

	if (map == MAP_FAILED)
		_exit(126);
	ahead = map;
	close(file);
}

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	int result = (int) syscall(SYS_clock_gettime, clock, t);

	/* Before this library's constructor runs, others may ask. */
	if (result == 0 && ahead != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += *ahead;
	return result;
}

int
gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void) zone;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (t != NULL)
		*t = now.tv_sec;
	return now.tv_sec;
}
