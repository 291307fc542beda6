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
 * The value of the cookie with this name in a Cookie header (RFC 6265, 5.4).
 * False if it is missing, is not printable ASCII, or occurs twice with different
 * values, because one of them is somebody else's.
 */
extern bool ls_cookie_find(ls_str header, ls_str name, ls_str *value);

/*
 * Is an Origin header the origin of one of the URLs in a comma-separated list?
 * Compares scheme, host and port; "null" and invalid origins never match.
 */
extern bool ls_origin_in_list(ls_str origin, ls_str urls);

/*
 * The same for the origin of a URL to which a browser will be sent.  A URL that browsers may read
 * differently (with backslashes, blanks, control characters or a user name) never matches.
 */
extern bool ls_url_in_list(ls_str url, ls_str urls);

/*
 * May secrets be sent to that URL: https, or http to this machine?  *local: it is this machine.
 */
extern bool ls_url_callable(ls_str url, bool *local);

#endif /* LS_BROWSER_H */
