# active_organizations.pl: what logsvc.max_active_organizations gives room for takes the memory that
# docs/settings.md says; when more are active, everything goes on, and the log and logsvc.doctor()
# say so.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $many = 700;
my $t = LogsvcTest->new(conf => "logsvc.acceptors = 1\nlogsvc.max_active_organizations = 128");
$t->sql("INSERT INTO logsvc_internal.organization (slug, name, plan) SELECT 'org-' || n, 'o', 'enterprise' FROM generate_series(1, $many) n");
$t->sql("INSERT INTO logsvc_internal.log_index (organization_id, name) SELECT id, 'main' FROM logsvc_internal.organization WHERE slug LIKE 'org-%'");
$t->sql("INSERT INTO logsvc_internal.api_key (organization_id, name, scope, key_hash, prefix)
	SELECT id, 'k', 'ingest-only', sha256(convert_to('ing_live_' || slug, 'UTF8')), 'ing' FROM logsvc_internal.organization WHERE slug LIKE 'org-%'");

sub send_all
{
	my ($from, $to) = @_;
	my %answers;
	$answers{ $t->http(POST => '/api/v1/logs', token => "ing_live_org-$_", json => { event => 'one' })->{status} }++ foreach $from .. $to;
	return \%answers;
}
my $line = qr/more organizations are active than logsvc\.max_active_organizations has room for/;
sub lines { my ($from) = @_; return scalar(my @lines = $t->log_text($from // 0) =~ /$line/g); }
sub doctor { return $t->sql(q{SELECT state || ': ' || found || ' > ' || change FROM logsvc.doctor() WHERE "check" = 'active organizations'}); }
sub each_takes
{
	return $t->sql(q{SELECT sum(size) / current_setting('logsvc.max_active_organizations')::int FROM pg_shmem_allocations
		WHERE name IN ('logsvc rate limits', 'logsvc quotas')});
}

is_deeply(send_all(1, 60), { 202 => 60 }, 'as many as there is room for');
is(lines(), 0, 'nothing is said');
like(doctor(), qr/^ok: logsvc\.max_active_organizations = 128 /, 'nor by the doctor');
is_deeply(send_all(1, $many), { 202 => $many }, 'many more');
foreach my $what (qr/rates begin anew/, qr/added up from tables/, qr/looked up in tables/, qr/the gateway asks again/)
{
	is(scalar(my @said = $t->log_text =~ /$line: [^\n]*$what/g), 1, "the log says once: $what");
}
like($t->log_text, qr/HINT:  Increase logsvc\.max_active_organizations, now 128, and restart the server\./, '... and what to do');
like(doctor(), qr/^warning: in the last day more were active than there is room for: rates .*; what .*; credentials.*; the gateway .* > postgresql\.conf: logsvc\.max_active_organizations = 256; then restart the server$/,
	'the doctor warns');
my $before = lines();
send_all(1, $many);
is(lines(), $before, 'the log says it once an hour');

# ---- with a full queue ----

# An organization without a place in the tables cannot fill the queue of the others either, and what
# was accepted is stored once, whoever sent it.
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }), 'the queue is empty');
$t->set('logsvc.queue_limit', 1333);
$t->stop_at('write_after_delete');
my %accepted = %{ send_all(1, 1) };
$t->wait_held('write_after_delete');
my $batch = [ map { { event => "fill $_" } } 1 .. 990 ];
is($t->http(POST => '/api/v1/logs/batch', token => 'ing_live_org-1', json => $batch)->{status}, 202, 'one fills its share');
# A refusal takes two seconds: room may come.  Entries of the audit log are in the queue, too.
foreach my $answers (send_all(2, 346), send_all($many - 1, $many))
{
	$accepted{$_} += $answers->{$_} foreach keys %$answers;
}
is(join(' ', sort keys %accepted), '202 429', 'others are accepted or refused, nothing else');
cmp_ok($accepted{202}, '<=', 1334 - 990, '... and no more accepted than there is room for');
cmp_ok($accepted{202}, '>=', 300, '... nor much less');
$t->let_go('write_after_delete');
my $sent = 60 + 2 * $many + 990 + $accepted{202};
ok(wait_until(sub { $t->sql(q{SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE index_name = 'main'}) == $sent }), "all $sent that were accepted are stored")
	or diag $t->sql(q{SELECT sum(rows) FROM logsvc_internal.part WHERE index_name = 'main'});
ok(stays(sub { $t->sql(q{SELECT sum(rows) FROM logsvc_internal.part WHERE index_name = 'main'}) == $sent }, 1), '... once');
is_deeply(send_all(1, $many), { 202 => $many }, 'then everybody may send');

$t->sql('ALTER SYSTEM SET logsvc.max_active_organizations = 8192');
$t->restart;
my $from = $t->log_position;
is_deeply(send_all(1, $many), { 202 => $many }, 'as many, with room');
is(lines($from), 0, '... are nothing to speak of');
like(doctor(), qr/^ok/, '... and the doctor has forgotten them');
cmp_ok(abs(each_takes() - 2300), '<', 50, 'an organization takes 2.3 kB of shared memory') or diag each_takes();

$t->stop;
done_testing;
