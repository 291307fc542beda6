/*
 * breach_fuzz.c: any bytes as a password, a file of hashes and a range.  Reads
 * stay inside of the file and are few; a hash that is said to be found is there.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/identity/breach.h"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

typedef struct memory_file
{
	const char *data;
	size_t size;
	int reads;
} memory_file;

static int64_t
read_memory(void *context, uint64_t offset, char *buffer, size_t size)
{
	memory_file *f = context;

	CHECK(++f->reads <= 80 && size <= 192 && offset <= f->size && size <= f->size - offset);
	memcpy(buffer, f->data + offset, size);
	return (int64_t) size;
}

static bool
contains(const char *text, size_t size, const char *digits, size_t n)
{
	for (size_t i = 0; i + n <= size; i++)
	{
		if (strncasecmp(text + i, digits, n) == 0)
			return true;
	}
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;
	char hash[40];
	memory_file f;

	if (size < sizeof(hash))
		return 0;
	for (size_t i = 0; i < sizeof(hash); i++)
		hash[i] = "0123456789abcdef"[data[i] & 15];
	size -= sizeof(hash);
	text = malloc(size + (size == 0));
	memcpy(text, data + sizeof(hash), size);

	f = (memory_file){text, size, 0};
	if (ls_breach_search(read_memory, &f, size, hash) == LS_BREACH_FOUND)
		CHECK(contains(text, size, hash, 40));
	if (ls_breach_in_range(ls_str_make(text, size), hash) == LS_BREACH_FOUND)
		CHECK(contains(text, size, hash, 35));
	(void) ls_breach_is_common(ls_str_make(text, size));
	free(text);
	return 0;
}
