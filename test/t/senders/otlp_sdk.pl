# otlp_sdk.pl: OpenTelemetry's own JavaScript SDK sends logs, with both of
# its exporters (test/npm/exporter.js).
use strict;
use warnings;

use IPC::Run qw(run timeout);
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $org = $t->organization('acme');

foreach my $kind (qw(http proto))
{
	foreach my $compression (qw(none gzip))
	{
		my $name = "sdk-$kind-$compression";

		run [ 'node', 'build/npm/exporter.js', $t->url . '/v1/logs', $org->{ingest_key}, $kind,
			$compression ],
		  '>', \my $out, '2>', \my $err, timeout(60);
		is($out, "0\n", "$name: exported") or diag($err);

		my $rows = $t->http(GET => '/api/v1/search', token => $org->{token},
			query => { q => "service=$name | sort event", earliest => '-1h' })->{json}{data}{rows};
		my %shared = ('scope.name' => 'checkout', 'scope.version' => '1.2.3',
			'resource.host.name' => 'h1');
		is_deeply([ map { my $e = $_; my %a = %{ $e->{attributes} };
				ok(!grep({ ($a{$_} // '') ne $shared{$_} } keys %shared),
					"$name: scope and resource");
				delete @a{ keys %shared }; [ $e->{event}, $e->{level}, \%a ] } @$rows ],
			[ [ 'payment refused', 'warn',
					{ order => 4711, ratio => 0.25, paid => JSON::PP::false, tags => [ 'a', 'b' ],
						raw => 'AAEC' } ],
				[ 'user.login', undef, { user => 'ann', 'event.name' => 'user.login' } ],
				[ '{"message":"hi","nested":{"n":1}}', 'info',
					{ message => 'hi', nested => { n => 1 } } ] ],
			"$name: the records are found");
	}
}
$t->stop;
done_testing();
