/*-------------------------------------------------------------------------
 *
 * errors.c
 *	  The error table, and errors on their way from SQL to a client.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include "utils/elog.h"
#include "utils/memutils.h"

const ls_error_info ls_error_table[LS_ERRORS] = {
#define LS_ERROR(name, sqlstate, status, code, message) {sqlstate, status, code, message},
#include "src/base/errors.def"
#undef LS_ERROR
};

int
ls_sqlstate(ls_error_id error)
{
	const char *s = ls_error_table[error].sqlstate;

	return MAKE_SQLSTATE(s[0], s[1], s[2], s[3], s[4]);
}

int
ls_errcode(ls_error_id error)
{
	/* Whoever catches the error puts the stack back. */
	if (ls_error_table[error].status < 500)
		error_context_stack = NULL;
	return ls_sqlstate(error);
}

/* The entry of a packed SQLSTATE; LS_ERROR_INTERNAL for one that is not ours. */
static ls_error_id
error_of_sqlstate(int sqlstate)
{
	for (int i = 0; i < LS_ERRORS; i++)
	{
		if (ls_sqlstate((ls_error_id) i) == sqlstate)
			return (ls_error_id) i;
	}
	return LS_ERROR_INTERNAL;
}

ls_error_id
ls_error_of_code(const char *code)
{
	for (int i = 0; i < LS_ERRORS; i++)
	{
		if (strcmp(ls_error_table[i].code, code) == 0)
			return (ls_error_id) i;
	}
	return LS_ERROR_INTERNAL;
}

/* A format without its values, but with the error of the operating system. */
static void
copy_format(char *to, const char *format, int os_error, size_t size)
{
	const char *place = strstr(format, "%m");

	if (place == NULL)
		strlcpy(to, format, size);
	else
		snprintf(to, size, "%.*s%s%s", (int) (place - format), format, strerror(os_error),
				 place + 2);
}

/* As strlcpy, but no character is cut in two: what is kept of an error may be stored. */
static void
copy_text(char *to, const char *text, size_t size)
{
	strlcpy(to, text, ls_utf8_prefix_bytes(text, strlen(text), size - 1) + 1);
}

void
ls_catch_error(MemoryContext context, ls_caught *caught)
{
	ErrorData *data;

	MemoryContextSwitchTo(context);
	data = CopyErrorData();
	FlushErrorState();

	memset(caught, 0, sizeof(*caught));
	caught->sqlstate = data->sqlerrcode;
	caught->id = error_of_sqlstate(data->sqlerrcode);
	if (data->message)
		copy_text(caught->message, data->message, sizeof(caught->message));
	/*
	 * Formats hold nothing of customers.  What a right is missing for is an object of ours; which file system
	 * is full, only the name of the file says.  "%s" says nothing: of ours there is the table, of SQL code
	 * no more than its SQLSTATE.
	 */
	if (data->message && (data->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE ||
						  data->sqlerrcode == ERRCODE_READ_ONLY_SQL_TRANSACTION ||
						  data->sqlerrcode == ERRCODE_DISK_FULL))
		copy_text(caught->format, data->message, sizeof(caught->format));
	else if (data->message_id && strcmp(data->message_id, "%s") != 0)
		copy_format(caught->format, data->message_id, data->saved_errno, sizeof(caught->format));
	else
		strlcpy(caught->format,
				caught->id == LS_ERROR_INTERNAL ? "an error of SQL code"
												: ls_error_table[caught->id].message,
				sizeof(caught->format));
	if (data->detail)
	{
		size_t len = strlen(data->detail);

		/* A JSON list that does not fit is dropped whole: half of it is none. */
		if (len < sizeof(caught->detail) || data->detail[0] != '[')
			copy_text(caught->detail, data->detail, sizeof(caught->detail));
	}
	if (data->hint)
		copy_text(caught->hint, data->hint, sizeof(caught->hint));
	FreeErrorData(data);
}

void
ls_error_body(ls_buf *buf, ls_error_id id, const char *message, const char *details)
{
	const ls_error_info *info = &ls_error_table[id];

	if (!ls_is_set(message) || id == LS_ERROR_INTERNAL)
		message = info->message;
	ls_buf_lit(buf, "{\"error\":");
	ls_json_quote(buf, ls_str_of_cstring(message));
	ls_buf_lit(buf, ",\"code\":");
	ls_json_quote(buf, ls_str_of_cstring(info->code));
	if (id == LS_ERROR_BODY_TOO_LARGE)
	{
		/* Clients of the body limit also know these two. */
		ls_buf_lit(buf, ",\"statusCode\":413,\"message\":");
		ls_json_quote(buf, ls_str_of_cstring(message));
	}
	if (details != NULL && details[0] == '[')
	{
		ls_buf_lit(buf, ",\"details\":");
		ls_buf_append(buf, details, strlen(details));
	}
	ls_buf_char(buf, '}');
}
