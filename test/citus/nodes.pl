# nodes.pl: logsvc in a cluster of Citus runs on the coordinator, as on any server, and on no
# worker node.
use strict;
use warnings;

use LogsvcCitus;
use LogsvcTest;
use Test::More;

my $cluster = LogsvcCitus->new(conf => "logsvc.flush_interval = '50ms'");
my $t = $cluster->coordinator;
my @workers = $cluster->workers;
my $org = $t->organization('acme');

sub running { return scalar grep { $_ } $_[0]->workers('^logsvc (?!launcher|probe)'); }
sub rests
{
	my ($worker) = @_;
	return wait_until(sub { !running($worker) && $worker->log_text =~ /does not run here: database "postgres" is a worker node of Citus/ });
}

# ---- the coordinator ----

is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => [ map { { event => "request $_", level => 'warn' } } 1 .. 500 ])->{status},
	202, 'the coordinator takes events');
is(join(' ', @{ $t->http(GET => '/api/v1/search', token => $org->{read_key}, query => { q => 'request level=warn | stats count' })->{json}{data}{rows}[0] }),
	500, 'and finds them');
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0
	&& $t->sql(q{SELECT sum(rows) FROM logsvc_internal.part WHERE index_name = 'main'}) == 500 }), 'a writer stores them');
is($t->sql(q{SELECT string_agg("check", ' ') FROM logsvc.doctor() WHERE "check" IN ('workers', 'version') AND state <> 'ok'}), '', 'doctor is content');

# ---- the workers ----

foreach my $worker (@workers)
{
	my $name = $worker->node->name;
	is($worker->sql(q{SELECT count(*) FROM pg_extension WHERE extname = 'logsvc'}), 1, "$name: the extension came with that of the coordinator");
	ok(rests($worker), "$name: the service does not run");
	ok(stays(sub { !running($worker) && !$worker->connect }, 2), "$name: nothing listens");
	is($worker->sql(q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'logsvc_internal.part'::regclass}), 1, "$name: no partitions are made");
	is($worker->sql(q{SELECT state || ' ' || found FROM logsvc.doctor() WHERE "check" = 'workers'}), 'ok all run', "$name: doctor misses no worker");
}
{
	my (undef, $state, $text) = $workers[0]->sql_error(q{SELECT logsvc.create_organization('here', 'pro') IS NULL AS x, logsvc.act_as('here') IS NULL AS y;
		SELECT logsvc.log('lost')});
	is("$state $text", '55000 logsvc does not run on a worker node of Citus', 'no event goes to the queue of a worker, where nobody would store it');
	is($workers[0]->sql('SELECT count(*) FROM logsvc_internal.queue WHERE NOT audit'), 0, 'there is none');
}

# ---- a server with a service of its own joins ----

my $third = LogsvcCitus->server('third');
ok(running($third), 'another server runs the service');
is($third->http(GET => '/readyz')->{status}, 200, 'and answers');
$cluster->add_node($third);
ok(rests($third), 'it stops when the server becomes a worker node');
ok(!$third->connect, 'nothing listens');
$third->stop;
$third->start;
ok(stays(sub { !running($third) }, 3) && rests($third), 'nor does it start with the server');
is($t->http(GET => '/readyz')->{status}, 200, 'the coordinator goes on');

$third->stop;
$cluster->stop;
done_testing;
