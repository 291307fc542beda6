# odd_arguments.pl: every function of the extension with arguments that nobody thinks of,
# for a session that acts for nobody and for one with events: an answer or an error, and
# the server goes on.
#	SEED=$RANDOM TRIES=500 make check-tap T=odd_arguments
#
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $seed = $ENV{SEED} || 1;
my $tries = $ENV{TRIES} || 25;
srand $seed;
note "SEED=$seed";

my $t = LogsvcTest->new;
my $org = $t->organization('Arguments');
my @events = map {
	{ event => "event $_ took @{[ $_ % 7 ]} ms", level => (qw(info error debug))[ $_ % 3 ],
		attributes => { n => $_, o => { a => [ 1, { b => $_ } ], c => "v$_" } } }
} 1 .. 300;
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => \@events)->{status},
	202, 'events');
LogsvcTest::wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.part') > 0 });
$t->sql('CREATE TABLE public.sample AS SELECT header, body FROM logsvc_internal.part LIMIT 1');
my $id = $t->sql("SELECT id FROM logsvc_internal.organization WHERE slug = '$org->{slug}'");

# Values by type, as SQL.  With the text of a query the functions of searches get far.
my @queries = map { "'$_'" } 'level=error | stats count by n', 'event', 'earliest=-1h index=main',
  '| timechart count by level', '| sort n | head 5', '| eval x = n + 1 | dedup x',
  '| patterns', '| rex "(?<a>e+)" | top a';
my %values = (
	text => [ "''", "'x'", "'{}'", "'-1h'", "'*'", "E'\\x01'", "repeat('[', 100000)",
		"'n'", "'o.c'",
		"'level'", "'event'", "'1'", "'NaN'", @queries ],
	integer => [ 0, 1, -1, 2147483647, '(-2147483648)' ],
	bigint => [ 0, 1, -1, '9223372036854775807', '(-9223372036854775807 - 1)' ],
	smallint => [ 0, 1, -1, 32767 ],
	boolean => [ 'true', 'false' ],
	bytea => [ "''", "'\\x00'", "decode(repeat('ff', 20), 'hex')",
		"decode(repeat('00', 500), 'hex')" ],
	'timestamp with time zone' => [ "'infinity'", "'-infinity'", 'now()', "'4713-01-01 BC'",
		"'294276-12-31'" ],
	'double precision' => [ "'nan'", "'infinity'", 0 ],
	numeric => [ "'nan'", "'infinity'", 0, '1e1000' ],
	interval => [ "'1 day'", "'-1000000 years'" ],
	date => [ "'infinity'", 'now()' ],
	inet => ["'::1'"], cidr => ["'::/0'"],
	uuid => [ "'00000000-0000-0000-0000-000000000000'", "'$id'" ],
	(map { $_ => [ "'{}'", "'[]'", "'null'", q('{"a": [1]}') ] } qw(json jsonb)));

sub pick { return $_[ rand @_ ]; }

# An argument: mostly one of the values of its type, or what belongs there.  How often it
# is NULL is a share of 1.
sub argument
{
	my ($type, $name, $nulls) = @_;
	my ($element, $is_array) = $type =~ /^(.*?)(\[\])?$/;
	my $of = $values{$element};

	return "NULL::$type" if rand() < $nulls;
	return "(SELECT $name FROM public.sample)"
	  if $type eq 'bytea' && $name =~ /^(?:header|body)$/ && rand() < 0.9;
	return "NULL::$type" if !$of;
	return pick(@$of) . "::$type" unless $is_array;
	return pick("'{}'", 'ARRAY[NULL]', "ARRAY[[$of->[0], $of->[0]], [$of->[0], $of->[0]]]",
		map { 'ARRAY[' . join(', ', map { rand() < 0.1 ? 'NULL' : pick(@$of) } 0 .. $_)
			. ']' } 0 .. 3)
	  . "::$type";
}

# What is called by triggers or has an argument only the server can make is left out,
# and so are functions that are there to stop or to crash a worker.
my @functions = split /\n/, $t->sql(q{
	SELECT format('%s;%s;%s', p.oid::regproc,
		(SELECT string_agg(format_type(a, NULL), ',' ORDER BY o) FROM unnest(p.proargtypes) WITH ORDINALITY AS x (a, o)),
		array_to_string(p.proargnames[:p.pronargs], ',', ''))
	FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
	WHERE n.nspname IN ('logsvc', 'logsvc_internal') AND p.prokind <> 'p'
	AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
	AND 'internal'::regtype <> ALL (p.proargtypes) AND p.proname !~ 'stop_point|crash|wait'
	ORDER BY p.oid::regprocedure::text});
cmp_ok(scalar @functions, '>', 200, 'functions');

foreach my $function (@functions)
{
	my ($name, $types, $names) = split /;/, $function, -1;
	my @types = split /,/, $types;
	my @names = split /,/, $names, -1;
	my $script = "\\set VERBOSITY verbose\nSET client_min_messages = error;\nSET "
		. "statement_timeout = '20s';\n";

	# The first ones have NULLs alone, and a NULL here and nowhere else.
	my @nulls = ((map { my $only = $_; [ map { $_ == $only ? 1 : 0 } 0 .. $#types ] } 0 .. $#types),
		([ (1) x @types ]) x 2, ([ (0.15) x @types ]) x (@types ? $tries : 0));
	while (my ($try, $share) = each @nulls)
	{
		my $arguments = join ', ', map { argument($types[$_], $names[$_] // '', $share->[$_])
			} 0 .. $#types;
		my $session = $try % 3 ? "SELECT logsvc_internal.set_principal('$id', NULL);" : '';
		$script .= "BEGIN;$session SELECT count(r::text) FROM (SELECT $name($arguments) AS r) q;\nROLLBACK;\n";
	}
	my ($rc, undef, $errors) = $t->node->psql('postgres', $script, on_error_stop => 0);
	unlike("$rc $errors", qr/^2|connection|invalid memory alloc|statement timeout/, $name)
		or note $script;
	unlike($errors, qr/ERROR:  XX000/, "$name: no internal error") if $name =~ /^logsvc\./;
	last if $rc == 2;
}

done_testing;
