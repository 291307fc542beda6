# lookup_race.pl: what is revoked while it is looked up is not kept; nor are other
# organizations' changes in the way of what is.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.acceptors = 1\nlogsvc.executors = 1");
my $org = $t->organization('acme');
my $other = $t->organization('other');

sub ask { return begin_request($t, POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'one' }); }
sub answer { my ($r) = @_; return "$r->{status} " . ($r->{json}{code} // ''); }
sub revoke { my ($slug) = @_; return $t->sql("UPDATE logsvc_internal.api_key SET revoked_at = now()
	WHERE organization_id = (SELECT id FROM logsvc_internal.organization WHERE slug = '$slug')"); }
my %at = (before => 'access_look_up', after => 'access_found');

# The gateway knows whose it is.
is(answer(end_request(ask())), '202 ', 'a key works');
foreach my $when (sort keys %at)
{
	$t->sql('UPDATE logsvc_internal.api_key SET revoked_at = NULL');
	$t->stop_at($at{$when});
	my $request = ask();
	$t->wait_held($at{$when});
	revoke('acme');
	$t->let_go($at{$when});
	my $r = end_request($request);
	is(answer($r), $when eq 'after' ? '202 ' : '401 API_KEY_REVOKED', "a key that is revoked $when it has been found is as it was found");
	is(answer(end_request(ask())), '401 API_KEY_REVOKED', '... and revoked from then on');
}

$t->sql('UPDATE logsvc_internal.api_key SET revoked_at = NULL');
$t->stop_at('access_found');
my $request = ask();
$t->wait_held('access_found');
revoke('other');
$t->let_go('access_found');
is(answer(end_request($request)), '202 ', 'a change of another organization meanwhile');
is(answer(end_request(ask())), '202 ', '... changes nothing');

$t->stop;
done_testing;
