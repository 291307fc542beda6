/*-------------------------------------------------------------------------
 *
 * id_reply.c
 *	  The JSON that the endpoints of identity providers answer (pure).
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>

#include "src/identity/id_token.h"

const ls_json_node *
ls_id_object(ls_str json, ls_arena *arena)
{
	const ls_json_node *object = ls_document_read(json, LS_ID_DEPTH, arena);

	return ls_node_is(object, LS_JSON_OBJECT) ? object : NULL;
}

bool
ls_id_is_verified(const ls_json_node *claims)
{
	const ls_json_node *verified = ls_node_member(claims, "email_verified");

	/* Some providers write it as a string. */
	return ls_node_is(verified, LS_JSON_TRUE) ||
		   ls_str_eq(ls_node_string(verified), LS_STR("true"));
}

/* ---- OpenID Connect ---- */

/* Is a string in an array? */
static bool
array_has(const ls_json_node *array, ls_str wanted)
{
	for (size_t i = 0; i < ls_node_count(array); i++)
	{
		if (ls_str_eq(ls_node_string(ls_node_element(array, i)), wanted))
			return true;
	}
	return false;
}

bool
ls_id_read_discovery(ls_str json, ls_arena *arena, ls_id_discovery *out)
{
	const ls_json_node *document = ls_id_object(json, arena);
	const ls_json_node *methods = ls_node_member(document, "token_endpoint_auth_methods_supported");

	out->issuer = ls_node_member_string(document, "issuer");
	out->authorization_endpoint = ls_node_member_string(document, "authorization_endpoint");
	out->token_endpoint = ls_node_member_string(document, "token_endpoint");
	out->jwks_uri = ls_node_member_string(document, "jwks_uri");
	out->userinfo_endpoint = ls_node_member_string(document, "userinfo_endpoint");
	out->secret_in_body =
		ls_node_is(methods, LS_JSON_ARRAY) && !array_has(methods, LS_STR("client_secret_basic"));
	return out->issuer.len > 0 && out->authorization_endpoint.len > 0 &&
		   out->token_endpoint.len > 0 && out->jwks_uri.len > 0;
}

bool
ls_id_read_token(ls_str json, ls_arena *arena, ls_str *access_token, ls_str *id_token)
{
	const ls_json_node *answer = ls_id_object(json, arena);

	*access_token = ls_node_member_string(answer, "access_token");
	*id_token = ls_node_member_string(answer, "id_token");
	return access_token->len > 0;
}

bool
ls_id_read_userinfo(ls_str json, ls_arena *arena, ls_id_person *person)
{
	const ls_json_node *claims = ls_id_object(json, arena);

	if (claims == NULL || !ls_str_eq(ls_node_member_string(claims, "sub"), person->subject))
		return false;
	person->email = ls_node_member_string(claims, "email");
	person->email_verified = ls_id_is_verified(claims);
	if (person->name.len == 0)
		person->name = ls_node_member_string(claims, "name");
	return true;
}

/* ---- the plain provider ---- */

bool
ls_id_read_user(ls_str json, ls_arena *arena, ls_id_person *person)
{
	const ls_json_node *user = ls_id_object(json, arena);
	int64_t id;
	ls_buf subject;

	if (!ls_node_integer(ls_node_member(user, "id"), &id) || id <= 0)
		return false;
	ls_buf_init(&subject, arena);
	ls_buf_printf(&subject, "%" PRId64, id);
	memset(person, 0, sizeof(*person));
	person->subject = ls_str_make(subject.data, subject.len);
	person->name = ls_node_member_string(user, "name");
	if (person->name.len == 0)
		person->name = ls_node_member_string(user, "login");
	return !subject.failed;
}

bool
ls_id_read_addresses(ls_str json, ls_arena *arena, ls_id_person *person)
{
	const ls_json_node *list = ls_document_read(json, LS_ID_DEPTH, arena);
	int best = 0; /* 3: primary and verified, 2: verified, 1: primary */

	if (!ls_node_is(list, LS_JSON_ARRAY))
		return false;
	for (size_t i = 0; i < ls_node_count(list); i++)
	{
		const ls_json_node *one = ls_node_element(list, i);
		ls_str email = ls_node_member_string(one, "email");
		int rank = (ls_node_is(ls_node_member(one, "verified"), LS_JSON_TRUE) ? 2 : 0) +
				   (ls_node_is(ls_node_member(one, "primary"), LS_JSON_TRUE) ? 1 : 0);

		if (!ls_node_is(one, LS_JSON_OBJECT))
			return false;
		if (rank > best && email.len > 0)
		{
			best = rank;
			person->email = email;
			person->email_verified = rank >= 2;
		}
	}
	return true;
}
