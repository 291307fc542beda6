# object_store.pl: exports into a real object store (test/npm/s3.js): files of one part and of
# more, wrong secrets and buckets, stores that fail and hang, addresses that are not called, a
# notifier that is killed, and where secrets must not be.
use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use File::Find ();
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $secret = 'secret/of+the=store';
my $path = '/api/v1/scheduled-exports';

# ---- the store ----

my ($store, $output, $port);
sub start_store
{
	mkdir "$dir/objects";
	$store = open($output, '-|') // die "cannot fork: $!\n";
	if ($store == 0)
	{
		$SIG{$_} = 'DEFAULT' foreach qw(TERM INT HUP);
		open STDERR, '>>', "$dir/store.log";
		exec 'node', 'build/npm/s3.js', "$dir/objects", "$dir/rules", 'AKIATEST', $secret;
		require POSIX;
		POSIX::_exit(1);
	}
	chomp($port = <$output> // '');
	die 'the store does not start: ' . slurp_file("$dir/store.log") unless $port =~ /^\d+$/;
	return;
}
END
{
	local $?;
	kill 'TERM', $store if $store;
	close $output if $output;
}

# What happens to requests from now on (test/npm/s3.js).
sub rules
{
	open my $out, '>', "$dir/rules.new" or die $!;
	print $out "$_\n" foreach @_;
	close $out;
	rename "$dir/rules.new", "$dir/rules" or die $!;
	return;
}
sub requests { return -f "$dir/rules.log" ? split /\n/, slurp_file("$dir/rules.log") : (); }
sub forget { unlink "$dir/rules.log"; return; }

# Keys with their contents, and how many multipart uploads there are.
sub objects
{
	my %found;
	File::Find::find({ no_chdir => 1, wanted => sub {
		$found{$1} = $File::Find::name
		  if $File::Find::name =~ m{^\Q$dir\E/objects/logs/(.*)\._S3rver_object$};
	} }, "$dir/objects");
	return \%found;
}
sub unfinished
{
	return scalar grep { -d } glob "$dir/objects/logs/._S3rver_uploads/*";
}

start_store();
my $t = LogsvcTest->new(conf => 'restart_after_crash = on');
my $org = $t->organization('acme', plan => 'enterprise');
my $endpoint = "http://127.0.0.1:$port";
my %delivery = (kind => 'objectStore', endpoint => $endpoint, bucket => 'logs', prefix => 'daily/year=2026',
	accessKeyId => 'AKIATEST', secretAccessKey => $secret);
my %export = (name => 'Ours, all', q => 'service=big', cron => '@hourly', format => 'ndjson',
	range => { earliest => '2020-01-01T00:00:00Z', latest => '2090-01-01T00:00:00Z' });

sub ask
{
	my ($method, $where, $expected, $name, %options) = @_;
	my $r = $t->http($method => $path . $where, token => $org->{token}, %options);
	my $code = ref $r->{json} eq 'HASH' ? $r->{json}{code} : undef;
	is($r->{status} . ($code ? " $code" : ''), $expected, $name) or diag $r->{content};
	return $r->{json}{data} // $r->{json};
}

# ---- what it may be ----

sub refused
{
	my ($where, $name, %members) = @_;
	my $answer = ask(POST => '', '400 VALIDATION_ERROR', $name,
		json => { %export, delivery => { %delivery, %members } });
	is(join(' ', map { $_->{path} } @{ $answer->{details} }), "delivery.$where", "... $where");
	return;
}
refused('endpoint', 'a private address, which nobody has opened');
refused('endpoint', 'http:// to somewhere', endpoint => 'http://s3.example');
$t->set('logsvc.webhook_networks', '127.0.0.0/8');
refused('endpoint', 'a path', endpoint => "$endpoint/store");
refused('endpoint', 'a user', endpoint => 'https://me:pw@s3.example');
refused('bucket', "bucket $_", bucket => $_) foreach 'LOGS', '../x', 'a/b', 'a..b';
refused('prefix', "prefix $_", prefix => $_) foreach '/x', 'a//b', 'a/../b', '..', 'a?b', "a\nb";
refused('region', 'no region', region => "eu\nx");
refused('accessKeyId', 'no id', accessKeyId => 'a/b');
refused('secretAccessKey', 'blanks in the secret', secretAccessKey => 'a b');
refused('secretAccessKey', 'no secret', secretAccessKey => undef);
refused('addressing', 'addressing', addressing => 'dns');
refused('addressing', 'a bucket in front of an address', addressing => 'virtualHost');

my $made = ask(POST => '', 201, 'an export into an object store',
	json => { %export, delivery => { %delivery } });
is_deeply($made->{delivery}, { kind => 'objectStore', endpoint => $endpoint, region => 'us-east-1', bucket => 'logs',
	prefix => 'daily/year=2026', addressing => 'path', accessKeyId => 'AKIATEST', secretSet => JSON::PP::true },
	'it says all but the secret');
my $id = $made->{id};
ask(PATCH => "/$id", 200, 'another prefix', json => { delivery => { prefix => 'daily' } });
ask(PATCH => "/$id", '400 VALIDATION_ERROR', "with the old secret no other $_->[0]",
	json => { delivery => { $_->[0] => $_->[1] } })
  foreach [ endpoint => 'https://evil.example' ], [ bucket => 'other' ], [ accessKeyId => 'AKIAOTHER' ];

# ---- runs ----

sub run_of
{
	my ($run) = @_;
	return (grep { $_->{id} eq $run }
		  @{ $t->http(GET => "$path/$id/runs?limit=100", token => $org->{token})->{json}{data} })[0];
}
sub start_run { return ask(POST => "/$id/run", 202, $_[0] // 'a run')->{id}; }
sub becomes
{
	my ($run, $status, $attempts, $name) = @_;
	my $r;
	wait_until(sub {
		$r = run_of($run);
		$r->{status} eq $status && $r->{attempts} == $attempts;
	});
	is("$r->{status} $r->{attempts}", "$status $attempts", $name) or diag explain $r;
	return $r;
}
sub try_now
{
	my ($run) = @_;
	$t->sql("UPDATE logsvc_internal.export_run SET next_attempt_at = now() WHERE id = "
		. "logsvc_internal.parse_public_id('run_', '$run'); SELECT logsvc_internal.wake_notifier()");
	return;
}

# The file, as a download gives it.
my $plain = ask(POST => '', 201, 'the same as a download',
	json => { %export, delivery => { kind => 'download' } })->{id};
sub downloaded
{
	my $run = ask(POST => "/$plain/run", 202, 'a run of it')->{id};
	my $list = "$path/$plain/runs?limit=100";
	my $ended = wait_until(sub {
		(grep { $_->{id} eq $run && $_->{finishedAt} }
			  @{ $t->http(GET => $list, token => $org->{token})->{json}{data} })[0];
	});
	return $t->http(GET => "/api/v1/exports/$ended->{id}/download", token => $org->{token})->{content};
}

# The object is the only one, and has exactly these bytes; nothing is left of an upload.
sub has_exactly
{
	my ($run, $expected, $name) = @_;
	my ($key) = ($run->{object} // '') =~ m{^s3://logs/(.*)$};
	my $objects = objects();
	my $content = defined $key && $objects->{$key} ? slurp_file($objects->{$key}) : '';
	is(join(' ', sort keys %$objects), $key, "$name: one object");
	is(length($content) . ' ' . sha256_hex($content),
		length($expected) . ' ' . sha256_hex($expected), '... with all bytes');
	is(unfinished(), 0, '... and no unfinished upload');
	return;
}

my $small = becomes(start_run('a run without rows'), 'succeeded', 1, 'is uploaded');
like($small->{object}, qr{^s3://logs/daily/$id/ours-all-\w+Z-\w+Z\.ndjson$}, 'it says where');
is($small->{downloadUrl}, undef, 'the file is not kept here');
has_exactly($small, '', 'an empty file');
is($t->sql('SELECT count(*) FROM logsvc_internal.export_file'), 0, 'nothing is left of it here');
is($t->sql("SELECT details ->> 'object' FROM logsvc_internal.audit_entry WHERE resource = '$small->{id}' "
	. "AND action = 'export.created'"), $small->{object}, 'the audit log says where it is');

my $filler = join '', map { chr(33 + $_ * 7 % 90) } 1 .. 2900;
foreach my $batch (0 .. 2)
{
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{token},
		json => [ map { { event => "$batch.$_ " . substr($filler, $_ % 90), service => 'big' } } 1 .. 1100 ]);
	is($r->{json}{data}{accepted}, 1100, 'events');
}
my $expected = downloaded();
cmp_ok(length($expected), '>', 8 * 1024 * 1024 + 1, 'a file of two parts');

forget();
my $large = becomes(start_run(), 'succeeded', 1, 'a file of parts');
has_exactly($large, $expected, 'it replaces that of the same period');
is_deeply([ map { s/uploadId=\w+/uploadId=I/r =~ s/ .*\?/ /r } requests() ],
	[ 'POST uploads= 200', (map { "PUT partNumber=$_&uploadId=I 200" } 1 .. 2), 'POST uploadId=I 200' ],
	'by the requests of a multipart upload');

# ---- failures ----

sub fails
{
	my ($what, $error, @rules) = @_;
	rules(@rules);
	my $run = start_run($what);
	my $r = becomes($run, 'delivering', 1, '... fails');
	is($r->{error}{code}, 'OBJECT_STORE_ERROR', '... as such');
	like($r->{error}{message}, $error, '... in words');
	unlike($r->{error}{message}, qr/secret words/, '... of ours');
	is(unfinished(), 0, '... and aborts what it had begun');
	rules();
	try_now($run);
	return becomes($run, 'succeeded', 2, '... and is tried again');
}

fails('a store that fails at part 2', qr/^the object store answered 503 InternalError: /, '503 partNumber=2');
fails('one that cannot begin', qr/answered 500/, '500 POST.*uploads=');
fails('one that says in a body of status 200 that it has failed',
	qr/answered 200 InternalError: the store has failed/, 'lie ^POST.*uploadId=');
has_exactly(fails('a redirect', qr/answered 307.*a redirect is not followed/, '307 partNumber=2'),
	$expected, 'after all that');

ask(PATCH => "/$id", 200, 'a wrong secret', json => { delivery => { secretAccessKey => 'another-secret' } });
my $run = start_run();
is(becomes($run, 'delivering', 1, 'fails')->{error}{message},
	'the object store answered 403 SignatureDoesNotMatch: the secret access key is wrong, or the region', 'in words');
ask(PATCH => "/$id", 200, 'a bucket that is not there',
	json => { delivery => { bucket => 'missing', secretAccessKey => $secret } });
try_now($run);
is(becomes($run, 'delivering', 2, 'fails too')->{error}{message},
	'the object store answered 404 NoSuchBucket: there is no such bucket', 'in words');
ask(PATCH => "/$id", 200, 'the right one, in front of the host', json => { delivery => { bucket => 'logs',
	secretAccessKey => $secret, endpoint => "http://s3.localhost:$port", addressing => 'virtualHost' } });
try_now($run);
has_exactly(becomes($run, 'succeeded', 3, 'what was mended counts for the run that waits'), $expected,
	'virtual hosts');
ask(PATCH => "/$id", 200, 'back', json => { delivery => { endpoint => $endpoint, addressing => 'path',
	secretAccessKey => $secret } });

# ---- one that no store takes ----

rules('503 PUT');
forget();
$run = start_run('a file that the store does not take yet');
becomes($run, 'delivering', 1, 'waits');
$t->sql("UPDATE logsvc_internal.export_run SET bytes = 10000 * 8388608::bigint + 1 WHERE id = "
	. "logsvc_internal.parse_public_id('run_', '$run')");
rules();
forget();
try_now($run);
like(becomes($run, 'failed', 2, 'one of more than 10,000 parts fails at once')->{error}{message},
	qr/^the file has 83886080001 bytes, and object stores take at most 83886080000, 10000 parts of 8 MB/, 'in words');
is(scalar(() = requests()), 0, 'nothing of it is sent');

# ---- one that hangs ----

my $other = $t->organization('other', plan => 'enterprise');
rules('hang /hanging/');
my $hanging = $t->http(POST => $path, token => $other->{token},
	json => { %export, delivery => { %delivery, prefix => 'hanging' } })->{json}{data}{id};
is($t->http(POST => "$path/$hanging/run", token => $other->{token})->{status}, 202, 'a store that hangs');
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.export_run WHERE worker = -1 AND upload ? 'begun'") }),
	'is being waited for');
has_exactly(becomes(start_run(), 'succeeded', 1, 'meanwhile others are served'), $expected, 'it');
ok(wait_until(sub { $t->sql("SELECT count(*) = 1 FROM pg_stat_activity "
	. "WHERE backend_type LIKE 'logsvc notifier%' AND xact_start IS NULL") eq 't' }), 'and no transaction is open');
is($t->http(DELETE => "$path/$hanging", token => $other->{token})->{status}, 204, 'the export is deleted');
rules();

# ---- a file of the audit log: who may send it elsewhere, and an author who loses the right ----

$t->sql("SELECT logsvc.create_user('ann\@acme.example'); SELECT logsvc.add_member('acme', 'ann\@acme.example', 'admin')");
sub ann { my ($scopes) = @_; return $t->sql_json("SELECT logsvc.create_token('acme', 'ann\@acme.example', '$scopes', '{$scopes}')")->{token}; }
sub ann_becomes { return $t->sql("SELECT logsvc.set_member_role('acme', 'ann\@acme.example', '$_[0]')"); }
my ($ann, $exports_only) = (ann('logs:export,logs:read,audit:read'), ann('logs:export,logs:read'));
my $ours = $id;
$id = $t->http(POST => $path, token => $ann, json => { %export, name => 'audit', q => 'index=_audit',
	delivery => { %delivery, prefix => 'audit' } })->{json}{data}{id};
rules('503 /audit/');
my $audit = start_run('an export of the audit log');
becomes($audit, 'delivering', 1, 'waits for its store');
is($t->http(PATCH => "$path/$id", token => $ann, json => { q => 'service=big' })->{status}, 200, 'another query');
my $change = sub { return $t->http(PATCH => "$path/$id", token => $exports_only, json => { delivery => { prefix => 'mine' } })->{status} };
is($change->(), 403, 'who may not read the audit log cannot send the waiting file elsewhere');
ann_becomes('member');
rules();
try_now($audit);
is(becomes($audit, 'failed', 2, 'its author may not read it any more')->{error}{code}, 'FORBIDDEN', 'so it is not sent');
ann_becomes('admin');
is($change->(), 200, 'when nothing of it waits the delivery may be changed');
is($t->http(PATCH => "$path/$id", token => $ann, json => { q => 'index=_audit' })->{status}, 200, 'the audit log again');
$t->stop_at('upload_taken');
$audit = start_run('another run');
$t->wait_held('upload_taken');
ann_becomes('member');
$t->let_go('upload_taken');
is(becomes($audit, 'failed', 1, 'the right is gone when the file is read')->{error}{code}, 'FORBIDDEN', 'so it is not sent');
is(scalar(grep { m{^(audit|mine)/} } keys %{ objects() }), 0, 'the store has nothing of it');
$id = $ours;

# ---- a notifier that is killed ----

foreach my $point (qw(upload_taken upload_begun upload_part upload_completed upload_sending))
{
	forget();
	$t->stop_at($point);
	my $killed = start_run("killed at $point");
	kill_process($t->wait_held($point));
	$t->wait_ready;
	has_exactly(becomes($killed, 'succeeded', 1, 'it ends all the same'), $expected, $point);
	is($t->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE resource = '$killed' "
		. "AND action = 'export.created'"), 1, '... once');
	is(scalar(grep { /^DELETE .*uploadId=\w+ 204/ } requests()), $point eq 'upload_begun' ? 1 : 0,
		'... and one whose id was lost is aborted');
}

# ---- one whose unfinished uploads cannot be listed ----

forget();
rules('500 GET.*uploads=');
$t->stop_at('upload_taken');
my $unlisted = start_run('a store that cannot list');
kill_process($t->wait_held('upload_taken'));
$t->wait_ready;
has_exactly(becomes($unlisted, 'succeeded', 1, 'is sent all the same'), $expected, 'it');
is(scalar(grep { /^GET .*uploads= 500/ } requests()), 1, 'it was asked for them');
rules();

# ---- one that cannot be written down ----

my $said = sub { return scalar(() = slurp_file($t->node->logfile) =~ /cannot send files of/g) };
my $before = $said->();
my $their_id = $t->sql("SELECT id FROM logsvc_internal.organization WHERE slug = '$other->{slug}'");
$t->sql("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS "
	. "\$\$ BEGIN RAISE EXCEPTION 'refused by the test'; END \$\$;"
	. "CREATE TRIGGER refuse BEFORE UPDATE ON logsvc_internal.export_run FOR EACH ROW "
	. "WHEN (NEW.status = 'succeeded' AND NEW.organization_id = '$their_id') "
	. "EXECUTE FUNCTION public.refuse()");
my $refused = $t->http(POST => $path, token => $other->{token},
	json => { %export, delivery => { %delivery, prefix => 'refused' } })->{json}{data}{id};
is($t->http(POST => "$path/$refused/run", token => $other->{token})->{status}, 202, 'one that cannot be written down');
ok(wait_until(sub { $said->() > $before }), 'the log says so');
becomes(start_run(), 'succeeded', 1, 'meanwhile others go on');
$t->sql('DROP TRIGGER refuse ON logsvc_internal.export_run; DROP FUNCTION public.refuse()');
ok(wait_until(sub { $t->http(GET => "$path/$refused/runs", token => $other->{token})->{json}{data}[0]{status} eq 'succeeded' }),
	'then it is written down');

# ---- an export that is deleted while it is uploaded ----

$t->stop_at('upload_part');
start_run('deleted');
$t->wait_held('upload_part');
ask(DELETE => "/$id", 204, 'its export');
$t->let_go('upload_part');
ok(wait_until(sub { unfinished() == 0 }), 'its upload is aborted');

# ---- addresses that are not called ----

$t->set('logsvc.webhook_networks', '');
$id = ask(POST => '', 201, 'a name that means this machine', json => { %export, name => 'x',
	delivery => { %delivery, endpoint => "https://localhost:$port" } })->{id};
is(becomes(start_run(), 'delivering', 1, 'is not sent to')->{error}{message},
	'unreachable: the host has no address, or a private, local or reserved one', 'and says why');
$id = ask(POST => '', 201, 'a name that there is not', json => { %export, name => 'x2',
	delivery => { %delivery, endpoint => "https://nowhere.invalid:$port" } })->{id};
is(becomes(start_run(), 'delivering', 1, 'is told in the same way')->{error}{message},
	'unreachable: the host has no address, or a private, local or reserved one', 'with the same words');
is(scalar(grep { m{/x-} } requests()), 0, 'the store has heard nothing');

# ---- secrets ----

my $log = slurp_file($t->node->logfile);
is(index($log, $secret), -1, 'the secret is not in the log');
is($t->sql("SELECT count(*) FROM (SELECT to_jsonb(e)::text AS t FROM logsvc_internal.audit_entry e UNION ALL "
	. "SELECT to_jsonb(u)::text FROM logsvc_internal.export_run u UNION ALL "
	. "SELECT to_jsonb(d)::text FROM logsvc_internal.delivery d UNION ALL "
	. "SELECT content::text FROM logsvc_internal.resource) AS x WHERE t LIKE '%$secret%'"), 0, 'nor in a table of others');
is(index($t->http(GET => $path, token => $org->{token})->{content}, $secret), -1, 'nor in an answer');

$t->stop;
done_testing();
