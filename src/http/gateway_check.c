/*-------------------------------------------------------------------------
 *
 * gateway_check.c
 *	  Is MHD's reading of a request header the only possible one?
 *
 * MHD 0.9.75 accepts bare LF, folded lines and NUL, and a NUL hides the rest
 * of its line.  But MHD parses in place, and tells where: the request line at
 * `method`, the size of the header, and each name and value.  In a clean header
 * these pieces lie one behind the other with exactly ": " and CR LF between
 * them (overwritten with NULs by the parser).  So the pieces are laid end to
 * end: a byte that MHD passed over shows as a gap.  Nothing is copied; the walk
 * is the one that collects the headers anyway.
 *
 * One thing it cannot see: NUL LF in the place of CR LF, because MHD writes
 * NULs over both.  The first header of a plain connection is judged on its raw
 * bytes (see ls_connection_gate), later ones and those of TLS only here.
 *
 * MHD 1.0 refuses all that by itself (client discipline level 1, gateway.c), so
 * the pieces are not laid out there.
 *
 *-------------------------------------------------------------------------
 */
#include "src/http/gateway_internal.h"

typedef struct walk
{
	ls_connection *c;
	const char *at; /* where the next field must begin */
	bool gap;
} walk;

static ls_str *
wanted_field(ls_request *request, ls_str name)
{
	switch (name.len)
	{
		case 6:
			if (ls_str_eq_nocase(name, LS_STR("Cookie")))
				return &request->cookie;
			if (ls_str_eq_nocase(name, LS_STR("Origin")))
				return &request->origin;
			break;
		case 8:
			if (ls_str_eq_nocase(name, LS_STR("If-Match")))
				return &request->if_match;
			break;
		case 9:
			if (ls_str_eq_nocase(name, LS_STR("X-API-Key")))
				return &request->api_key;
			break;
		case 10:
			if (ls_str_eq_nocase(name, LS_STR("User-Agent")))
				return &request->user_agent;
			break;
		case 12:
			if (ls_str_eq_nocase(name, LS_STR("Content-Type")))
				return &request->content_type;
			if (ls_str_eq_nocase(name, LS_STR("X-Request-Id")))
				return &request->request_id;
			break;
		case 13:
			if (ls_str_eq_nocase(name, LS_STR("Authorization")))
				return &request->authorization;
			if (ls_str_eq_nocase(name, LS_STR("Last-Event-ID")))
				return &request->last_event_id;
			break;
		case 14:
			if (ls_str_eq_nocase(name, LS_STR("X-Logsvc-Index")))
				return &request->index;
			break;
		case 15:
			if (ls_str_eq_nocase(name, LS_STR("X-Forwarded-For")))
				return &request->forwarded_for;
			if (ls_str_eq_nocase(name, LS_STR("Idempotency-Key")))
				return &request->idempotency_key;
			break;
		case 16:
			if (ls_str_eq_nocase(name, LS_STR("Content-Encoding")))
				return &request->content_encoding;
			break;
		case 17:
			if (ls_str_eq_nocase(name, LS_STR("X-Organization-Id")))
				return &request->organization;
			break;
		default:
			break;
	}
	return NULL;
}

/* Fields that decide who asks must not come twice: which one counts? */
static bool
is_single(const ls_request *request, const ls_str *field)
{
	return field == &request->authorization || field == &request->api_key ||
		   field == &request->organization || field == &request->cookie ||
		   field == &request->origin;
}

static enum MHD_Result
take_field(void *context, enum MHD_ValueKind kind, const char *name, size_t name_size,
		   const char *value, size_t value_size)
{
	walk *w = context;
	ls_http_check *check = &w->c->check;
	ls_str text;
	ls_str *field;

	(void) kind;
	if (value == NULL)
		value_size = 0;
#if MHD_VERSION < 0x01000000
	if (name != w->at || value == NULL)
		w->gap = true;
	else
	{
		const char *at = name + name_size + 1; /* behind the colon */

		while (*at == ' ' || *at == '\t')
			at++;
		if (at != value || value[value_size] != '\0' || value[value_size + 1] != '\0')
			w->gap = true;
		w->at = value + value_size + 2;
	}
	if (w->gap)
		return MHD_NO;
#endif
	text = ls_str_make(value, value_size);
	ls_http_check_field(check, ls_str_make(name, name_size), text);
	field = wanted_field(&w->c->request, ls_str_make(name, name_size));
	if (field != NULL)
	{
		text = ls_str_trim(text);
		/* Proxies append: of several lines the last is the nearest one's. */
		if (field->data == NULL || field == &w->c->request.forwarded_for)
			*field = text;
		else if (is_single(&w->c->request, field) && check->status == 0)
		{
			check->status = 400;
			check->problem = "A credential header was sent twice";
		}
	}
	return check->status == 0 ? MHD_YES : MHD_NO;
}

/* Collects the headers into c->request.  False with c->check.problem set. */
bool
ls_check_header(ls_connection *c, const char *method, const char *version)
{
	walk w = {.c = c, .at = version + 10, .gap = false};
#if MHD_VERSION < 0x01000000
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
#endif

	c->check.minor = strcmp(version, "HTTP/1.0") == 0 ? 0 : 1;
#if MHD_VERSION < 0x01000000
	if (c->target_place != method + strlen(method) + 1 ||
		version != c->target_place + c->target_len + 1 || version[8] != '\0' || version[9] != '\0')
		w.gap = true;
#endif
	if (!w.gap)
		MHD_get_connection_values_n(c->mhd, MHD_HEADER_KIND, take_field, &w);
#if MHD_VERSION < 0x01000000
	if (c->check.status == 0 && (w.gap || info == NULL || w.at[0] != '\0' || w.at[1] != '\0' ||
								 w.at + 2 != method + info->header_size))
	{
		c->check.status = 400;
		c->check.problem = "Malformed request header";
	}
#endif
	if (c->check.status == 0 && !ls_http_target_valid(ls_str_make(c->target, c->target_len)))
	{
		c->check.status = 400;
		c->check.problem = "Malformed request target";
	}
	return ls_http_check_end(&c->check);
}
