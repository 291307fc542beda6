/*-------------------------------------------------------------------------
 *
 * browser.h
 *	  What browsers send with a session: cookies and origins (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_BROWSER_H
#define LS_BROWSER_H

#include "src/base/pure.h"

/*
 * The value of the cookie of that name in a Cookie header (RFC 6265, 5.4):
 * true when it is there, with a value of printable ASCII.  Two of that name
 * with different values are none: one of them is somebody else's.
 */
extern bool ls_cookie_find(ls_str header, ls_str name, ls_str *value);

/*
 * Is an Origin header that of one of the URLs in a comma-separated list?  What
 * counts is scheme, host and port; "null" and invalid origins never are.
 */
extern bool ls_origin_in_list(ls_str origin, ls_str urls);

/*
 * The same of the origin of a URL to which a browser is to be sent.  What browsers read in ways of
 * their own (backslashes, blanks, control characters, user names) is in no list.
 */
extern bool ls_url_in_list(ls_str url, ls_str urls);

/*
 * May secrets be sent to that URL: https, or http to this machine?  *local: it is this machine.
 */
extern bool ls_url_callable(ls_str url, bool *local);

#endif /* LS_BROWSER_H */
