/*-------------------------------------------------------------------------
 *
 * events_jsonb.c
 *	  JSON texts with values of events as jsonb.
 *
 * The numbers of an event are kept as its sender wrote them.  Not every such text is one that jsonb can
 * hold, so nothing reads events into jsonb by another way than this.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

PG_FUNCTION_INFO_V1(logsvc_jsonb_of_events);

Datum
ls_jsonb_of_events(ls_str json)
{
	StringInfoData out;
	ls_str number;
	size_t from = 0;

	initStringInfo(&out);
	while (ls_json_wide_number(json, from, &number))
	{
		size_t begin = (size_t) (number.data - json.data);

		appendBinaryStringInfo(&out, json.data + from, (int) (begin - from));
		appendStringInfoChar(&out, '"');
		appendBinaryStringInfo(&out, number.data, (int) number.len);
		appendStringInfoChar(&out, '"');
		from = begin + number.len;
	}
	if (json.len > from)
		appendBinaryStringInfo(&out, json.data + from, (int) (json.len - from));
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(out.data));
}

/* jsonb_of_events(answer json) returns jsonb. */
Datum
logsvc_jsonb_of_events(PG_FUNCTION_ARGS)
{
	return ls_jsonb_of_events(ls_str_of_text(PG_GETARG_TEXT_PP(0)));
}
