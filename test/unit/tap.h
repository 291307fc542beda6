/* tap.h: TAP for unit tests in C.  Each test ends with `return done_testing();`. */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/base/pure.h"

/* How many times slower the processor is, where it is emulated: limits of time are so many times longer. */
#ifndef TEST_SLOWER
#define TEST_SLOWER 1
#endif

static int	tap_count = 0;
static int	tap_failed = 0;

static inline bool
ok(bool passed, const char *name)
{
	tap_count++;
	if (!passed)
		tap_failed++;
	printf("%sok %d - %s\n", passed ? "" : "not ", tap_count, name);
	fflush(stdout);
	return passed;
}

static inline bool
is_int(long long got, long long expected, const char *name)
{
	bool		passed = ok(got == expected, name);

	if (!passed)
		printf("#   got %lld, expected %lld\n", got, expected);
	return passed;
}

static inline bool
is_str(ls_str got, const char *expected, const char *name)
{
	bool		passed = ok(ls_str_eq(got, ls_str_make(expected, strlen(expected))), name);

	if (!passed)
		printf("#   got '%.*s', expected '%s'\n", (int) got.len, got.data, expected);
	return passed;
}

static inline int
done_testing(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed > 0;
}

#endif
