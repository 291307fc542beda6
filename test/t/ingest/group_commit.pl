# group_commit.pl: all requests that wait are one transaction, and those of one
# organization one entry of the queue.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf =>
	"logsvc.flush_interval = '5s'\nlogsvc.acceptors = 1\nlogsvc.compactors = 0");
my @orgs = map { $t->organization($_) } qw(acme globex);

sub entries { return $t->sql(q{SELECT string_agg(rows::text, ' ' ORDER BY rows) FROM }
	. q{logsvc_internal.queue WHERE NOT audit}); }

# The gateway asks an acceptor once whose a key is; then the requests go at once.
is($t->http(POST => '/api/v1/logs', token => $_->{ingest_key}, json => {})->{status}, 400,
	'a key is known') foreach @orgs;

# The first one holds the acceptor; meanwhile the others gather.
$t->stop_at('accept_before_commit');
my @requests = begin_request($t, POST => '/api/v1/logs', token => $orgs[0]{ingest_key},
	json => { event => 'first' });
$t->wait_held('accept_before_commit');
foreach my $n (1 .. 30)
{
	my $org = $orgs[ $n % 3 == 0 ];
	push @requests, $n % 2
	  ? begin_request($t, POST => '/api/v1/logs', token => $org->{ingest_key},
	  json => { event => "event $n" })
	  : begin_request($t, POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	  json => [ map { "event $n.$_" } 1 .. 10 ]);
}
push @requests, begin_request($t, POST => '/v1/logs', token => $orgs[0]{ingest_key}, json => {
	resourceLogs => [ { scopeLogs => [ { logRecords => [ { body => { stringValue => 'otlp' } } ] } ]
		} ] });
push @requests, begin_request($t, POST => '/api/v1/logs', token => $orgs[0]{ingest_key},
	json => { level => 'info' });
ok(wait_until(sub { $t->sql('SELECT logsvc_internal.queue_depth() - coalesce(sum(rows), 0) FROM '
	. 'logsvc_internal.queue') == 1 }), 'they wait');
# The gateway has handed all of them over when it answers this one.
$t->http(GET => '/healthz');
$t->let_go('accept_before_commit');
my @answers = map { end_request($_) } @requests;
is(join(' ', map { $_->{status} } @answers[ 0 .. 30 ]), join(' ', (202) x 31), 'all are accepted');
is($answers[31]{status}, 200, 'OTLP too');
is($answers[32]{status}, 400, 'but not the one without an event');
# 10 of the 30 are globex's: 5 of one event and 5 of ten.
is(entries(), '1 55 111', 'one entry for the first group, and one for each organization '
	. 'of the second');
is($t->sql(q{SELECT count(DISTINCT xmin::text) FROM logsvc_internal.queue WHERE NOT audit}), 2,
	'in two transactions');
is($t->sql('SELECT logsvc_internal.queue_depth() - sum(rows) FROM logsvc_internal.queue'), 0,
	'the depth counts their events') or diag entries();
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }), 'written');
is($t->sql(q{SELECT count(*) FROM logsvc_internal.part WHERE index_name = 'main'}), 2,
	'as one part for each organization');

# An acceptor that ends answers all that it holds with 503, whatever their format, and
# nothing of them is stored.  A client that hangs up has sent its events all the same.
my %formats = (
	Loki => [ '/loki/api/v1/push', json =>
		{ streams => [ { stream => {}, values => [ [ '0', 'format' ] ] } ] } ],
	bulk => [ '/_bulk', body => qq({"index": {}}\n{"message": "format"}\n) ],
	document => [ '/main/_doc', json => { message => 'format' } ],
	Splunk => [ '/services/collector', json => { event => 'format' } ],
	OTLP => [ '/v1/logs', json => { resourceLogs =>
		[ { scopeLogs => [ { logRecords => [ { body => { stringValue => 'format' } } ] } ] } ] } ]);
foreach my $end (1, 0)
{
	$t->stop_at('accept_before_commit');
	my %held = ('single event' => begin_request($t, POST => '/api/v1/logs',
		token => $orgs[0]{ingest_key}, json => { event => 'format' }));
	my $pid = $t->wait_held('accept_before_commit');
	foreach my $format (keys %formats)
	{
		my ($path, @what) = @{ $formats{$format} };
		$held{$format} = begin_request($t, POST => $path, token => $orgs[0]{ingest_key}, @what);
	}
	$t->http(GET => '/healthz');
	if ($end)
	{
		$t->sql("SELECT pg_terminate_backend($pid)");
		foreach my $format (sort keys %held)
		{
			my $r = end_request($held{$format});
			is($r->{status}, 503, "$format: the acceptor ends");
			like($r->{headers}{'retry-after'} // '', qr/^\d+$/, "$format: Retry-After");
		}
		is(entries(), '', 'nothing is accepted');
	}
	else { close $_->{socket} foreach values %held; }
	$t->let_go('accept_before_commit');
	$t->wait_ready;
}
ok(wait_until(sub { (entries() || 0) eq '1 5' }),
	'the events of clients that hung up are accepted') or diag entries();
is($t->sql('SELECT logsvc_internal.queue_depth() - sum(rows) FROM logsvc_internal.queue'), 0,
	'the depth counts those alone');
$t->stop;
done_testing;
