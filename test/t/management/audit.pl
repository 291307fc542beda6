# audit.pl: the audit log over HTTP: what requests leave in it, searching,
# lists and files; one chain under 32 concurrent writers; a full queue; a dump.
use strict;
use warnings;

use LogsvcTest;
use Test::More;
use POSIX ();

my $t = LogsvcTest->new(conf => "logsvc.executors = 8\nlogsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
my $viewer = $t->organization('viewers', role => 'viewer');

sub get { my ($path, %opt) = @_; return $t->http(GET => $path, token => $org->{token}, %opt); }
sub entries { return get("/api/v1/audit?limit=100&$_[0]")->{json}{data}; }
sub found { my ($q, $token) = @_; $q =~ s/ /%20/g; $q =~ s/=/%3D/g;
	return $t->http(GET => "/api/v1/search?limit=1000&earliest=-1h&q=$q",
		token => $token // $org->{token}); }
sub valid { return $t->sql("SELECT logsvc.verify_audit('acme')->>'valid'"); }

# ---- what a request leaves ----

my $r = $t->http(POST => '/api/v1/api-keys', token => $org->{token},
	json => { name => 'from http', scope => 'ingest-only' },
	headers => { 'User-Agent' => 'tester/1.0' });
is($r->{status}, 201, 'a key is created');
my $key = $r->{json}{data};
my ($e) = @{ entries('action=api_key.created') };
is_deeply([ @$e{qw(actor action resource resource_type ip_address user_agent)} ],
	[ $org->{email}, 'api_key.created', $key->{id}, 'api_key', '127.0.0.1', 'tester/1.0' ],
		'who did what from where');
is_deeply([ sort keys %$e ], [qw(action actor details ip_address resource resource_type timestamp
	user_agent)], 'the shape of the specification');
unlike($r = get('/api/v1/audit?limit=100')->{content}, qr/$key->{key}|$org->{token}/, 'no secret');

# The first use of a key, and that one only.
is_deeply(entries('action=api_key.first_used'), [], 'a key that was not used');
is($t->http(POST => '/api/v1/logs', token => $key->{key}, json => { event => "e $_" },
	headers => { 'User-Agent' => 'shipper' })->{status}, 202, 'a use') foreach 1 .. 3;
$r = entries('action=api_key.first_used');
is(scalar(@$r), 1, 'its first use');
is_deeply([ @{ $r->[0] }{qw(actor resource ip_address user_agent)} ],
	[ $key->{id}, $key->{id}, '127.0.0.1', 'shipper' ], 'by whom, from where');

# ---- searching ----

my $queue_empty = sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 };
ok(wait_until($queue_empty), 'entries are written to parts');
$r = found("index=_audit action=api_key.* details.name=\"from http\"");
is($r->{status}, 200, 'a search');
is(scalar(@{ $r->{json}{data}{rows} }), 1, 'finds the entry by its details');
is($r->{json}{data}{rows}[0]{timestamp}, $e->{timestamp}, 'at the same time');
is_deeply([ @{ $r->{json}{data}{rows}[0]{attributes} }{qw(actor action resource resource_type
	ip_address user_agent details)} ],
	[ @$e{qw(actor action resource resource_type ip_address user_agent details)} ],
		'with the same fields');
is($r->{json}{data}{rows}[0]{source}, 'audit', 'source');
is(get('/api/v1/logs?index=_audit&limit=1000')->{json}{data}[0]{index}, '_audit', 'GET /logs too');
foreach my $case ([ 'a key', $org->{full_key}, 'INSUFFICIENT_SCOPE', 403 ],
	[ 'a viewer', $viewer->{token}, 'FORBIDDEN', 403 ])
{
	my ($name, $token, $code, $status) = @$case;
	is(found('index=_audit', $token)->{json}{code}, $code, "$name: search");
	is($t->http(GET => '/api/v1/logs?index=_audit', token => $token)->{json}{code}, $code,
		"$name: logs");
	is($t->http(GET => '/api/v1/audit', token => $token)->{status}, $status, "$name: list");
	is($t->http(GET => '/api/v1/audit/export', token => $token)->{status}, $status, "$name: file");
	is(scalar(grep { $_->{index} eq '_audit' } @{ found('index=*', $token)->{json}{data}{rows} }),
		0, "$name: not among all");
}
is(scalar(grep { $_->{index} ne 'main' } @{ found('index=*')->{json}{data}{rows} }), 0,
	'an owner: not among all either');

# ---- files ----

$r = get('/api/v1/audit/export?format=csv');
is_deeply([ $r->{status}, $r->{headers}{'content-type'}, $r->{headers}{'content-disposition'} ],
	[ 200, 'text/csv; charset=utf-8', 'attachment; filename="audit.csv"' ], 'CSV');
my @lines = split /\r\n/, $r->{content};
is(scalar(@lines) - 1, $r->{headers}{'x-entry-count'}, 'a line for each entry');
$r = get('/api/v1/audit/export?format=ndjson&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z');
is_deeply([ $r->{status}, $r->{content} ], [ 200, '' ], 'none of that time');
is(get('/api/v1/audit/export?format=xml')->{status}, 400, 'an unknown format');

# ---- 32 writers at once ----

my $before = $t->sql("SELECT number FROM logsvc_internal.audit_head h JOIN "
	. "logsvc_internal.organization o ON o.id = h.organization_id WHERE slug = 'acme'");
my @writers;
foreach my $w (1 .. 32)
{
	my $file = "$ENV{TESTDATADIR}/writer.$w.sql";
	open my $out, '>', $file or die $!;
	foreach my $i (1 .. 20)
	{
		print $out "BEGIN;\n" if $i % 3 == 0;
		print $out "SELECT logsvc_internal.audit(id, 'test.done', '$w.$i') FROM logsvc_internal.organization WHERE slug = 'acme';\n";
		print $out "SELECT logsvc_internal.audit(id, 'test.done', '$w.$i b') FROM logsvc_internal.organization WHERE slug = 'acme';\n" if $i % 3 == 0;
		print $out $i % 6 == 0 ? "ROLLBACK;\n" : "COMMIT;\n" if $i % 3 == 0;
	}
	close $out;
	my $pid = fork // die $!;
	if ($pid == 0)
	{
		open STDOUT, '>', '/dev/null';
		exec 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $t->node->connstr('postgres'), '-f',
			$file or POSIX::_exit(1);
	}
	push @writers, $pid;
}
my @status = map { waitpid $_, 0; $? } @writers;
is(scalar(grep { $_ != 0 } @status), 0, '32 writers');
# 20 and a second one in every third, less those of every sixth.
my $written = 32 * (20 + 6 - 3 * 2);
is($t->sql("SELECT number FROM logsvc_internal.audit_head h JOIN logsvc_internal.organization o ON "
	. "o.id = h.organization_id WHERE slug = 'acme'") - $before,
	$written, "$written entries have a place in the chain");
is(valid(), 'true', 'the chain is whole');
ok(wait_until($queue_empty), 'written to parts');
is(found('index=_audit action=test.done | stats count by action')->{json}{data}{rows}[0][1],
	$written, 'each is found by searching');

# Somebody who sits on a transaction keeps nobody from writing.
my $session = $t->node->background_psql('postgres');
$session->query_safe("BEGIN; SELECT logsvc_internal.audit(id, 'test.slow', 'x') FROM "
	. "logsvc_internal.organization WHERE slug = 'acme'");
is($t->http(POST => '/api/v1/api-keys', token => $org->{token},
	json => { name => 'meanwhile', scope => 'read-only' })->{status}, 201,
		'an open transaction with an entry is in nobody\'s way');
$session->query_safe('COMMIT');
$session->quit;
is(valid(), 'true', 'and gets its place when it commits');

# ---- a full queue ----

$t->set('logsvc.writers', 1);
# There are other organizations, for which a quarter is kept: this one may have 1,000.
$t->set('logsvc.queue_limit', 1333);
$t->stop_at('write_before_commit');
$t->http(POST => '/api/v1/logs', token => $key->{key}, json => { event => 'x' });
$t->wait_held('write_before_commit');
$t->http(POST => '/api/v1/logs/batch', token => $key->{key}, json => [ map { "e $_" } 1 .. 50 ])
	while $t->sql('SELECT sum(rows) FROM logsvc_internal.queue') < 950;
is($t->http(POST => '/api/v1/logs/batch', token => $key->{key},
	json => [ map { "e $_" } 1 .. 100 ])->{status}, 429, 'the queue is full');
is($t->http(DELETE => "/api/v1/api-keys/$key->{id}", token => $org->{token})->{status}, 204,
	'a key can be revoked all the same');
$t->sql("SELECT logsvc_internal.audit(id, 'test.flood', n::text) FROM "
	. "logsvc_internal.organization, generate_series(1, 100) n WHERE slug = 'acme'");
$t->let_go('write_before_commit');
ok(wait_until($queue_empty), 'the queue runs empty');
is(scalar(@{ found("index=_audit resource=$key->{id} action=api_key.revoked")->{json}{data}{rows}
	}), 1, 'and the entry is there');

# ---- a dump ----

my $dump = "$ENV{TESTDATADIR}/audit.sql";
$t->node->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'pg_dump');
$t->sql('CREATE DATABASE restored TEMPLATE template0');
$t->node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'restored', '-f', $dump ],
	'restore');
is($t->sql("SELECT logsvc.verify_audit('acme')->>'valid'", database => 'restored'), 'true',
	'the chain is whole after a restore');
is($t->sql("SELECT logsvc.audit_head('acme')", database => 'restored'),
	$t->sql("SELECT logsvc.audit_head('acme')"), 'and has the same head');

$t->stop;
done_testing;
