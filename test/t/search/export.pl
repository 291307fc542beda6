# export.pl: all rows of a search as a file, GET /api/v1/search/export, while events come in, are
# stored, merged and deleted; what clients see of its end, and what it may cost.
use strict;
use warnings;

use Compress::Zlib ();
use IO::Socket::INET;
use LogsvcTest;
use POSIX qw(strftime);
use Test::More;
use Time::HiRes qw(time);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '100ms'",
	'logsvc.batch_events = 5000', "logsvc.query_timeout = '60s'", '');
my $org = $t->organization('acme');
my $other = $t->organization('globex');
my $path = '/api/v1/search/export';
my $n = 200_000;

$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

# ---- a client ----

sub encode { my ($s) = @_; $s =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02X', ord $1/ge; return $s; }

sub target
{
	my (%parameters) = @_;
	return $path . '?' . join '&', map { "$_=" . encode($parameters{$_}) } sort keys %parameters;
}

sub open_export
{
	my ($parameters, %opt) = @_;
	my $socket = $t->connect or die "cannot connect: $!";
	my $version = $opt{version} // '1.1';
	my $method = $opt{method} // 'GET';
	my $token = $opt{token} // $org->{full_key};
	my $headers = join '', map { "$_: $opt{headers}{$_}\r\n" } sort keys %{ $opt{headers} // {} };
	setsockopt $socket, Socket::SOL_SOCKET(), Socket::SO_RCVBUF(), $opt{room} if $opt{room};
	$socket->autoflush(1);
	$socket->print("$method " . target(%$parameters) . " HTTP/$version\r\nHost: x\r\n"
		. "Connection: close\r\nAuthorization: Bearer $token\r\n$headers\r\n");
	return { socket => $socket, bytes => '', text => '' };
}

# Takes chunks apart: text is the body so far; end: complete, cut, reset.
sub take_apart
{
	my ($e) = @_;
	if (!$e->{head} && $e->{bytes} =~ s/\A(HTTP.*?\r\n\r\n)//s)
	{
		$e->{head} = $1;
		($e->{status}) = $e->{head} =~ /^HTTP\S+ (\d+)/;
		($e->{length}) = $e->{head} =~ /^Content-Length: (\d+)/mi;
		$e->{chunked} = $e->{head} =~ /^Transfer-Encoding: chunked/mi;
	}
	return unless $e->{head};
	if (!$e->{chunked})
	{
		$e->{text} .= $e->{bytes};
		$e->{bytes} = '';
		$e->{end} = 'complete' if defined $e->{length} && length $e->{text} == $e->{length};
	}
	my $at = 0;
	while ($e->{chunked} && !$e->{end} && substr($e->{bytes}, $at, 20) =~ /\A([0-9a-fA-F]+)\r\n/)
	{
		my $size = hex $1;
		my $head = length($1) + 2;
		if ($size == 0)
		{
			last unless substr($e->{bytes}, $at) =~ /\A0\r\n((?:[^\r]+\r\n)*)\r\n\z/;
			$e->{trailers} = $1;
			$e->{end} = 'complete';
			last;
		}
		last if length($e->{bytes}) - $at < $head + $size + 2;
		$e->{text} .= substr $e->{bytes}, $at + $head, $size;
		$at += $head + $size + 2;
	}
	substr($e->{bytes}, 0, $at) = '' if $at > 0 && !$e->{end};
	return;
}

# Reads until the condition holds or the answer ends; true if the condition does.
sub read_until
{
	my ($e, $condition, $timeout, $may_wait) = @_;
	my $end = time + ($timeout // 120);
	while (1)
	{
		my $bits = '';
		take_apart($e);
		return 1 if $condition->();
		return 0 if $e->{end};
		if (time > $end) { return 0 if $may_wait; die "an export takes too long\n"; }
		vec($bits, fileno($e->{socket}), 1) = 1;
		next unless select $bits, undef, undef, 0.1;
		my $got = sysread $e->{socket}, $e->{bytes}, 1 << 20, length $e->{bytes};
		take_apart($e) if $got;
		$e->{end} //= defined $got ? ($e->{chunked} || defined $e->{length} ? 'cut' : 'closed') : 'reset'
		  unless $got;
	}
}

sub export
{
	my $e = open_export(@_);
	read_until($e, sub { $e->{end} });
	close $e->{socket};
	return $e;
}

sub lines { return split /\n/, $_[0]{text}; }
sub message { return eval { json_decode($_[0]{text})->{code} } // $_[0]{text}; }

# How often each number is in the file.
sub numbers { my %seen; $seen{$_}++ foreach $_[0]{text} =~ /"n":(\d+)\b/g; return \%seen; }

sub send_events
{
	my ($to, @events) = @_;
	while (my @batch = splice @events, 0, 10_000)
	{
		my $r = $t->http(POST => '/api/v1/logs/batch', token => $to->{ingest_key}, json => \@batch);
		die $r->{content} unless $r->{status} == 202;
	}
	return;
}

# ---- many rows, while everything goes on ----

# A second has a thousand events, so many share each millisecond; every 10th will be deleted.
my $start = int(time) - 3600;
sub at { my ($i) = @_; return strftime('%Y-%m-%dT%H:%M:%S', gmtime $start + int($i / 1000)) . 'Z'; }

send_events($org, map { { timestamp => at($_), event => "event number $_", source => 's' . $_ % 7,
		level => $_ % 10 == 0 ? 'debug' : 'info', attributes => { n => $_, host => 'h' . $_ % 13 } } }
	0 .. $n - 1);
send_events($other, { event => 'foreign', attributes => { n => 1 } });

my $all = { q => 'index=main', earliest => '-2h', latest => 'now', format => 'ndjson' };
my $export = open_export($all, room => 65536);
read_until($export, sub { length $export->{text} > 1_000_000 });
# Into the range of what is still to come, while the client does not read.
send_events($org, map { { timestamp => at($_), event => 'came later', attributes => { n => $n + $_ } } } 0 .. 999);
my $r = $t->http(DELETE => '/api/v1/logs', token => $org->{token},
	json => { q => 'index=main level=debug earliest=-2h', reason => 'test' });
is($r->{status}, 202, 'events are deleted meanwhile');
wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 });
wait_until(sub { $t->http(GET => "/api/v1/log-deletions/$r->{json}{data}{runId}",
			token => $org->{token})->{json}{data}{status} eq 'done' });
is($t->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'logsvc%'
	AND xact_start < now() - interval '2 s' AND query LIKE '%export%'}), 0,
	'while the client does not read, no transaction is open');
read_until($export, sub { $export->{end} });
is($export->{end}, 'complete', 'an export ends');
my $seen = numbers($export);
is(scalar(grep { $_ > 1 } values %$seen), 0, '... no row twice');
is(scalar(grep { $_ % 10 != 0 && !$seen->{$_} } 0 .. $n - 1), 0, '... none missing');
is(scalar(grep { $_ >= $n } keys %$seen), 0, '... none that came later');
my @times = $export->{text} =~ /"timestamp":"([^"]+)"/g;
is(scalar(grep { $times[$_] gt $times[ $_ - 1 ] } 1 .. $#times), 0, '... the newest first');
is($export->{trailers}, 'X-Rows: ' . @times . "\r\nX-Truncated: false\r\n", '... how many, as trailers');
unlike($export->{text}, qr/foreign/, '... none of others');
like($export->{head}, qr{^Content-Type: application/x-ndjson\r$}m, '... as lines');
like($export->{head}, qr{^Content-Disposition: attachment; filename="logs-\d{8}T\d{6}Z\.ndjson"\r$}m, '... as a file');
like($export->{head}, qr{^X-RateLimit-Limit: }m, '... which is counted');

my $entries = $t->sql_json(q{SELECT jsonb_agg(jsonb_build_object('action', action, 'resource', resource,
	'details', details) ORDER BY at) FROM logsvc_internal.audit_entry WHERE action LIKE 'export.%'});
is_deeply([ map { $_->{action} } @$entries ], [ 'export.created', 'export.finished' ], 'the audit log has it');
is($entries->[0]{details}{query}, 'index=main', '... its query');
is($entries->[1]{details}{rows}, scalar @times, '... how many rows it had');
is($entries->[0]{resource}, $entries->[1]{resource}, '... of one request');

# The rest: 180,000 old ones and 1,000 new ones.
my $left = $n - $n / 10 + 1000;
my $zipped = export($all, headers => { 'Accept-Encoding' => 'gzip' });
like($zipped->{head}, qr/^Content-Encoding: gzip\r$/m, 'gzip');
my ($inflate) = Compress::Zlib::inflateInit(-WindowBits => 15 + 16);
my ($plain, $status) = $inflate->inflate($zipped->{text});
ok($status == Compress::Zlib::Z_STREAM_END(), '... is one member, with the right sum');
is(length $zipped->{text}, 0, '... and nothing follows');
is(scalar(split /\n/, $plain), $left, '... of all rows');
# A part of it is enough from here on.
my $some = { %$all, q => 'index=main n<60000' };
$left = 54_000;
my $csv = export({ %$some, format => 'csv' });
my @rows = split /\r\n/, $csv->{text};
is(shift @rows, '"id","timestamp","ingestedAt","event","level","source","service","index","traceId","spanId","attributes"',
	'CSV has a line of names');
is(scalar @rows, $left, '... and all rows');
my %ids = map { /^"(evt_\w{26})"/ ? ($1 => 1) : () } @rows;
is(scalar keys %ids, $left, '... each once');
my $old = export($some, version => '1.0');
unlike($old->{head}, qr/chunked/i, 'HTTP/1.0');
is(scalar(lines($old)), $left, '... gets all rows');
is($old->{end}, 'closed', '... and the end of the connection');
my $head = export($some, method => 'HEAD');
is("$head->{status} $head->{text}", '200 ', 'HEAD');

# ---- stages ----

sub compare
{
	my ($q, $name, $sql, %parameters) = @_;
	my $e = export({ q => $q, earliest => '-2h', format => 'ndjson', %parameters });
	my $expected = $sql;
	is(join('|', $e->{end} // '', scalar lines($e)), "complete|$expected", $name) or diag substr $e->{text}, 0, 1000;
	return $e;
}
my $e = compare('| where n % 100 = 1', 'rows that a condition chooses', $n / 100 + 10);
is(scalar(keys %{ numbers($e) }), $n / 100 + 10, '... each once');
$e = compare('| eval m = n * 2 | where m % 1000 = 2 | table n, m', 'as a table', $n / 500 + 2);
is_deeply(json_decode((lines($e))[-1]), { n => 1, m => 2 }, '... of these columns');
$e = compare('n<60000 | stats count by n', 'a table of many groups', $left);
is(scalar(keys %{ numbers($e) }), $left, '... each once');
my @n = $e->{text} =~ /"n":(\d+)/g;
is_deeply([ @n[ 0 .. 3 ] ], [ 1, 2, 3, 4 ], '... in order');
$e = compare('n<100000 | stats count by n, event, host, source, level, _time', 'a table of several pieces', 90_000);
is(scalar(keys %{ numbers($e) }), 90_000, '... each once');
like($e->{head}, qr/^Trailer: /m, '... it is');
# The table is computed again for each piece: events of its range that are deleted meanwhile make it
# another one.
$e = open_export({ q => 'n<100000 | stats count by n, event, host, source, level, _time', earliest => '-2h', format => 'ndjson' },
	room => 65536);
read_until($e, sub { length $e->{text} > 100_000 });
$r = $t->http(DELETE => '/api/v1/logs', token => $org->{token}, json => { q => 'index=main n=1 earliest=-2h', reason => 'test' });
is($r->{status}, 202, 'an event of a table is deleted while the table is exported');
ok(wait_until(sub { $t->http(GET => "/api/v1/log-deletions/$r->{json}{data}{runId}", token => $org->{token})->{json}{data}{status} eq 'done' }),
	'... it is gone');
read_until($e, sub { $e->{end} });
is($e->{end}, 'cut', '... the file has no end') or diag length $e->{text};
$r = eval { json_decode((lines($e))[-1]) };
is($r->{code}, 'EXPORT_CHANGED', '... and its last line says why');
like($r->{error}, qr/deleted while the table was exported/, '... in words');
send_events($org, { timestamp => at(1), event => 'event number 1', source => 's1', level => 'info', attributes => { n => 1, host => 'h1' } });

# Oldest first, in several pieces.
$e = compare('n<60000', 'oldest first', $left, order => 'asc');
@n = $e->{text} =~ /"n":(\d+)\b/g;
is(scalar(grep { at($n[$_]) lt at($n[ $_ - 1 ]) } 1 .. $#n), 0, '... in order');
is(scalar(keys %{ numbers($e) }), $left, '... each once');
$e = compare('n<60000 | where n % 100 = 1', '... with rows left out', 600, order => 'asc');
cmp_ok(($e->{text} =~ /"n":(\d+)\b/g)[0], '<', 1000, '... from the first second');
$e = export({ q => '*', earliest => '-2h', order => 'asc', limit => 3000 });
is(scalar lines($e), 3000, '... up to a limit');
is(message(export({ q => '* | stats count by n', order => 'asc' })), 'VALIDATION_ERROR', 'a table has its own order');
is(message(export({ q => '*', order => 'up' })), 'VALIDATION_ERROR', 'another order');
compare('level=info | head 5', 'a stage with an end', 5);
compare('level=none', 'no row', 0);
is(export({ q => 'n<60000 | stats count', format => 'csv', earliest => '-2h' })->{text}, qq{"count"\r\n$left\r\n}, 'one row');
is(export({ q => 'level=none', format => 'csv', fields => 'n,event' })->{text}, qq{"n","event"\r\n}, 'no row has names');
is(export({ q => 'n=7', earliest => '-2h', format => 'csv', fields => 'n,event,host' })->{text},
	qq{"n","event","host"\r\n7,"event number 7","h7"\r\n}, 'fields are columns');
is(export({ q => 'n=7 | fields event, n', earliest => '-2h', format => 'csv' })->{text},
	qq{"event","attributes"\r\n"event number 7","{""n"":7}"\r\n}, 'stage fields chooses members');
$e = export({ q => '*', earliest => '-2h', limit => 25_000 });
is(scalar(lines($e)), 25_000, 'a limit');
is($e->{trailers}, "X-Rows: 25000\r\nX-Truncated: true\r\n", '... says that there was more');
$e = export({ q => '*', earliest => '-2h', limit => 3 });
like($e->{head}, qr/^X-Truncated: true\r$/m, '... in a header, if it is one piece');

# ---- cells ----

my $nasty = qq{a "quoted"\nline, and; more\r\n\t};
send_events($org, { event => '=cmd|x', source => 'cells', attributes => { a => '+1', b => $nasty, c => -5, d => undef } },
	{ event => $nasty, source => 'cells', attributes => { a => "\x{FEFF}\@sum", b => 'x' } });
$e = export({ q => 'source=cells', format => 'csv', fields => 'event,a,b,c,d' });
(my $quoted = $nasty) =~ s/"/""/g;
my ($bom) = ("\x{FEFF}") x 1;
utf8::encode($bom);
is_deeply([ sort split /(?<=\r\n)(?="'=|"a "")/, substr($e->{text}, index($e->{text}, "\r\n") + 2) ],
	[ sort qq{"'=cmd|x","'+1","$quoted",-5,\r\n}, qq{"$quoted","'${bom}\@sum","x",,\r\n} ],
	'formulas, quotes and line breaks') or diag $e->{text};

# ---- who may, and what is wrong ----

is(export($all, token => $org->{read_key})->{status}, 403, 'a key that only reads');
is(export($all, token => 'nonsense')->{status}, 401, 'no credential');
my $reader = $t->sql_json("SELECT logsvc.create_token('acme', 'acme\@example.org', 'r', '{logs:read,logs:export}')")->{token};
is(export({ q => 'index=_audit' }, token => $reader)->{status}, 403, 'the audit log needs audit:read');
is(export({ q => 'index=_audit' }, token => $org->{full_key})->{status}, 403, '... which no key has');
like(export({ q => 'index=_audit' }, token => $org->{token})->{text}, qr/export\.created/, '... with it, it is a file');
is(scalar(lines(export({ q => '*', earliest => '-2h' }, token => $other->{full_key}))), 1, 'another organization has its own');
foreach ([ { q => '| stat count' }, 'QUERY_SYNTAX_ERROR' ], [ { q => '*', format => 'xml' }, 'VALIDATION_ERROR' ],
	[ { q => '*', limit => 1_000_001 }, 'VALIDATION_ERROR' ], [ { q => '*', limit => 0 }, 'VALIDATION_ERROR' ],
	[ { q => '*', fields => '' }, 'VALIDATION_ERROR' ], [ { q => '*', fields => 'a`b' }, 'VALIDATION_ERROR' ],
	[ { q => '*', colour => 'red' }, 'VALIDATION_ERROR' ], [ { q => '*', earliest => 'soon' }, 'VALIDATION_ERROR' ],
	[ { q => 'index=nothing' }, 'INDEX_NOT_FOUND' ])
{
	my ($parameters, $code) = @$_;
	is(message(export($parameters)), $code, join ' ', map { "$_=$parameters->{$_}" } sort keys %$parameters);
}

# ---- ends ----

sub begun
{
	my $e = open_export($some, room => 32768, @_);
	read_until($e, sub { length $e->{text} > 100_000 });
	return $e;
}
sub rest { my ($e) = @_; read_until($e, sub { $e->{end} }); return $e->{end}; }

my $token = $t->sql_json("SELECT logsvc.create_token('acme', 'acme\@example.org', 'x', '{logs:read,logs:export}')");
$e = begun(token => $token->{token});
$t->sql("SELECT logsvc.revoke_token('$token->{id}')");
is(rest($e), 'cut', 'a revoked token ends an export in the middle');
ok(scalar(lines($e)) < $left, '... soon');
is(eval { json_decode((lines($e))[-1])->{code} }, 'PAT_REVOKED', '... and the last line says why');
$e = begun();
$t->stop_at('execute_request');
my $pid;
# The next piece begins when the client reads.
read_until($e, sub { $pid = $t->sql("SELECT stop_point.held('execute_request')") });
$t->sql("SELECT pg_terminate_backend($pid)");
$t->let_go('execute_request');
is(rest($e), 'cut', 'so does the end of its executor');
unlike($e->{text}, qr/SERVICE_UNAVAILABLE/, '... without a word, because the next row may be half made');

my $key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'y', 'full-access')");
my $cut = begun(version => '1.0', token => $key->{key});
$t->sql("SELECT logsvc.revoke_api_key('$key->{id}')");
is(rest($cut), 'reset', 'HTTP/1.0 sees a reset');
my @two = map { begun() } 1 .. 2;
is(message(export($some)), 'RATE_LIMIT_EXCEEDED', 'a caller may have two at a time');
close $_->{socket} foreach @two;
ok(wait_until(sub { export({ q => 'n=7', earliest => '-2h' })->{status} == 200 }),
	'whoever leaves makes room at once');

# What executors work is charged, and an export waits when there is no time left.
$e = begun();
$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = 1 WHERE class = 'executor'");
read_until($e, sub { 0 }, 3, 'may wait');
ok(!$e->{end}, 'an export waits for executor time of its organization');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
is(rest($e), 'complete', '... and goes on');
is(scalar(lines($e)), $left, "... with all rows");

# The server itself.
$e = begun();
$t->node->stop('fast');
is(rest($e), 'cut', 'the end of the server');
$t->node->start;
$t->wait_ready;

# ---- for workers ----

is($t->sql(q{SELECT logsvc.act_as('acme', 'acme@example.org') ->> 'kind';
	CREATE TEMP TABLE file AS WITH RECURSIVE piece AS (
		SELECT 1 AS i, p.* FROM logsvc_internal.export_piece('n<30000', '-2h', NULL, 'json', NULL, 20000) p
		UNION ALL SELECT i + 1, p.* FROM piece, LATERAL logsvc_internal.export_piece('n<30000', '-2h', NULL, 'json',
			piece.next_position, NULL) p WHERE piece.next_position IS NOT NULL)
	SELECT * FROM piece;
	SELECT count(*) > 1 AND bool_or(truncated) AND sum(rows) = 20000 AND jsonb_array_length(
		convert_from(string_agg(data, '' ORDER BY i), 'UTF8')::jsonb) = 20000 FROM file}), "user\nt", 'pieces for workers are one file');

done_testing();
