# administration_in_browser.pl: settings of an organization, usage, audit log, indexes, dead letters
# and the plan in Chromium, and what each role sees of them (test/browser/administration.mjs).
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcTest;
use Test::More;

LogsvcBrowser::needed();

my $t = LogsvcTest->new;
my $org = $t->organization('acme', plan => 'pro', email => 'owner@example.org');
foreach my $role (qw(admin member viewer))
{
	$t->sql("SELECT logsvc.create_user('$role\@example.org');"
		  . "SELECT logsvc.add_member('acme', '$role\@example.org', '$role')");
}

# Events, a part of which stands for what could not be stored.
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => { events => [ map { { event => "<script>alert($_)</script> refused", level => 'error' } } 1 .. 20 ] })->{status},
	202, 'events');
# Older than a smaller plan keeps them, in an index of their own.
is($t->http(POST => '/api/v1/indexes', token => $org->{token},
	json => { name => 'old' })->{status}, 201, 'another index');
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events =>
	[ map { { event => "old $_", index => 'old', timestamp => (time - 10 * 86400) * 1000 } }
		1 .. 3 ] })->{status}, 202, 'old events');
my $part = q{FROM logsvc_internal.part p WHERE p.index_name = 'main' AND p.rows = 20};
ok(wait_until(sub { $t->sql("SELECT count(*) $part") == 1 }), 'they are stored');
foreach my $reason (qw(rejected corrupt))
{
	$t->sql(qq{INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit,
			reason, attempts, first_failed_at, last_failed_at, sqlstate, last_error, header, body)
		SELECT p.organization_id, 1, p.rows, p.min_time, p.max_time, 0, false, '$reason', 3, now(), now(), 'LS803', 'x',
			p.header, p.body $part});
}

# One of each that people make, of the owner.
my %made = (dashboards => { panels => [] }, 'saved-queries' => { q => 'level=error' }, services => { match => '*' },
	pipelines => { match => 'service=never', processors => [] },
	'alert-rules' => { query => 'level=error', enabled => JSON::PP::false, schedule => { everySeconds => 60, lookback => '1h' },
		condition => { kind => 'count', op => '>', threshold => 0 } });
foreach my $kind (sort keys %made)
{
	is($t->http(POST => "/api/v1/$kind", token => $org->{token}, json => { name => 'ours', %{ $made{$kind} } })->{status}, 201, "one of $kind");
}
is($t->http(POST => '/api/v1/pipelines', token => $org->{token}, json => { name => 'below', match => 'service=never', processors => [] })->{status},
	201, 'another pipeline');

LogsvcBrowser::run($t, 'administration.mjs', calls => {
	session => sub { return $t->session($_[0]); },
	limit => sub { $t->sql("SELECT logsvc.set_limit('acme', '$_[0][0]', $_[0][1])"); return; },
	link => sub { return $t->sql("SELECT link FROM logsvc_internal.outbox WHERE recipient = '$_[0]' ORDER BY created_at DESC LIMIT 1"); },
	plan => sub { return $t->sql("SELECT plan FROM logsvc_internal.organization WHERE slug = 'acme'"); } });

$t->stop;
done_testing();
