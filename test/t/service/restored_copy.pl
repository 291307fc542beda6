# restored_copy.pl: with logsvc.mode = restored nothing is sent, and all else works.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.mode = restored");
my $org = $t->organization('acme');
my $sending = "SELECT count(*) FROM pg_stat_activity WHERE backend_type IN ('logsvc notifier', "
  . "'logsvc alerter', 'logsvc exporter')";
my $waiting = "SELECT count(*) FROM logsvc_internal.outbox WHERE state = 'waiting' AND attempts = 0";

is($t->http(GET => '/readyz')->{status}, 200, 'a copy is ready');
my $r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'hello' });
is($r->{status}, 202, 'it takes events');
$r = $t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => 'hello' });
is(scalar @{ $r->{json}{data}{rows} }, 1, 'it finds them');
$r = $t->http(POST => '/api/v1/invitations', token => $org->{token},
	json => { email => 'bob@acme.example', role => 'viewer' });
is($r->{status}, 201, 'somebody is invited');
is($t->sql($sending), 0, 'no worker sends');
ok(stays(sub { !$t->sql($sending) && $t->sql($waiting) == 1 }, 2), 'the mail waits');
$t->set('logsvc.mode', 'normal');
ok(wait_until(sub { $t->sql($sending) >= 3 }), 'they start when the operator says so');
$t->set('logsvc.mode', 'restored');
ok(wait_until(sub { !$t->sql($sending) }), 'and end');
is($t->http(GET => '/readyz')->{status}, 200, 'it is ready without them');
$t->stop;
done_testing;
