%code top {
/*-------------------------------------------------------------------------
 *
 * parser.y
 *	  Grammar of the search language, which docs/language.md defines (pure).
 *
 * Actions only call constructors (ast.c, expr.c, stages.c), which check their
 * arguments; NULL or false from one ends the parse with its error.
 *
 * Canonical LR tables: bigger than LALR's, but the parser stops at the first
 * wrong token before it reduces anything, so the list of what was expected is
 * exact.  Lists are left-recursive, so the stack grows only with nesting.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
}

%code requires {
#include "src/query/language_internal.h"
}

%code {
#define YYMALLOC(size) ls_arena_alloc(state->arena, (size))
#define YYFREE(block) ((void) (block))
#define YYMAXDEPTH 2000

#define YYLLOC_DEFAULT(current, rhs, n)                      \
	do                                                       \
	{                                                        \
		(current).start = (n) ? YYRHSLOC(rhs, 1).start : YYRHSLOC(rhs, 0).end; \
		(current).end = YYRHSLOC(rhs, n).end;                \
	} while (0)

#define MUST(made)   \
	do               \
	{                \
		if (!(made)) \
			YYABORT; \
	} while (0)

static int ls_query_yylex(LS_QUERY_YYSTYPE *value, ls_query_span *span, ls_query_state *state);
static void ls_query_yyerror(ls_query_span *span, ls_query_state *state, const char *message);
}

%define api.pure full
%define api.prefix {ls_query_yy}
%define api.token.prefix {TOK_}
%define api.location.type {ls_query_span}
%define parse.error custom
%define lr.type canonical-lr
%locations
%param {ls_query_state *state}
%initial-action
{
	@$ = (ls_query_span){0, 0};
	(void) yynerrs; /* bison counts errors; newer compilers see that nobody reads it */
}

%union
{
	ls_query_token token;
	ls_query_op op;
	bool flag;
	ls_query_values values;
	ls_query_filter *filter;
	ls_query_field *field;
	ls_query_fields fields;
	ls_query_expr *expr;
	ls_query_exprs exprs;
	ls_query_options options;
	ls_query_aggregate *aggregate;
	ls_query_aggregates aggregates;
	ls_query_key *key;
	ls_query_keys keys;
	ls_query_assign *assign;
	ls_query_assigns assigns;
	ls_query_output *output;
	ls_query_outputs outputs;
}

/* Their order is the order in lists of expected tokens. */
%token END 0 "end of query"
%token <token> PIPE '|' "|"
%token <token> WHERE "where" DEDUP "dedup" STATS "stats" TIMECHART "timechart" TOP "top"
	RARE "rare" SORT "sort" HEAD "head" FIELDS "fields" RENAME "rename" EVAL "eval" REX "rex"
	PATTERNS "patterns" TABLE "table" TAIL "tail" BIN "bin" FILLNULL "fillnull"
	EVENTSTATS "eventstats" LOOKUP "lookup" JSON "json" LOGFMT "logfmt" KV "kv"
%token <token> INDEX "index" EARLIEST "earliest" LATEST "latest"
%token <token> WORD "a word" IDENT "a name" BACKTICK "a name in backticks"
	STRING "a quoted string" NUMBER "a number" DURATION "a duration" OPTION "an option"
%token <token> AND "AND" OR "OR" NOT "NOT" IN "IN" CONTAINS "CONTAINS" MATCHES "MATCHES"
	NOT_IN "NOT IN" NOT_CONTAINS "NOT CONTAINS" NOT_MATCHES "NOT MATCHES"
%token <token> BY "by" AS "as" OUTPUT "output"
%token <token> '=' "=" NE "!=" '<' "<" LE "<=" '>' ">" GE ">="
%token <token> ':' ":" REGEX "a regular expression"
%token <token> '+' "+" '-' "-" '*' "*" '/' "/" '%' "%" '.' "."
%token <token> ',' "," '(' "(" ')' ")"
/* Tokens that no rule accepts. */
%token <token> OPEN_STRING OPEN_BACKTICK BAD_OPERATOR BAD_QUOTE BAD_WORD BAD_CHARACTER

%type <filter> or and not prim predicate scope
%type <values> values alternatives
%type <token> value name literal field_token
%type <op> compare
%type <field> path field opt_as
%type <fields> fields opt_fields opt_by
%type <expr> expr conjunction condition sum product unary
%type <exprs> exprs opt_exprs
%type <options> options fill_options
%type <aggregate> aggregate
%type <aggregates> aggregates
%type <key> key
%type <keys> keys
%type <assign> renaming assignment
%type <assigns> renamings assignments
%type <output> output
%type <outputs> outputs opt_output

%%

query:
	head stages
	;

head:
	%empty
	| or						{ state->filter = $or; }
	;

or:
	and
	| or OR and					{ MUST($$ = ls_query_join(state, LS_QUERY_FILTER_OR, $1, $3, false)); }
	;

and:
	not
	| and not					{ MUST($$ = ls_query_join(state, LS_QUERY_FILTER_AND, $1, $2, false)); }
	| and AND not				{ MUST($$ = ls_query_join(state, LS_QUERY_FILTER_AND, $1, $3, true)); }
	;

not:
	prim
	| NOT not					{ MUST($$ = ls_query_not(state, $2, @$)); }
	| '-' prim					{ MUST($$ = ls_query_not(state, $2, @$)); }
	;

prim:
	'(' or ')'					{ MUST($$ = ls_query_parenthesis($or, @$)); }
	| predicate
	| scope
	| WORD						{ MUST($$ = ls_query_text(state, $1)); }
	| NUMBER					{ MUST($$ = ls_query_text(state, $1)); }
	| STRING					{ MUST($$ = ls_query_text(state, $1)); }
	| REGEX						{ MUST($$ = ls_query_regex(state, NULL, $1, @$)); }
	;

predicate:
	field_token compare values
		{ MUST($$ = ls_query_comparison(state, $1, $compare, $values, @$)); }
	| field_token ':' value
		{ MUST($$ = ls_query_colon(state, $1, $value, @$)); }
	| field_token ':' compare value
		{
			ls_query_values one = {NULL, 0};

			MUST(ls_query_push(state, &one, ls_query_make_value(state, $value, false)));
			MUST($$ = ls_query_colon_predicate(state, LS_QUERY_FILTER_COMPARE, $1, $compare, one, @$));
		}
	| field_token ':' REGEX
		{ MUST($$ = ls_query_regex(state, &$1, $REGEX, @$)); }
	| field_token ':' '(' alternatives ')'
		{ MUST($$ = ls_query_colon_predicate(state, LS_QUERY_FILTER_IN, $1, LS_QUERY_OP_EQ, $alternatives, @$)); }
	| field_token IN '(' values ')'
		{ MUST($$ = ls_query_predicate(state, LS_QUERY_FILTER_IN, $1, LS_QUERY_OP_EQ, false, $values, @$)); }
	| field_token NOT_IN '(' values ')'
		{ MUST($$ = ls_query_predicate(state, LS_QUERY_FILTER_IN, $1, LS_QUERY_OP_EQ, true, $values, @$)); }
	| field_token CONTAINS STRING
		{ MUST($$ = ls_query_string_predicate(state, LS_QUERY_FILTER_CONTAINS, $1, false, $3, @$)); }
	| field_token NOT_CONTAINS STRING
		{ MUST($$ = ls_query_string_predicate(state, LS_QUERY_FILTER_CONTAINS, $1, true, $3, @$)); }
	| field_token MATCHES STRING
		{ MUST($$ = ls_query_string_predicate(state, LS_QUERY_FILTER_MATCHES, $1, false, $3, @$)); }
	| field_token NOT_MATCHES STRING
		{ MUST($$ = ls_query_string_predicate(state, LS_QUERY_FILTER_MATCHES, $1, true, $3, @$)); }
	;

field_token:
	WORD
	| BACKTICK
	;

compare:
	'='							{ $$ = LS_QUERY_OP_EQ; }
	| NE						{ $$ = LS_QUERY_OP_NE; }
	| '<'						{ $$ = LS_QUERY_OP_LT; }
	| LE						{ $$ = LS_QUERY_OP_LE; }
	| '>'						{ $$ = LS_QUERY_OP_GT; }
	| GE						{ $$ = LS_QUERY_OP_GE; }
	;

value:
	STRING
	| NUMBER
	| WORD
	;

values:
	value
		{
			$$ = (ls_query_values){NULL, 0};
			MUST(ls_query_push(state, &$$, ls_query_make_value(state, $1, false)));
		}
	| values ',' value
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, ls_query_make_value(state, $3, false)));
		}
	;

alternatives:
	value
		{
			$$ = (ls_query_values){NULL, 0};
			MUST(ls_query_push(state, &$$, ls_query_make_value(state, $1, false)));
		}
	| alternatives OR value
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, ls_query_make_value(state, $3, false)));
		}
	;

scope:
	INDEX '=' value
		{
			ls_query_values one = {NULL, 0};

			MUST(ls_query_push(state, &one, ls_query_make_value(state, $value, false)));
			MUST($$ = ls_query_index_scope(state, one, @$));
		}
	| INDEX IN '(' values ')'	{ MUST($$ = ls_query_index_scope(state, $values, @$)); }
	| EARLIEST '=' value		{ MUST($$ = ls_query_time_scope(state, false, $value, @$)); }
	| LATEST '=' value			{ MUST($$ = ls_query_time_scope(state, true, $value, @$)); }
	;

stages:
	%empty
	| stages '|' stage
		{
			state->stage->span = @stage;
			if (state->query->stages.n >= LS_QUERY_MAX_STAGES)
			{
				ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, @stage, NULL,
								 "a query has at most %d stages", LS_QUERY_MAX_STAGES);
				YYABORT;
			}
			MUST(ls_query_push(state, &state->query->stages, state->stage));
		}
	;

stage:
	WHERE expr
		{
			MUST(ls_query_condition(state, $expr));
			state->stage->condition = $expr;
		}
	| DEDUP opt_count fields options
		{
			state->stage->fields = $fields;
			MUST(ls_query_apply_options(state, $options));
		}
	| STATS aggregates opt_by
		{
			state->stage->aggregates = $aggregates;
			state->stage->by = $opt_by;
			MUST(ls_query_check_columns(state));
		}
	| TIMECHART options aggregates opt_by
		{
			state->stage->aggregates = $aggregates;
			state->stage->by = $opt_by;
			MUST(ls_query_apply_options(state, $options));
			MUST(ls_query_check_columns(state));
		}
	| TOP top
	| RARE top
	| SORT opt_count opt_by_word keys
		{ state->stage->keys = $keys; }
	| HEAD opt_count
	| FIELDS opt_minus fields
		{ state->stage->fields = $fields; }
	| RENAME renamings
		{ state->stage->assigns = $renamings; }
	| EVAL assignments
		{ state->stage->assigns = $assignments; }
	| REX options_rex STRING
		{ MUST(ls_query_set_rex(state, @STRING)); }
	| PATTERNS opt_field options opt_by
		{
			state->stage->by = $opt_by;
			MUST(ls_query_apply_options(state, $options));
		}
	| TABLE fields
		{ state->stage->fields = $fields; }
	| TAIL opt_count
	| BIN options[before] field options[after] opt_as
		{
			MUST(ls_query_join_options(state, &$before, $after));
			MUST(ls_query_apply_options(state, $before));
			MUST(ls_query_set_bin(state, $field, $opt_as));
		}
	| FILLNULL fill_options opt_fields
		{
			MUST(ls_query_apply_options(state, $fill_options));
			state->stage->fields = $opt_fields;
		}
	| EVENTSTATS aggregates opt_by
		{
			state->stage->aggregates = $aggregates;
			state->stage->by = $opt_by;
			MUST(ls_query_check_columns(state));
		}
	| LOOKUP name[table] name[key] opt_as opt_output
		{ MUST(ls_query_set_lookup(state, $table, $key, $opt_as, $opt_output)); }
	| JSON extract_items		{ MUST(ls_query_check_extract(state)); }
	| LOGFMT extract_items
	| KV extract_items
	;

extract_items:
	%empty
	| extract_items OPTION '=' path		{ MUST(ls_query_extract_field(state, &$OPTION, $path)); }
	| extract_items OPTION '=' STRING	{ MUST(ls_query_extract_text(state, &$OPTION, $STRING)); }
	| extract_items path				{ MUST(ls_query_extract_field(state, NULL, $path)); }
	| extract_items STRING				{ MUST(ls_query_extract_text(state, NULL, $STRING)); }
	;

opt_output:
	%empty						{ $$ = (ls_query_outputs){NULL, 0}; }
	| OUTPUT outputs			{ $$ = $outputs; }
	;

outputs:
	output
		{
			$$ = (ls_query_outputs){NULL, 0};
			MUST(ls_query_push(state, &$$, $1));
		}
	| outputs ',' output
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, $3));
		}
	| outputs output
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, $2));
		}
	;

output:
	name opt_as					{ MUST($$ = ls_query_make_output(state, $name, $opt_as)); }
	;

top:
	opt_count options fields opt_by
		{
			MUST(ls_query_apply_options(state, $options));
			state->stage->fields = $fields;
			state->stage->by = $opt_by;
		}
	;

opt_count:
	%empty
	| NUMBER					{ MUST(ls_query_count(state, $1, &state->stage->count)); }
	;

opt_by_word:
	%empty
	| BY
	;

opt_minus:
	%empty
	| '-'						{ state->stage->exclude = true; }
	;

opt_field:
	%empty
	| field						{ state->stage->field = $field; }
	;

options_rex:
	%empty
	| OPTION '=' field			{ MUST(ls_query_rex_field(state, $OPTION, $field)); }
	;

options:
	%empty						{ $$ = (ls_query_options){NULL, 0}; }
	| options OPTION '=' literal
		{
			$$ = $1;
			MUST(ls_query_add_option(state, &$$, $OPTION, $literal));
		}
	;

fill_options:
	%empty						{ $$ = (ls_query_options){NULL, 0}; }
	| OPTION '=' literal
		{
			$$ = (ls_query_options){NULL, 0};
			MUST(ls_query_add_option(state, &$$, $OPTION, $literal));
		}
	| OPTION '=' '-' NUMBER
		{
			$$ = (ls_query_options){NULL, 0};
			$NUMBER.span.start = @3.start;
			MUST(ls_query_add_option(state, &$$, $OPTION, $NUMBER));
		}
	;

literal:
	NUMBER
	| DURATION
	| IDENT
	| STRING
	;

aggregates:
	aggregate
		{
			$$ = (ls_query_aggregates){NULL, 0};
			MUST(ls_query_push(state, &$$, $1));
		}
	| aggregates ',' aggregate
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, $3));
		}
	| aggregates aggregate
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, $2));
		}
	;

aggregate:
	IDENT opt_as
		{ MUST($$ = ls_query_make_aggregate(state, $IDENT, NULL, $opt_as, @$)); }
	| IDENT '(' ')' opt_as
		{ MUST($$ = ls_query_make_aggregate(state, $IDENT, NULL, $opt_as, @$)); }
	| IDENT '(' expr ')' opt_as
		{ MUST($$ = ls_query_make_aggregate(state, $IDENT, $expr, $opt_as, @$)); }
	;

opt_as:
	%empty						{ $$ = NULL; }
	| AS field					{ $$ = $field; }
	;

opt_fields:
	%empty						{ $$ = (ls_query_fields){NULL, 0}; }
	| fields
	;

opt_by:
	%empty						{ $$ = (ls_query_fields){NULL, 0}; }
	| BY fields					{ $$ = $fields; }
	;

keys:
	key
		{
			$$ = (ls_query_keys){NULL, 0};
			MUST(ls_query_push(state, &$$, $1));
		}
	| keys ',' key
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, $3));
		}
	;

key:
	field						{ MUST($$ = ls_query_make_key(state, $field, false)); }
	| field IDENT				{ MUST($$ = ls_query_directed_key(state, $field, $IDENT)); }
	| '+' field					{ MUST($$ = ls_query_make_key(state, $field, false)); }
	| '-' field					{ MUST($$ = ls_query_make_key(state, $field, true)); }
	;

renamings:
	renaming
		{
			$$ = (ls_query_assigns){NULL, 0};
			MUST(ls_query_push(state, &$$, $1));
		}
	| renamings ',' renaming
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, $3));
		}
	;

renaming:
	field AS field				{ MUST($$ = ls_query_make_assign(state, $3, $1, NULL)); }
	;

assignments:
	assignment
		{
			$$ = (ls_query_assigns){NULL, 0};
			MUST(ls_query_push(state, &$$, $1));
		}
	| assignments ',' assignment
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, $3));
		}
	;

assignment:
	field '=' expr				{ MUST($$ = ls_query_make_assign(state, $field, NULL, $expr)); }
	;

fields:
	field
		{
			$$ = (ls_query_fields){NULL, 0};
			MUST(ls_query_push(state, &$$, $1));
		}
	| fields ',' field
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, $3));
		}
	| fields field
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, $2));
		}
	;

field:
	path						{ MUST($$ = ls_query_stage_field(state, $path)); }
	;

path:
	name						{ MUST($$ = ls_query_make_field(state, NULL, $name)); }
	| path '.' name				{ MUST($$ = ls_query_make_field(state, $1, $name)); }
	;

name:
	IDENT
	| BACKTICK
	;

expr:
	conjunction
	| expr OR conjunction		{ MUST($$ = ls_query_binary(state, LS_QUERY_EXPR_OR, $1, $3)); }
	;

conjunction:
	condition
	| conjunction AND condition	{ MUST($$ = ls_query_binary(state, LS_QUERY_EXPR_AND, $1, $3)); }
	;

condition:
	sum
	| NOT condition				{ MUST($$ = ls_query_unary(state, LS_QUERY_EXPR_NOT, $2, @$)); }
	| sum compare sum			{ MUST($$ = ls_query_compare(state, $compare, $1, $3)); }
	| sum IN '(' exprs ')'
		{ MUST($$ = ls_query_test(state, LS_QUERY_EXPR_IN, false, $1, $exprs, @$)); }
	| sum NOT_IN '(' exprs ')'
		{ MUST($$ = ls_query_test(state, LS_QUERY_EXPR_IN, true, $1, $exprs, @$)); }
	| sum CONTAINS sum
		{ MUST($$ = ls_query_text_test(state, LS_QUERY_EXPR_CONTAINS, false, $1, $3, @$)); }
	| sum NOT_CONTAINS sum
		{ MUST($$ = ls_query_text_test(state, LS_QUERY_EXPR_CONTAINS, true, $1, $3, @$)); }
	| sum MATCHES sum
		{ MUST($$ = ls_query_text_test(state, LS_QUERY_EXPR_MATCHES, false, $1, $3, @$)); }
	| sum NOT_MATCHES sum
		{ MUST($$ = ls_query_text_test(state, LS_QUERY_EXPR_MATCHES, true, $1, $3, @$)); }
	;

sum:
	product
	| sum '+' product			{ MUST($$ = ls_query_binary(state, LS_QUERY_EXPR_ADD, $1, $3)); }
	| sum '-' product			{ MUST($$ = ls_query_binary(state, LS_QUERY_EXPR_SUBTRACT, $1, $3)); }
	;

product:
	unary
	| product '*' unary			{ MUST($$ = ls_query_binary(state, LS_QUERY_EXPR_MULTIPLY, $1, $3)); }
	| product '/' unary			{ MUST($$ = ls_query_binary(state, LS_QUERY_EXPR_DIVIDE, $1, $3)); }
	| product '%' unary			{ MUST($$ = ls_query_binary(state, LS_QUERY_EXPR_MODULO, $1, $3)); }
	;

unary:
	'-' unary					{ MUST($$ = ls_query_unary(state, LS_QUERY_EXPR_NEGATE, $2, @$)); }
	| '(' expr ')'				{ $$ = $expr; $$->flags |= LS_QUERY_FLAG_PAREN; $$->span = @$; }
	| NUMBER					{ MUST($$ = ls_query_literal(state, $1)); }
	| STRING					{ MUST($$ = ls_query_literal(state, $1)); }
	| IDENT '(' opt_exprs ')'	{ MUST($$ = ls_query_call(state, $IDENT, $opt_exprs, @$)); }
	| field						{ MUST($$ = ls_query_field_expr(state, $field)); }
	;

opt_exprs:
	%empty						{ $$ = (ls_query_exprs){NULL, 0}; }
	| exprs
	;

exprs:
	expr
		{
			$$ = (ls_query_exprs){NULL, 0};
			MUST(ls_query_push(state, &$$, $1));
		}
	| exprs ',' expr
		{
			$$ = $1;
			MUST(ls_query_push(state, &$$, $3));
		}
	;

%%

static int
ls_query_yylex(LS_QUERY_YYSTYPE *value, ls_query_span *span, ls_query_state *state)
{
	value->token = state->tokens[state->next];
	*span = value->token.span;
	if (value->token.kind != TOK_END)
		state->next++;

	/*
	 * The stage begins with its name, not with the first action in it, so that
	 * an error right after the name knows the stage.  What came before the |
	 * is reduced by now.
	 */
	if (!ls_query_begin_stage(state, value->token.kind))
		return TOK_BAD_CHARACTER;
	return value->token.kind;
}

/* Called when the stack is full or cannot grow. */
static void
ls_query_yyerror(ls_query_span *span, ls_query_state *state, const char *message)
{
	(void) message;
	if (!ls_arena_failed(state->arena))
		ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, *span, NULL,
						 "nested deeper than %d levels", LS_QUERY_MAX_DEPTH);
}

static int
yyreport_syntax_error(const yypcontext_t *context, ls_query_state *state)
{
	yysymbol_kind_t kinds[YYNTOKENS];
	const char *names[YYNTOKENS];
	const ls_query_span *span = yypcontext_location(context);
	int n = yypcontext_expected_tokens(context, kinds, YYNTOKENS);

	for (int i = 0; i < n; i++)
		names[i] = yysymbol_name(kinds[i]);
	ls_query_syntax_error(state, *span, names, n);
	return 0;
}
