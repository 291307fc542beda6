# quickstart_sample.pl: the invented shop of make quickstart: every screen of the console has
# something to show, and its searches find it.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.limits = 'generous'");
my $org = $t->organization('quickstart', plan => 'enterprise', email => 'owner@example.com');
my $folder = 'docker/sample';

# As psql does it: they have its commands.
sub run
{
	my ($file) = @_;
	my $answer = qx(psql -XqAt -v ON_ERROR_STOP=1 -f $folder/$file -d "@{[ $t->node->connstr($t->{database}) ]}");
	die "$file failed\n" if $?;
	return $answer =~ s/\n\z//r;
}

sub get { my ($path, %query) = @_; return $t->http(GET => "/api/v1/$path", token => $org->{token}, query => \%query)->{json}{data}; }
sub post { my ($lines) = @_; return $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, headers => { 'Content-Type' => 'application/x-ndjson' }, body => $lines)->{json}{data}{rejected}; }

run('before.sql');
my $events = `perl $folder/events.pl`;
my $number = () = $events =~ /\n/g;
cmp_ok($number, '>', 5000, 'some thousand events');
is(post($_), 0, 'all are taken') foreach $events =~ /\G((?:.*\n){1,5000})/g;
is(post('{"event": "row 1 of a file: price is missing", "index": "imports"}'), 0, 'events of a partner, too');
run('after.sql');
ok(wait_until(sub { run('ready.sql') eq 't' }, 120), 'rules fire, the events of a partner are stored');
run('incidents.sql');

my %status = map { $_->{ruleName} => $_->{status} } @{ get('alerts', status => 'all') };
is_deeply([ @status{ 'Checkout fails', 'No backup since yesterday', 'Slow payments' } ], [qw(firing acknowledged resolved)],
	'an alert fires, one is looked after, one is over');
is(get('dead-letters')->[0]{reason}, 'rejected', 'a dead letter') or diag explain get('dead-letters');
my %in = map { $_->{name} => $_->{stats}{in} } @{ get('pipelines') };
cmp_ok($in{$_}, '>', 0, "pipeline $_ has counted events") foreach sort keys %in;
is(scalar keys %in, 4, 'four pipelines');
foreach my $dashboard (@{ get('dashboards') })
{
	my $panels = $t->http(POST => "/api/v1/dashboards/$dashboard->{id}/data", token => $org->{token}, json => {})->{json}{data}{panels};
	my @bad = grep { $panels->{$_}{error} || !@{ $panels->{$_}{rows} // [] } } sort keys %$panels;
	is("@bad", '', "each panel of $dashboard->{name} shows something") or diag explain { map { $_ => $panels->{$_} } @bad };
}
cmp_ok(scalar @{ get("services/$_->{id}/health", range => '6h')->{series} }, '>', 100, "$_->{name} has a history") foreach @{ get('services') };
cmp_ok(scalar @{ get("kpis/$_->{id}/series", range => '6h') }, '>', 100, "$_->{name}, too") foreach @{ get('kpis') };
is(scalar(grep { $_->{events} > 1000 } @{ get('usage/history') }), 30, 'a month of usage');
is(scalar @{ get('members') }, 5, 'five people');
my ($export) = grep { $_->{enabled} } @{ get('scheduled-exports') };
ok(wait_until(sub { (get("scheduled-exports/$export->{id}/runs")->[0]{status} // '') eq 'succeeded' }), 'an export has run');

sub count { return get('search', q => "$_[0] earliest=-2d | stats count")->{rows}[0][0]; }
is(count(q(event CONTAINS "4111 1111")), 0, 'no card number is stored');
is(count(q(service=mailer event CONTAINS "@example.com")), 0, 'nor an address');
cmp_ok(count('index=web status>=500 ms>0'), '>', 0, 'requests are taken apart');

$t->stop;
done_testing();
