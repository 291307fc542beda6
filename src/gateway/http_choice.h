/*-------------------------------------------------------------------------
 *
 * http_choice.h
 *	  What a client asks to get of an answer: its type, its coding, or nothing
 *	  when it has it already (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_HTTP_CHOICE_H
#define LS_HTTP_CHOICE_H

#include "src/base/pure.h"

/*
 * The number of the offered media type (such as "text/csv") that the header Accept prefers: the
 * highest q, then the one that is named most exactly, then the one that is named first.  0 when the
 * header is empty or takes none of them: an answer of another type is better than none.
 */
extern int ls_http_choose_type(ls_str accept, const char *const *offers, int n);

typedef enum ls_http_coding
{
	LS_HTTP_PLAIN,     /* gzip is not wanted */
	LS_HTTP_GZIP,      /* gzip will do */
	LS_HTTP_GZIP_ONLY, /* gzip, and not the plain text (identity;q=0) */
} ls_http_coding;

/*
 * The weight that the header Accept-Encoding gives a coding such as "br": 0 (not wanted) to 1,000.
 * The plain text ("identity") that nothing names has -1: it will do if there is nothing else.
 */
extern int ls_http_coding_weight(ls_str accept_encoding, ls_str coding);

/* What the header Accept-Encoding says of gzip. */
extern ls_http_coding ls_http_choose_coding(ls_str accept_encoding);

/* Bytes of a tag, with its NUL. */
#define LS_HTTP_TAG_SIZE 37

/*
 * The tag of a body, as the header ETag has it.  It is weak, because compressed and plain answers
 * share it.
 */
extern void ls_http_make_tag(ls_str body, char tag[LS_HTTP_TAG_SIZE]);

/* Does the header If-None-Match name the tag (or *)? */
extern bool ls_http_tag_matches(ls_str if_none_match, const char *tag);

#endif /* LS_HTTP_CHOICE_H */
