# waiting_searches.pl: who waits for an executor as long as a search may take gets 503 and when to
# try again; who has begun to get rows gets all of them.
#
# Takes long.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.executors = 2\nlogsvc.query_timeout = '3s'\nlogsvc.flush_interval = '20ms'");
my $org = $t->organization('acme');
is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'one' })->{status}, 202, 'an event');
is($t->http(GET => '/api/v1/search?q=*', token => $org->{token})->{status}, 200, 'a search');

my $searches = 0;
sub search { return begin_request($t, GET => '/api/v1/search?q=x' . $searches++, token => $org->{token}); }

# ---- one runs as long as it may, the others wait for it ----

# Of two executors one is for requests that read no events, so the searches have one.
$t->stop_at('execute_request');
my $first = search();
$t->wait_held('execute_request');
my @waiting = map { search() } 1 .. 14;
my %answers;
my $by = time + 20;
foreach my $r (map { end_request($_, $by > time ? $by - time : 0.1) } @waiting)
{
	$answers{ $r->{status} }++;
	next if $r->{status} != 503;
	is($r->{json}{code}, 'SERVICE_UNAVAILABLE', 'who waited too long is told') if !$answers{told}++;
	cmp_ok($r->{headers}{'retry-after'} // 0, '>', 0, '... and when to try again') if $answers{told} == 1;
	$answers{late}++ if $r->{seconds} > 30;
}
is($answers{503}, 14, 'of fourteen all are answered while the first one runs') or diag explain \%answers;
is($answers{late}, undef, '... soon');
$t->let_go('execute_request');
is(end_request($first)->{status}, 200, 'the one that ran is answered');
is(end_request(search())->{status}, 200, 'then there is room again');

# ---- an export that has begun ----

for (1 .. 4)
{
	is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, body => join("\n", map { json_encode({ event => "row $_ " . 'x' x 2000 }) } 1 .. 3000),
		headers => { 'Content-Type' => 'application/x-ndjson' })->{status}, 202, 'many events');
}
my $export = begin_request($t, GET => '/api/v1/search/export?q=row&format=ndjson', token => $org->{token});
wait_until(sub { answered($export); length $export->{data} > 100000 }) or die 'no rows come';
$t->stop_at('execute_request');
$first = search();
$t->wait_held('execute_request');
# It waits for its turn longer than that.
my $end = time + 8;
until (time > $end) { answered($export, 0.2); }
$t->let_go('execute_request');
end_request($first);
my $r = end_request($export);
is($r->{status}, 200, 'an export that waits in the middle is not ended');
is(scalar(() = $r->{content} =~ /"row \d+ /g), 12000, '... and has all rows');
$t->stop;
done_testing;
