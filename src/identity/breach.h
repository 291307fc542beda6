/*-------------------------------------------------------------------------
 *
 * breach.h
 *	  Is a password one of those that everybody tries first? (pure)
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_BREACH_H
#define LS_BREACH_H

#include "src/base/pure.h"

typedef enum ls_breach_result
{
	LS_BREACH_ABSENT,
	LS_BREACH_FOUND,
	LS_BREACH_UNREADABLE /* the file is not what it should be */
} ls_breach_result;

/*
 * Is it a common password with digits and signs around it, perhaps with the usual
 * signs for letters, perhaps written several times?  Common are the words that
 * lead the published lists, with whatever is around them, and the 100,000
 * most used passwords, unless what is around them is worth seven random digits.
 * False positives: less than one in a million.  A millisecond or two at most.
 */
extern bool ls_breach_is_common(ls_str password);

/* Reads up to `size` bytes at an offset; the number read, or -1. */
typedef int64_t (*ls_breach_reader)(void *context, uint64_t offset, char *buffer, size_t size);

/*
 * Looks for a hash (40 hexadecimal digits) in a file of `file_size` bytes with
 * lines "SHA1:count", sorted by the hash, as the public corpus is published.
 * Reads at most 80 pieces of 192 bytes, whatever the file holds.  A count of 0
 * means absent.
 */
extern ls_breach_result ls_breach_search(ls_breach_reader read, void *context, uint64_t file_size,
										 const char hash[40]);

/*
 * Looks for the last 35 digits of a hash in the answer of a range service:
 * lines "SUFFIX:count" in any order; those with count 0 are padding.
 */
extern ls_breach_result ls_breach_in_range(ls_str answer, const char suffix[35]);

#endif /* LS_BREACH_H */
