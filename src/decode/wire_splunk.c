/*-------------------------------------------------------------------------
 *
 * wire_splunk.c
 *	  The wire formats of Splunk's HTTP Event Collector: events and raw lines
 *	  (pure).
 *
 * Its clients know errors by a number and by statuses of its own: a full queue
 * is 503, an unknown token 403.  Splunk's texts are kept; what we have to say is
 * in `reason`.  A refusal that is about one event begins with "event N: ".
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/wire_format.h"

static void
write_rejected(const ls_wire_result *result, ls_buf *message)
{
	const ls_decode_result *decoded = result->decoded;
	const ls_decode_error *first = &decoded->errors[0];

	ls_buf_printf(message, "event %u: ", first->index);
	if (first->path.len > 0)
	{
		ls_buf_str(message, first->path);
		ls_buf_lit(message, ": ");
	}
	ls_buf_str(message, first->message);
	if (decoded->rejected > 1)
		ls_buf_printf(message, "; %u of %u events were rejected", decoded->rejected,
					  decoded->accepted + decoded->rejected);
	if (decoded->accepted > 0)
		ls_buf_lit(message, "; the others are stored");
}

static void
answer(const ls_wire_result *result, ls_buf *body, ls_response *response)
{
	const ls_decode_result *decoded = result->decoded;
	ls_buf message;

	response->status = 200;
	ls_wire_add_ignored(decoded, body->arena, response);
	if (decoded->rejected == 0)
	{
		ls_buf_lit(body, "{\"text\":\"Success\",\"code\":0}");
		return;
	}
	response->status = decoded->rejected_by_size == decoded->rejected ? 413 : 400;
	ls_buf_init(&message, body->arena);
	write_rejected(result, &message);
	/* On its way out it gets the form of an error of Splunk. */
	ls_buf_lit(body, "{\"error\":");
	ls_json_quote(body, ls_str_make(message.data, message.len));
	ls_buf_printf(body, ",\"code\":\"%s\"}", decoded->errors[0].code);
	body->failed = body->failed || message.failed;
}

/* ---- errors ---- */

typedef struct splunk_error
{
	const char *code; /* ours */
	const char *says; /* how the message goes on; "": in any way */
	int status;       /* Splunk's; 0: as ours */
	int number;
	const char *text;
} splunk_error;

static const splunk_error errors[] = {
	{"UNAUTHORIZED", "", 401, 2, "Token is required"},
	{"INVALID_API_KEY", "", 403, 4, "Invalid token"},
	{"INVALID_PAT", "", 403, 4, "Invalid token"},
	{"API_KEY_REVOKED", "", 403, 1, "Token disabled"},
	{"API_KEY_EXPIRED", "", 403, 1, "Token disabled"},
	{"PAT_REVOKED", "", 403, 1, "Token disabled"},
	{"PAT_EXPIRED", "", 403, 1, "Token disabled"},
	{"VALIDATION_ERROR", "no data: ", 400, 5, "No data"},
	{"VALIDATION_ERROR", "event: required: ", 400, 12, "Event field is required"},
	{"VALIDATION_ERROR", "event: must not be blank", 400, 13, "Event field cannot be blank"},
	{"VALIDATION_ERROR", "fields: ", 400, 15, "Error in handling indexed fields"},
	{"INDEX_NOT_FOUND", "", 400, 7, "Incorrect index"},
};

static bool
takes(ls_str *message, const char *start)
{
	size_t len = strlen(start);

	if (message->len < len || memcmp(message->data, start, len) != 0)
		return false;
	*message = ls_str_make(message->data + len, message->len - len);
	return true;
}

/* "event 7: " off the beginning of what is left of a message. */
static bool
takes_number(ls_str *message, uint32_t *number)
{
	ls_str rest = *message;
	size_t digits = 0;

	*number = 0;
	if (!takes(&rest, "event "))
		return false;
	for (; digits < rest.len && digits < 9 && rest.data[digits] >= '0' && rest.data[digits] <= '9';
		 digits++)
		*number = *number * 10 + (uint32_t) (rest.data[digits] - '0');
	rest = ls_str_make(rest.data + digits, rest.len - digits);
	if (digits == 0 || !takes(&rest, ": "))
		return false;
	*message = rest;
	return true;
}

/* What Splunk would say to a status for which there is no row above. */
static splunk_error
error_of_status(int status)
{
	if (status == 401)
		return (splunk_error){"", "", 401, 3, "Invalid authorization"};
	if (status == 403)
		return (splunk_error){"", "", 403, 4, "Invalid token"};
	if (status == 429 || status == 503)
		return (splunk_error){"", "", 503, 9, "Server is busy"};
	if (status >= 500)
		return (splunk_error){"", "", 0, 8, "Internal server error"};
	return (splunk_error){"", "", 0, 6, "Invalid data format"};
}

static void
refuse(ls_str message, ls_buf *body, ls_response *response)
{
	splunk_error error = error_of_status(response->status);
	ls_str rest = message;
	uint32_t number = 0;
	bool numbered;

	while (rest.len > 0 && rest.data[0] != ':')
		rest = ls_str_make(rest.data + 1, rest.len - 1);
	(void) takes(&rest, ": ");
	numbered = takes_number(&rest, &number);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
	{
		ls_str code = message;
		ls_str after = rest;

		if (takes(&code, errors[i].code) && takes(&code, ":") && takes(&after, errors[i].says))
		{
			error = errors[i];
			break;
		}
	}
	if (error.status != 0)
		response->status = error.status;
	ls_buf_printf(body, "{\"text\":\"%s\",\"code\":%d", error.text, error.number);
	if (numbered)
		ls_buf_printf(body, ",\"invalid-event-number\":%u", number);
	ls_buf_lit(body, ",\"reason\":");
	ls_json_quote(body, message);
	ls_buf_char(body, '}');
	response->content_type = LS_STR("application/json");
}

const ls_wire_format ls_wire_splunk_events = {.door = LS_DOOR_SPLUNK,
											  .decode = ls_decode_splunk_events,
											  .answer = answer,
											  .refuse = refuse,
											  .most_rejected = LS_MOST_REJECTED,
											  .item_by_item = true};

const ls_wire_format ls_wire_splunk_raw = {.door = LS_DOOR_SPLUNK,
										   .decode = ls_decode_splunk_raw,
										   .answer = answer,
										   .refuse = refuse,
										   .most_rejected = LS_MOST_REJECTED,
										   .item_by_item = true};
