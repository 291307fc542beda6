/*-------------------------------------------------------------------------
 *
 * id_reply.c
 *	  The JSON that the endpoints of identity providers answer (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/id_token.h"

#include "src/access/id_json.h"

/* ---- members ---- */

static bool
read_member(ls_json *j, ls_id_member *member)
{
	ls_json_value value;

	if (member->found || !ls_json_peek(j, &member->type))
		return false;
	member->found = true;
	if (member->type == LS_JSON_OBJECT || member->type == LS_JSON_ARRAY)
		return ls_json_skip(j, &member->text);
	if (!ls_json_read(j, &value))
		return false;
	member->text = value.text;
	return true;
}

bool
ls_id_members(ls_str json, ls_arena *arena, ls_id_member *members, size_t n)
{
	ls_json j;
	ls_json_value value;
	ls_str name;

	ls_json_init(&j, json, arena, LS_ID_DEPTH);
	if (!ls_json_read(&j, &value) || value.type != LS_JSON_OBJECT)
		return false;
	while (ls_json_member(&j, &name))
	{
		size_t i = 0;
		ls_str raw;

		while (i < n && !ls_str_eq(name, ls_str_make(members[i].name, strlen(members[i].name))))
			i++;
		if (i < n ? !read_member(&j, &members[i]) : !ls_json_skip(&j, &raw))
			return false;
	}
	return j.error == NULL && ls_json_end(&j);
}

ls_str
ls_id_string(const ls_id_member *member)
{
	return member->found && member->type == LS_JSON_STRING ? member->text : LS_STR("");
}

/* ---- OpenID Connect ---- */

/* Is a string in an array? */
static bool
array_has(ls_str json, ls_arena *arena, ls_str wanted)
{
	ls_json j;
	ls_json_value value;

	ls_json_init(&j, json, arena, LS_ID_DEPTH);
	if (!ls_json_read(&j, &value) || value.type != LS_JSON_ARRAY)
		return false;
	while (ls_json_element(&j))
	{
		ls_json_type type;

		if (ls_json_peek(&j, &type) && type != LS_JSON_STRING)
		{
			if (!ls_json_skip(&j, &value.text))
				return false;
		}
		else if (!ls_json_read(&j, &value))
			return false;
		else if (ls_str_eq(value.text, wanted))
			return true;
	}
	return false;
}

bool
ls_id_read_discovery(ls_str json, ls_arena *arena, ls_id_discovery *out)
{
	ls_id_member m[] = {
		{"issuer"},   {"authorization_endpoint"}, {"token_endpoint"},
		{"jwks_uri"}, {"userinfo_endpoint"},      {"token_endpoint_auth_methods_supported"}};

	if (!ls_id_members(json, arena, m, 6))
		return false;
	out->issuer = ls_id_string(&m[0]);
	out->authorization_endpoint = ls_id_string(&m[1]);
	out->token_endpoint = ls_id_string(&m[2]);
	out->jwks_uri = ls_id_string(&m[3]);
	out->userinfo_endpoint = ls_id_string(&m[4]);
	out->secret_in_body = m[5].found && m[5].type == LS_JSON_ARRAY &&
						  !array_has(m[5].text, arena, LS_STR("client_secret_basic"));
	return out->issuer.len > 0 && out->authorization_endpoint.len > 0 &&
		   out->token_endpoint.len > 0 && out->jwks_uri.len > 0;
}

bool
ls_id_read_token(ls_str json, ls_arena *arena, ls_str *access_token, ls_str *id_token)
{
	ls_id_member m[] = {{"access_token"}, {"id_token"}};

	if (!ls_id_members(json, arena, m, 2))
		return false;
	*access_token = ls_id_string(&m[0]);
	*id_token = ls_id_string(&m[1]);
	return access_token->len > 0;
}

bool
ls_id_read_userinfo(ls_str json, ls_arena *arena, ls_id_person *person)
{
	ls_id_member m[] = {{"sub"}, {"email"}, {"email_verified"}, {"name"}};

	if (!ls_id_members(json, arena, m, 4) || !ls_str_eq(ls_id_string(&m[0]), person->subject))
		return false;
	person->email = ls_id_string(&m[1]);
	person->email_verified =
		m[2].found && (m[2].type == LS_JSON_TRUE || ls_str_eq(ls_id_string(&m[2]), LS_STR("true")));
	if (person->name.len == 0)
		person->name = ls_id_string(&m[3]);
	return true;
}

/* ---- the plain provider ---- */

bool
ls_id_read_user(ls_str json, ls_arena *arena, ls_id_person *person)
{
	ls_id_member m[] = {{"id"}, {"login"}, {"name"}};
	int64_t id;

	if (!ls_id_members(json, arena, m, 3) || !m[0].found || m[0].type != LS_JSON_NUMBER ||
		!ls_json_canonical_int(m[0].text, &id))
		return false;
	memset(person, 0, sizeof(*person));
	person->subject = m[0].text;
	person->name = ls_id_string(&m[2]);
	if (person->name.len == 0)
		person->name = ls_id_string(&m[1]);
	return true;
}

bool
ls_id_read_addresses(ls_str json, ls_arena *arena, ls_id_person *person)
{
	ls_json j;
	ls_json_value value;
	int best = 0; /* 3: primary and verified, 2: verified, 1: primary */

	ls_json_init(&j, json, arena, LS_ID_DEPTH);
	if (!ls_json_read(&j, &value) || value.type != LS_JSON_ARRAY)
		return false;
	while (ls_json_element(&j))
	{
		ls_id_member m[] = {{"email"}, {"primary"}, {"verified"}};
		int rank;
		ls_str raw;

		if (!ls_json_skip(&j, &raw) || !ls_id_members(raw, arena, m, 3))
			return false;
		rank = (m[2].found && m[2].type == LS_JSON_TRUE ? 2 : 0) +
			   (m[1].found && m[1].type == LS_JSON_TRUE ? 1 : 0);
		if (rank > best && ls_id_string(&m[0]).len > 0)
		{
			best = rank;
			person->email = ls_id_string(&m[0]);
			person->email_verified = rank >= 2;
		}
	}
	return j.error == NULL && ls_json_end(&j);
}
