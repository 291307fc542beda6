/*-------------------------------------------------------------------------
 *
 * program_values.c
 *	  The values that a scan's program has made for the rows of a block.
 *
 * field.c reads them like stored values, and scan_program.c reads stored values through field.c.  So
 * they are in a file below both.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/scan_program.h"

void
ls_scan_want_value(ls_scan *scan, const ls_scan_field *field)
{
	ls_scan_program *p = scan->program;

	if (p == NULL || field->value >= ls_engine_values(p->program))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("the program of a scan has no value %u", field->value));
	p->wanted[field->value] = true;
}

const ls_values *
ls_scan_values(ls_scan *scan, ls_scan_field *field)
{
	if (field->values == NULL)
		field->values = ls_engine_value(scan->program->engine, field->value);
	if (field->values == NULL)
		ls_engine_raise(scan->program->engine);
	return field->values;
}

uint32
ls_scan_place(const ls_scan *scan, const ls_values *values, uint32 row)
{
	return ls_values_place(values, scan->program->cells[row]);
}

void
ls_scan_made_value(ls_scan *scan, const ls_values *values, uint32 place, ls_scan_value *value)
{
	ls_scalar v = ls_values_get(values, place);

	*value = (ls_scan_value){.kind = LS_KIND_NULL, .text = LS_STR("")};
	switch (v.kind)
	{
		case LS_SCALAR_NULL:
			break;
		case LS_SCALAR_BOOLEAN:
			value->kind = LS_KIND_BOOLEAN;
			value->integer = v.boolean;
			break;
		case LS_SCALAR_STRING:
			value->kind = LS_KIND_STRING;
			value->text = v.text;
			break;
		case LS_SCALAR_JSON:
			value->text = v.text;
			value->kind = v.text.len > 0 && (v.text.data[0] == '{' || v.text.data[0] == '[')
							  ? LS_KIND_JSON
							  : LS_KIND_NUMBER;
			break;
		case LS_SCALAR_NUMBER:
			value->kind = LS_KIND_INTEGER;
			value->integer = v.number.i;
			if (v.number.is_int && v.text.data == NULL)
				break;
			/* As it was written, or as it is printed: whole numbers are integers again. */
			value->text = ls_scalar_text(scan->program->batch, &v);
			if (value->text.data == NULL)
				ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
			if (ls_json_canonical_int(value->text, &value->integer))
				value->text = LS_STR("");
			else
				value->kind = LS_KIND_NUMBER;
			break;
	}
}
