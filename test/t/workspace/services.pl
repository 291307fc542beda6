# Services and KPIs as workers compute them: health, values, what is no number, what others have.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => 'restart_after_crash = on');
my $org = $t->organization('acme', plan => 'pro');
my $other = $t->organization('other', plan => 'pro');

sub make
{
	my ($path, $who, %document) = @_;
	my $r = $t->http(POST => "/api/v1/$path", token => $who->{token}, json => \%document);
	is($r->{status}, 201, "$path: $document{name}") or diag $r->{content};
	return $r->{json}{data};
}
sub get
{
	my ($path, $token) = @_;
	return $t->http(GET => "/api/v1/$path", token => $token // $org->{token})->{json}{data};
}

my $now = time;
$t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => [
	map { { event => "request $_", service => 'web', level => $_ < 2 ? 'error' : $_ == 2 ? 'fatal' : 'info',
		timestamp => ($now - $_) * 1000, attributes => { ms => $_ * 10 } } } 0 .. 9 ] });

# ---- what can never match ----

my $never = make(services => $org, name => 'never', match => 'servce=web OR level=eror');
is(join(' ', map { $_->{code} } @{ $never->{warnings} }), 'UNKNOWN_FIELD UNKNOWN_LEVEL', 'is said');
is_deeply(get("services/$never->{id}")->{warnings}, $never->{warnings}, 'and when it is read');
$t->http(DELETE => "/api/v1/services/$never->{id}", token => $org->{token});

# ---- what is computed ----

my $web = make(services => $org, name => 'web', match => 'service=web OR service=nothing');
my $foreign = make(services => $other, name => 'web', match => 'service=web');
my %kpi = (serviceId => $web->{id}, direction => 'lowerIsBetter', warn => 50, critical => 90);
my %made = map { my ($name, $q, @more) = @$_;
	$name => make(kpis => $org, %kpi, name => $name, q => $q, @more) } (
	[ slowest => 'service=web | stats max(ms)' ],
	[ again => 'service=web | stats max(ms)', warn => 1, critical => 1000 ],
	[ better => 'service=web | stats count', direction => 'higherIsBetter', warn => 5, critical => 2 ],
	[ nothing => 'service=nothing | stats avg(ms)' ],
	[ events => 'service=web' ],
	[ rows => 'service=web | stats count by level' ],
	[ columns => 'service=web | stats count, max(ms)' ],
	[ text => 'service=web | stats max(event)' ],
	[ audit => 'index=_audit | stats count' ]);
my %kpis;
ok(wait_until(sub { %kpis = map { $_->{name} => $_->{current} } @{ get('kpis') };
	!grep { !$_->{at} } values %kpis }), 'all KPIs are computed') or diag json_encode(\%kpis);
is_deeply({ map { $_ => "$kpis{$_}{status} " . ($kpis{$_}{value} // '') } keys %kpis },
	{ slowest => 'critical 90', again => 'warn 90', better => 'ok 10', map { $_ => 'noData ' }
		qw(nothing events rows columns text audit) }, 'values and what they mean');
is($kpis{nothing}{error}, undef, 'nothing is no error');
like($kpis{ $_->[0] }{error}, $_->[1], "$_->[0]: says why") foreach [ events => qr/stats/ ],
	[ rows => qr/more than one row|columns/ ], [ columns => qr/2 columns/ ], [ text => qr/string/ ],
	[ audit => qr/\S/ ];
unlike($t->log_text, qr/could not compute/, 'which is no error of the service');

my $health;
ok(wait_until(sub { $health = get("services/$web->{id}/health"); $health->{at} }), 'health');
is_deeply([ @$health{qw(errorRate eventsPerMinute error)} ], [ 0.3, 2, undef ], 'of the last five minutes');
like($health->{lastSeenAt}, qr/^\d{4}-/, 'when it was last seen');
ok(wait_until(sub { $health = get("services/$foreign->{id}/health", $other->{token}); $health->{at} }),
	'the same match in another organization');
is_deeply([ @$health{qw(errorRate eventsPerMinute lastSeenAt)} ], [ undef, 0, undef ], 'finds nothing');

# ---- history, who reads ----

my $series = get("kpis/$made{slowest}{id}/series?range=1h", $org->{read_key});
is_deeply([ map { [ @$_{qw(value status)} ] } @$series ], [ [ 90, 'critical' ] ], 'history, by a read-only key');
is(scalar @{ get("services/$web->{id}/health?range=1h", $org->{read_key})->{series} }, 1, 'of health too');
is($t->http(GET => "/api/v1/kpis/$made{slowest}{id}/series", token => $org->{read_key},
	query => { range => $_ })->{status}, 400, "range $_") foreach '1', '-1h', '1h; x', '0h';
is($t->http(GET => "/api/v1/kpis/$made{slowest}{id}", token => $other->{token})->{status}, 404, 'others');
is($t->sql('SELECT count(*) FROM logsvc_internal.health WHERE next_at < begun_at + interval \'1 minute\''), 0,
	'nothing is computed more than once a minute');

# ---- killed in the middle ----

sub due { $t->sql("UPDATE logsvc_internal.health SET next_at = now(), begun_at = now() - interval '2 minutes', at = NULL"); return; }
my $computed = 'SELECT count(*) FROM logsvc_internal.health WHERE at IS NULL';
$t->stop_at('health_finish');
due();
my $pid = $t->wait_held('health_finish');
$t->let_go('health_finish');
$t->sql("SELECT pg_terminate_backend($pid)");
ok(wait_until(sub { $t->sql("$computed AND next_at <= now()") == 0 }), 'a worker that is ended: another goes on');
foreach my $point (qw(health_measure health_finish))
{
	# One that was computed a moment ago would be there without the worker that is killed.
	$t->stop_at($point);
	$t->sql('DELETE FROM logsvc_internal.health_point');
	due();
	kill_process($t->wait_held($point));
	delete $t->{stop_points};
	ok(wait_until(sub { $t->sql('SELECT 1') }), "killed at $point: the server is there again");
	$t->wait_ready;
	is($t->sql("SELECT count(*) FROM logsvc_internal.health WHERE next_at > greatest(begun_at, now()) + interval '61 seconds'"), 0,
		'what was begun is due again within a minute');
	# That minute is over now.
	$t->sql("UPDATE logsvc_internal.health SET next_at = now(), begun_at = begun_at - interval '2 minutes' WHERE at IS NULL");
	ok(wait_until(sub { $t->sql($computed) == 0 }), 'all are computed');
	is($t->sql('SELECT count(*) FROM logsvc_internal.health h WHERE value IS NOT NULL AND NOT EXISTS (SELECT FROM '
		. 'logsvc_internal.health_point p WHERE p.resource_id = h.resource_id AND p.value = h.value)'), 0, 'with their points of history');
	is(get("kpis/$made{slowest}{id}")->{current}{value}, 90, 'and are right');
}

# ---- in use, gone ----

is($t->http(DELETE => "/api/v1/services/$web->{id}", token => $org->{token})->{status}, 409, 'a service with KPIs stays');
is($t->http(DELETE => "/api/v1/kpis/$_->{id}", token => $org->{token})->{status}, 204, 'deleted') foreach values %made;
is($t->http(DELETE => "/api/v1/services/$web->{id}", token => $org->{token})->{status}, 204, 'then it goes');
is($t->sql('SELECT count(*) FROM logsvc_internal.health'), 1, 'with all that was computed');

$t->stop;
done_testing();
