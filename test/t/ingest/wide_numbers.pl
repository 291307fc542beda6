# wide_numbers.pl: numbers that neither a double nor numeric can hold are kept as texts,
# whichever way they come, and nothing that reads events fails because of them.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $org = $t->organization('acme', plan => 'enterprise');
my $wide = '1e99999999999';
my $long = '9' x 400;

sub post
{
	my ($path, $body, %more) = @_;
	my $r = $t->http(POST => $path, token => $org->{ingest_key}, body => $body, %more);
	cmp_ok($r->{status}, '<', 300, "$path takes it") or diag $r->{content};
	return;
}

sub ask
{
	my ($method, $path, %more) = @_;
	my $r = $t->http($method => $path, token => $org->{token}, %more);
	is($r->{status}, 200, "$method $path") or diag $r->{content};
	return $r->{json}{data};
}

# ---- every way in ----

post('/api/v1/logs', qq({"event":"plain","attributes":{"a":$wide,"b":[1,{"c":-$wide}],"d":$long,"e":1.50e3}}));
post('/_bulk', qq({"create":{}}\n{"message":"bulk","a":$wide}\n), type => 'application/x-ndjson');
post('/services/collector/event', qq({"event":"splunk","fields":{"a":$wide}}));
post('/v1/logs', qq({"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"otlp"},"attributes":[)
	. qq({"key":"a","value":{"doubleValue":$wide}},{"key":"t","value":{"doubleValue":"$wide"}},)
	. qq({"key":"l","value":{"arrayValue":{"values":[{"doubleValue":$wide}]}}}]}]}]}]}));
my %found;
foreach my $event (qw(plain bulk splunk otlp))
{
	my ($row) = @{ ask(POST => '/api/v1/search', json => { q => $event })->{rows} };
	$found{$event} = $row;
	is($row->{attributes}{a}, $wide, "$event: nothing of it is lost");
	like($t->http(GET => "/api/v1/logs/$row->{id}", token => $org->{token})->{content}, qr/"a":"$wide"/, 'it is a text');
}
is_deeply($found{plain}{attributes}, { a => $wide, b => [ 1, { c => "-$wide" } ], d => $long, e => 1500 },
	'and numbers in lists and objects are too');
is_deeply([ @{ $found{otlp}{attributes} }{qw(t l)} ], [ $wide, [$wide] ], 'as are those of OTLP');

# ---- every way out ----

my ($a) = grep { $_->{name} eq 'a' } @{ ask(GET => '/api/v1/search/fields') };
is_deeply($a->{types}, ['string'], 'among the fields');
is_deeply([ map { $_->{value} } @{ ask(GET => '/api/v1/search/fields/a/values') } ], [$wide], 'and the values');
is(ask(GET => "/api/v1/logs/$found{plain}{id}")->{attributes}{a}, $wide, 'by its id');
is($t->sql("SELECT logsvc.act_as('acme') <> '{}', (SELECT count(*) FROM logsvc.logs WHERE attributes ->> 'a' = '$wide')"),
	't|4', 'in SQL');
my $rows = $t->http(POST => '/api/v1/pipelines/test?last=4', token => $org->{token}, json => { pipeline => { name => 'x',
	processors => [ { type => 'convert', field => 'a', to => 'number' } ] } });
is($rows->{status}, 200, 'a pipeline') or diag $rows->{content};
is($rows->{json}{data}{events}[0]{steps}[0]{failure}, 'not a number', 'does not make a number of it');
is($rows->{json}{data}{events}[0]{after}{attributes}{a}, $wide, 'and leaves it as it is');

# What was stored before has such numbers in it.
is($t->sql(q(SELECT logsvc_internal.jsonb_of_events('{"a":[1e99999999999,-1.5e-20000,"1e999",2.5e3]}'))),
	'{"a": ["1e99999999999", "-1.5e-20000", "1e999", 2500]}', 'values that jsonb cannot hold are texts there');

$t->stop;
done_testing();
