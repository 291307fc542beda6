/*-------------------------------------------------------------------------
 *
 * frame.c
 *	  Requests and responses as bytes (pure).
 *
 * The fields of a request are listed once, in request_fields, so that writing
 * and reading cannot disagree.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ipc/frame.h"

#define FRAME_MAGIC 0x4C53

static const size_t request_fields[] = {
	offsetof(ls_request, path),
	offsetof(ls_request, parameter),
	offsetof(ls_request, query),
	offsetof(ls_request, request_id),
	offsetof(ls_request, remote),
	offsetof(ls_request, authorization),
	offsetof(ls_request, api_key),
	offsetof(ls_request, cookie),
	offsetof(ls_request, organization),
	offsetof(ls_request, origin),
	offsetof(ls_request, content_type),
	offsetof(ls_request, content_encoding),
	offsetof(ls_request, user_agent),
	offsetof(ls_request, forwarded_for),
	offsetof(ls_request, if_match),
	offsetof(ls_request, idempotency_key),
	offsetof(ls_request, last_event_id),
	offsetof(ls_request, index),
	offsetof(ls_request, parse),
	offsetof(ls_request, accept),
	offsetof(ls_request, accept_encoding),
	offsetof(ls_request, if_none_match),
	offsetof(ls_request, body),
	offsetof(ls_request, carried),
	offsetof(ls_request, rpc_id),
};

#define REQUEST_FIELDS (sizeof(request_fields) / sizeof(request_fields[0]))

static void
write_prefix(ls_buf *buf, ls_frame_kind kind, uint64_t id)
{
	ls_buf_u16(buf, FRAME_MAGIC);
	ls_buf_u16(buf, (uint16_t) kind);
	ls_buf_u64(buf, id);
}

void
ls_response_header(ls_response *response, ls_str name, ls_str value)
{
	if (response->n_headers < LS_RESPONSE_HEADERS)
		response->headers[response->n_headers++] = (ls_header){name, value};
}

void
ls_frame_write_request(ls_buf *buf, const ls_request *request)
{
	write_prefix(buf, LS_FRAME_REQUEST, request->id);
	ls_buf_u32(buf, request->route);
	ls_buf_u32(buf, request->flags);
	ls_buf_u64(buf, (uint64_t) request->received_at);
	for (size_t i = 0; i < REQUEST_FIELDS; i++)
	{
		ls_str text;

		memcpy(&text, (const char *) request + request_fields[i], sizeof(text));
		ls_buf_lstr(buf, text);
	}
}

size_t
ls_frame_request_size(const ls_request *request)
{
	size_t size = 64; /* more than the numbers */

	for (size_t i = 0; i < REQUEST_FIELDS; i++)
	{
		ls_str text;

		memcpy(&text, (const char *) request + request_fields[i], sizeof(text));
		size += 10 + text.len; /* the longest varint */
	}
	return size;
}

void
ls_frame_write_response(ls_buf *buf, const ls_response *response)
{
	write_prefix(buf, LS_FRAME_RESPONSE, response->id);
	ls_buf_u16(buf, (uint16_t) response->status);
	ls_buf_u32(buf, response->flags);
	ls_buf_u64(buf, response->tenant);
	ls_buf_u32(buf, response->cost);
	ls_buf_u16(buf, (uint16_t) response->n_headers);
	for (int i = 0; i < response->n_headers; i++)
	{
		ls_buf_lstr(buf, response->headers[i].name);
		ls_buf_lstr(buf, response->headers[i].value);
	}
	ls_buf_lstr(buf, response->content_type);
	ls_buf_lstr(buf, response->body);
}

void
ls_frame_write_cancel(ls_buf *buf, uint64_t request_id)
{
	write_prefix(buf, LS_FRAME_CANCEL, request_id);
}

bool
ls_frame_parse(ls_str frame, ls_frame_kind *kind, ls_request *request, ls_response *response)
{
	ls_reader r = ls_reader_make(frame.data, frame.len);
	uint16_t magic = ls_read_u16(&r);
	uint16_t which = ls_read_u16(&r);
	uint64_t id = ls_read_u64(&r);

	if (r.failed || magic != FRAME_MAGIC)
		return false;
	*kind = (ls_frame_kind) which;
	switch (which)
	{
		case LS_FRAME_REQUEST:
			memset(request, 0, sizeof(*request));
			request->id = id;
			request->route = ls_read_u32(&r);
			request->flags = ls_read_u32(&r);
			request->received_at = (ls_time) ls_read_u64(&r);
			for (size_t i = 0; i < REQUEST_FIELDS; i++)
			{
				ls_str text = ls_read_lstr(&r);

				memcpy((char *) request + request_fields[i], &text, sizeof(text));
			}
			break;
		case LS_FRAME_RESPONSE:
		{
			int n;

			memset(response, 0, sizeof(*response));
			response->id = id;
			response->status = ls_read_u16(&r);
			response->flags = ls_read_u32(&r);
			response->tenant = ls_read_u64(&r);
			response->cost = ls_read_u32(&r);
			n = ls_read_u16(&r);
			if (n > LS_RESPONSE_HEADERS)
				return false;
			for (int i = 0; i < n; i++)
			{
				response->headers[i].name = ls_read_lstr(&r);
				response->headers[i].value = ls_read_lstr(&r);
			}
			response->n_headers = n;
			response->content_type = ls_read_lstr(&r);
			response->body = ls_read_lstr(&r);
			break;
		}
		case LS_FRAME_CANCEL:
			request->id = id;
			break;
		default:
			return false;
	}
	return !r.failed && r.pos == r.end;
}

static bool
is_type(ls_str value, const char *type)
{
	size_t len = strlen(type);

	return value.len >= len &&
		   ls_str_eq_nocase(ls_str_make(value.data, len), ls_str_make(type, len)) &&
		   (value.len == len || value.data[len] == ';' || value.data[len] == ' ');
}

bool
ls_request_is_type(const ls_request *request, const char *type)
{
	return is_type(request->content_type, type);
}

bool
ls_request_is_json(const ls_request *request)
{
	return request->content_type.len == 0 || is_type(request->content_type, "application/json") ||
		   is_type(request->content_type, "application/x-www-form-urlencoded");
}

bool
ls_request_is_csv(const ls_request *request)
{
	return is_type(request->content_type, "text/csv");
}

bool
ls_request_is_encoded(const ls_request *request)
{
	return request->content_encoding.len > 0 && !is_type(request->content_encoding, "identity");
}
