# resend.pl: a real client, OpenTelemetry's exporter, sends again what was
# answered with 429, and then it is stored: all of it, once.
use strict;
use warnings;

use IPC::Run qw(start timeout);
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf =>
	"logsvc.flush_interval = '50ms'\nlogsvc.queue_limit = 1000\nlogsvc.reservation_timeout = '1h'");
my $org = $t->organization('acme');

sub stored { return $t->sql("SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE "
	. "index_name = 'main'"); }

# Other sessions are about to commit so many events that the client's do not fit.
my @sessions = map { $t->node->background_psql('postgres') } 1 .. 3;
$_->query_safe("SELECT logsvc.act_as('acme'); BEGIN;"
	  . " SELECT logsvc.ingest((SELECT jsonb_agg('x'::text) FROM generate_series(1, 200))) -> "
	  . "'accepted'") foreach @sessions;

my ($out, $err) = ('', '');
my $client = start([ 'node', 'build/npm/resend.js', $t->url . '/v1/logs', $org->{ingest_key}, 500 ],
	'>', \$out, '2>', \$err, timeout(60));
ok(wait_until(sub { $client->pump_nb; $out =~ /^429 (\d+)$/m }), 'the client is refused')
	or diag("$out$err");
my ($wait) = $out =~ /^429 (\d+)$/m;
cmp_ok($wait // 0, '<=', 5, 'it need not wait longer than it can');
is(stored(), 0, 'nothing of it is stored');
$_->query_safe('ROLLBACK') foreach @sessions;
$client->finish;
is($out, "429 $wait\n200 -\nresult 0\n", 'it sends again once, and is told success') or diag($err);

ok(wait_until(sub { stored() == 500 }), 'then all is stored');
my $rows = $t->http(GET => '/api/v1/search', token => $org->{token},
	query => { q => '*', earliest => '-1h' })->{json}{data}{rows};
is(join(' ', sort map { $_->{event} } @$rows), join(' ', sort map { "record $_" } 1 .. 500),
	'each record once');
is($t->sql('SELECT logsvc_internal.queue_depth()'), 0, 'and the depth is exact');

$_->quit foreach @sessions;
$t->stop;
done_testing;
