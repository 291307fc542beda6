/*
 * splunk_fuzz.c: any bytes as events and raw lines of Splunk's HTTP Event Collector, and as one
 * document of Elasticsearch; any text as an error in Splunk's form.
 *
 * The first byte chooses the decoder and, through small limits, makes cuts and
 * rejections likely.  Of raw lines and documents the first line is query string or path.
 */
#include "test/fuzz/decode_fuzz.h"

static void
check_error(ls_str message, ls_arena *arena)
{
	ls_request request = {.route = LS_ROUTE_HEC};
	ls_response response = {.status = 400};
	ls_json j;
	ls_str raw;
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_wire_error_form_of (&request)(message, &buf, &response);
	require(!buf.failed);
	ls_json_init(&j, ls_str_make(buf.data, buf.len), arena, 4);
	require(ls_json_skip(&j, &raw) && ls_json_end(&j));
}

static ls_str
take_line(ls_str *body)
{
	const char *newline = memchr(body->data, '\n', body->len);
	size_t len = newline != NULL ? (size_t) (newline - body->data) : body->len;
	ls_str line = ls_str_make(body->data, len);

	len += newline != NULL;
	*body = ls_str_make(body->data + len, body->len - len);
	return line;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static decoding d;
	bool good;

	if (!begin_decoding(&d, data, size, size > 0 && (data[0] & 8) ? 0 : 4 * (size + 100000)))
		return 0;
	if (d.how & 1)
	{
		d.options.query = take_line(&d.body);
		good = ls_decode_splunk_raw(&d.options, d.body, &d.result);
	}
	else if (d.how & 2)
	{
		d.options.path = take_line(&d.body);
		good = ls_decode_document(&d.options, d.body, &d.result);
	}
	else
		good = ls_decode_splunk_events(&d.options, d.body, &d.result);
	check_result(&d, good);
	if (d.body.len < 10000 && ls_utf8_valid(d.body.data, d.body.len))
		check_error(d.body, d.options.arena);
	return end_decoding(&d);
}
