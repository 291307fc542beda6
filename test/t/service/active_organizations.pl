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

$t->sql('ALTER SYSTEM SET logsvc.max_active_organizations = 8192');
$t->restart;
my $from = $t->log_position;
is_deeply(send_all(1, $many), { 202 => $many }, 'as many, with room');
is(lines($from), 0, '... are nothing to speak of');
like(doctor(), qr/^ok/, '... and the doctor has forgotten them');
cmp_ok(abs(each_takes() - 2300), '<', 50, 'an organization takes 2.3 kB of shared memory') or diag each_takes();

$t->stop;
done_testing;
