# plan_bounds.pl: what a query costs before it reads a row.  The statement of
# any chain of stages is bounded by the length of the query, and so are the time
# and the memory that the server takes to plan it.
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/../../differential";
use LogsvcGenerator;
use LogsvcStageGenerator;
use LogsvcStages;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.executors = 2\nfsync = off");
my $org = $t->organization('acme');
my $events = [ map { LogsvcGenerator::make_event($_, LogsvcGenerator::make_times(time)) } 1 .. 300
	];
my $body = '{"events":[' . join(',', map { $_->{json} } @$events) . ']}';
utf8::encode($body);
is($t->http(POST => '/api/v1/logs/batch', token => $org->{full_key}, body => $body)->{status},
	202, 'events');

# ---- one query in a session of its own ----

my $most = 256 * 1024;

# Length of the statement, or its SQLSTATE; of the search then milliseconds, kB
# that the process took at most beyond the start, and the SQLSTATE.
sub cost
{
	my ($q, %opt) = @_;
	my ($out, $err) = ('', '');
	(my $literal = $q) =~ s/'/''/g;
	my $sql = <<"END";
\\set QUIET on
SELECT logsvc.act_as('acme') IS NULL AS ok \\gset
SELECT count(*) FROM json_array_elements(logsvc_internal.search_json('* | sort level | stats count by level', NULL, NULL, 10, NULL) #> '{data,rows}') \\g /dev/null
SELECT 'before ' || substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+)');
SELECT 'length ' || length(split_part(logsvc.explain_query('$literal'), E'\\n-- \$1', 1));
\\echo explained :LAST_ERROR_SQLSTATE :SQLSTATE
SET statement_timeout = '60s';
SELECT 'started ' || extract(epoch FROM clock_timestamp());
SELECT count(*) FROM json_array_elements(logsvc_internal.search_json('$literal', NULL, NULL, 1, NULL) #> '{data,rows}') \\g /dev/null
\\echo searched :SQLSTATE
SELECT 'ended ' || extract(epoch FROM clock_timestamp());
SELECT 'after ' || substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+)');
END
	utf8::encode($sql);
	$t->node->psql('postgres', $sql, stdout => \$out, stderr => \$err, on_error_stop => 0);
	my %got = (length => 0, err => $err, $out =~ /^(\w+) (\S+)/mg);
	die 'the server failed: ' . substr($err, 0, 500) . "\n" unless defined $got{after};
	return { length => $got{length}, state => $got{searched},
		seconds => $got{ended} - $got{started},
		megabytes => ($got{after} - $got{before}) / 1024, err => $err };
}

my $nothing = cost('* | head 1');
is($nothing->{state}, '00000', 'a query');

# Each byte of a query makes at most so many of the statement.
sub allowed { return $nothing->{length} + 4096 + 200 * length $_[0]; }

sub bounded
{
	my ($name, $q, %opt) = @_;
	my $c = cost($q);
	my $state = $opt{state} // qr/^00000$/;
	my $good = $c->{length} <= allowed($q) && $c->{length} <= $most
		&& $c->{megabytes} < ($opt{megabytes} // 200)
	  && $c->{seconds} < 30 && $c->{state} =~ $state;
	ok($good, $name) or diag(sprintf '%d bytes of query: %d of statement, %.1f s, %d MB, %s',
		length $q, $c->{length}, $c->{seconds}, $c->{megabytes},
			substr "$c->{state} $c->{err}", 0, 300);
	return $c;
}

# ---- chains that grew with a power of their length ----

sub chain { my ($n, @stages) = @_; return join ' ', '*',
	map { '| ' . $stages[ $_ % @stages ] } 0 .. $n - 1; }
sub list { my ($n, $f) = @_; return join ', ', map { $f->($_) } 1 .. $n; }

my @renames = ('rename a.b.c as a', 'rename a.b.c as a.b');
bounded('rename to and fro: 24 stages', chain(24, @renames));
bounded('rename to and fro: 100 stages', chain(100, @renames));
my $long = cost(chain(96, @renames))->{length};
my $half = cost(chain(48, @renames))->{length};
cmp_ok($long, '<', 2.5 * $half, 'twice the stages make twice the statement');

bounded('eval of one name, 100 stages', chain(100, 'eval x = x + 1'));
bounded('eval of one name, 900 times in a stage', '* | eval ' . list(900, sub { 'x=x+1' }),
	megabytes => 300);
bounded('the same of a table', '* | stats count as x | eval ' . list(900, sub { 'x=x+1' }),
	megabytes => 300);
bounded('eval of many names', chain(16, 'eval ' . list(60, sub { "a$_[0]=1" })));
bounded('eval of members of what eval made', chain(80, 'eval a = b', 'eval b = a.x',
	'eval a.c = b'));
bounded('rex into what rex made', chain(99, 'rex field=x "(?<x>.+)"'));
bounded('the same of a table', '* | stats count as x ' . substr chain(98, 'rex field=x "(?<x>.+)"'),
	2);
bounded('rex of many groups', chain(20, 'rex "' . join('', map { "(?<g$_>a)" } 1 .. 50) . '"'));
bounded('rex and sort', chain(98, 'rex field=x "(?<x>.+)"', 'sort x'));
bounded('a field without its members', '* | eval a=1 ' . join ' ',
	map { "| eval a.b$_=a" } 1 .. 40);
bounded('fields without members, and members of them', '* | fields - '
	. list(5, sub { "a.b.c.q$_[0]" }) . ' | sort ' . list(5, sub { "a.b.c.q$_[0].z" }));
bounded('sort by many', chain(20, 'sort ' . list(60, sub { "a$_[0]" })));
bounded('dedup by many', chain(40, 'dedup ' . list(60, sub { "a$_[0]" })));
bounded('first in a long order', '* | stats count by ' . list(30, sub { "a$_[0]" }) . ' | stats '
	. list(60, sub { "first(a1) as b$_[0]" }));
bounded('head in a long order', '* | stats count by ' . list(30, sub { "a$_[0]" })
	. substr chain(95, 'head'), 1);
bounded('many aggregates', '* | where a=1 | head | stats '
	. list(60, sub { "p50(a$_[0]) as b$_[0]" }) . ' by a1');
bounded('timechart of many aggregates', '* | head 100 | timechart span=6h '
	. list(60, sub { "max(a$_[0]) as b$_[0]" }) . ' by a1, a2');
bounded('bin and fillnull', chain(49, 'bin span=5 x', 'fillnull value=1 x'));
bounded('tables of tables', chain(49, 'table x, y', 'tail 5'));
bounded('many aggregates beside the rows', '* | fields x ' . join ' ', map { my $n = $_;
	'| eventstats ' . list(60, sub { "values(a$_[0]) as b$_[0]" }) . ' by x | sort x' } 1 .. 4);
bounded('json', chain(99, 'json'));
bounded('json and what it found', chain(49, 'json field=x', 'where x.y.z = 1'));
bounded('many paths of JSON', '* | json | where ' . join ' OR ', map { "a.b$_.c = 1" } 1 .. 60);
bounded('json without members', '* | json ' . join ' ', map { "| fields - a.b$_" } 1 .. 60);
bounded('kv of many fields', chain(24, 'kv field=x', 'sort ' . list(30, sub { "a$_[0]" })));
bounded('patterns', chain(40, 'patterns mode=label'));
bounded('many conditions', chain(100, 'where a.b.c = 1 OR x = 2'));
bounded('a long list', '* | where x IN (' . list(2500, sub { $_[0] }) . ')');
bounded('a long condition', join ' OR ', map { "x=$_" } 1 .. 1700);
bounded('many words', join ' ', map { "w$_" } 1 .. 2400);
bounded('many wildcards', join ' OR ', map { "w*$_*x" } 1 .. 1000);
bounded('parentheses', '(' x 99 . 'x=1' . ')' x 99);

# ---- what is too long ----

my $c = bounded('too long', chain(48, 'sort ' . list(60, sub { "a$_[0]" })), state => qr/^LQ002$/);
like($c->{err},
	qr/too complex: up to here it becomes a statement of more than 256 kB at line 1, column \d+/,
		'says what and where');
my $r = $t->http(POST => '/api/v1/search', token => $org->{read_key},
	json => { q => chain(48, 'sort ' . list(60, sub { "a$_[0]" })) });
is("$r->{status} $r->{json}{code} $r->{json}{details}[0]{path}", '400 QUERY_SEMANTIC_ERROR q',
	'over HTTP as well');

# ---- texts that expressions make ----

foreach my $grow ('concat(x, x, x, x)', 'replace(x, "e", "eeeeeeeee")', 'lower(concat(x, x, x))')
{
	bounded("texts that grow: $grow", '* | eval x = concat(event, "e") '
		. substr(chain(25, "eval x = $grow"), 2), state => qr/^LQ102$/, megabytes => 150);
}
bounded('many long texts', '* | eval x = "0123456789" '
	. join(' ', map { '| eval x = concat(' . list($_, sub { 'x' }) . ')' } 50, 50, 20)
	  . ' | eval ' . list(50, sub { "y$_[0] = concat(x, \"$_[0]\")" }), megabytes => 500);

# ---- the time limit ----

my $wide = '* ' . substr chain(16, map { my $n = $_; 'eval '
	. list(60, sub { "a$_[0]=a" . ($_[0] - 1) }) } 1), 2;
my $started = time;
my (undef, undef, $message) = $t->sql_error("SELECT logsvc.act_as('acme') IS NULL; SET "
	. "statement_timeout = '20ms'; SELECT logsvc.search('$wide')");
like($message, qr/canceling statement due to statement timeout/, 'the time limit holds');
cmp_ok(time - $started, '<', 15, 'soon');

# ---- any stages ----

my $seed = $ENV{SEED} || 7;
my $n = $ENV{QUERIES} || 60;
srand $seed;
my $bad = 0;
foreach my $i (1 .. $n)
{
	my $state = {};
	my @texts;
	# Twice or three times the same stages: that is how things grow.
	foreach (1 .. 1 + int rand 30)
	{
		my $text = LogsvcStageGenerator::text(LogsvcStageGenerator::make_stage($events, $state))
			// next;
		push @texts, $text;
	}
	@texts = (@texts) x (1 + int rand 6) unless $state->{columns};
	my $q = join ' | ', '*', @texts[ 0 .. ($#texts > 98 ? 98 : $#texts) ];
	utf8::encode(my $bytes = $q);
	next if length $bytes > 16_000 || !@texts;
	my $got = cost($q);
	next if $got->{length} <= allowed($q) && $got->{length} <= $most && $got->{megabytes} < 200
		&& $got->{seconds} < 30 && $got->{state} =~ /^(?:00000|LQ\w+)$/;
	$bad++;
	utf8::encode($q);
	diag(sprintf 'SEED=%d, query %d: %d bytes of statement, %.1f s, %d MB, %s: %s', $seed, $i,
		$got->{length}, $got->{seconds}, $got->{megabytes},
			substr("$got->{state} $got->{err}", 0, 300), $q);
}
ok(!$bad, "$n random queries: SEED=$seed QUERIES=$n");

$t->stop;
done_testing;
