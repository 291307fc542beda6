/*-------------------------------------------------------------------------
 *
 * request_bytes.c
 *	  A checked request as bytes, for another process (pure).
 *
 * Both ends are the same binary, so the format has no version.  The reader checks
 * lengths and counts nevertheless, because the data came from a client.
 *
 *-------------------------------------------------------------------------
 */
#include "src/verdict/evaluation_core.h"

#define REQUEST_COMPRESS 1
#define REQUEST_PREVIEW 2
#define REQUEST_CITATIONS 4
#define REQUEST_QUERY 8

/* The longest varint of a length. */
#define LENGTH_BYTES 5

void
ls_evaluation_request_write(ls_buf *buf, const ls_evaluation_request *request)
{
	const ls_pattern_options *options = &request->options;
	size_t size = request->criteria.len + request->query.len + request->model.len + 128;
	uint64_t threshold;

	for (size_t i = 0; i < request->item_count; i++)
		size += request->items[i].id.len + request->items[i].description.len + 2 * LENGTH_BYTES;
	for (size_t i = 0; i < request->row_count; i++)
		size += request->rows[i].len + LENGTH_BYTES;
	if (!ls_buf_reserve(buf, size)) /* rows take megabytes: no growing by doubling */
		return;

	ls_buf_u16(buf, (uint16_t) ((request->compress ? REQUEST_COMPRESS : 0) |
								(request->preview ? REQUEST_PREVIEW : 0) |
								(request->citations ? REQUEST_CITATIONS : 0) |
								(request->has_query ? REQUEST_QUERY : 0)));
	ls_buf_varint(buf, request->mode);
	ls_buf_lstr(buf, request->query);
	ls_buf_lstr(buf, request->criteria);
	ls_buf_lstr(buf, request->model);
	ls_buf_zigzag(buf, options->max_templates);
	ls_buf_zigzag(buf, options->max_samples);
	ls_buf_zigzag(buf, options->rare_threshold);
	memcpy(&threshold, &options->sim_threshold, sizeof(threshold));
	ls_buf_u64(buf, threshold);
	ls_buf_varint(buf, request->item_count);
	for (size_t i = 0; i < request->item_count; i++)
	{
		ls_buf_lstr(buf, request->items[i].id);
		ls_buf_lstr(buf, request->items[i].description);
	}
	ls_buf_varint(buf, request->cut_rows);
	ls_buf_varint(buf, request->row_count);
	for (size_t i = 0; i < request->row_count; i++)
		ls_buf_lstr(buf, request->rows[i]);
}

static bool
read_lists(ls_reader *r, ls_arena *arena, ls_evaluation_request *request)
{
	uint64_t items = ls_read_varint(r);
	uint64_t rows;
	ls_expected_item *item;
	ls_str *row;

	if (items > LS_EVALUATION_MAX_ITEMS ||
		(item = ls_new_array(arena, ls_expected_item, items + 1)) == NULL)
		return false;
	for (uint64_t i = 0; i < items; i++)
	{
		item[i].id = ls_read_lstr(r);
		item[i].description = ls_read_lstr(r);
	}
	request->items = item;
	request->item_count = items;
	request->cut_rows = ls_read_varint(r);
	rows = ls_read_varint(r);
	if (rows > LS_EVALUATION_MAX_ROWS || (row = ls_new_array(arena, ls_str, rows + 1)) == NULL)
		return false;
	for (uint64_t i = 0; i < rows; i++)
		row[i] = ls_read_lstr(r);
	request->rows = row;
	request->row_count = rows;
	return true;
}

bool
ls_evaluation_request_read(ls_str bytes, ls_arena *arena, ls_evaluation_request **out)
{
	ls_reader r = ls_reader_make(bytes.data, bytes.len);
	ls_evaluation_request *request = ls_new(arena, ls_evaluation_request);
	uint16_t flags = ls_read_u16(&r);
	uint64_t mode = ls_read_varint(&r);
	uint64_t threshold;

	if (request == NULL || mode > LS_EVALUATION_GENERIC_VERDICT)
		return false;
	request->compress = (flags & REQUEST_COMPRESS) != 0;
	request->preview = (flags & REQUEST_PREVIEW) != 0;
	request->citations = (flags & REQUEST_CITATIONS) != 0;
	request->has_query = (flags & REQUEST_QUERY) != 0;
	request->mode = (ls_evaluation_mode) mode;
	request->query = ls_read_lstr(&r);
	request->criteria = ls_read_lstr(&r);
	request->model = ls_read_lstr(&r);
	request->options.max_templates = (int) ls_read_zigzag(&r);
	request->options.max_samples = (int) ls_read_zigzag(&r);
	request->options.rare_threshold = (int) ls_read_zigzag(&r);
	threshold = ls_read_u64(&r);
	memcpy(&request->options.sim_threshold, &threshold, sizeof(threshold));
	if (!read_lists(&r, arena, request) || r.failed || r.pos != r.end)
		return false;
	*out = request;
	return true;
}
