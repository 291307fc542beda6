# Scheduled exports: what they may be, who may have them, when they run, what their runs
# make and who gets it; workers that are killed.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $org = $t->organization('acme', plan => 'pro');
my $other = $t->organization('other', plan => 'pro');
my $free = $t->organization('poor', plan => 'free');
my $path = '/api/v1/scheduled-exports';
my %export = (name => 'errors', q => 'level=error', cron => '0 6 * * mon-fri',
	delivery => { kind => 'download' });

sub ask
{
	my ($method, $where, $expected, $name, %options) = @_;
	my $r = $t->http($method => $where =~ m{^/api} ? $where : $path . $where,
		token => $org->{token}, %options);
	is($r->{status} . ($r->{json}{code} ? " $r->{json}{code}" : ''), $expected, $name) or diag $r->{content};
	return $r;
}

sub refused
{
	my ($where, $name, %members) = @_;
	my $r = ask(POST => '', '400 VALIDATION_ERROR', $name, json => { %export, %members });
	is(join(' ', map { $_->{path} } @{ $r->{json}{details} }), $where, "... $where");
	return;
}

# ---- what it may be ----

my $made = ask(POST => '', 201, 'an export', json => \%export)->{json}{data};
like($made->{id}, qr/^exp_\w{26}$/, 'its id');
is_deeply([ @$made{qw(timezone range format maxRows enabled readsAudit lastRun)} ],
	[ 'UTC', 'previousPeriod', 'ndjson', 1000000, JSON::PP::true, JSON::PP::false, undef ], 'what it has by default');
like($made->{nextRunAt}, qr/T06:00:00\.000Z$/, 'when it runs');
refused('cron', "no cron: $_", cron => $_) foreach '', '* * * *', '61 * * * *', '0 0 31 2 *', '@reboot';
refused('cron', "too often: $_", cron => $_) foreach '* * * * *', '*/4 * * * *', '0,58 * * * *', '1-2 3 * * *';
refused('timezone', "no time zone: $_", timezone => $_) foreach 'Mars', '<+05>-5', 'UTC; DROP TABLE x';
refused('maxRows', "rows: $_", maxRows => $_) foreach 0, 1000001, -1;
refused('q', 'no query', q => undef);
refused('q', 'two queries', savedQueryId => 'sq_00000000000000000000000000');
refused('savedQueryId', 'a saved query that is not there', q => undef, savedQueryId => 'sq_00000000000000000000000000');
refused('range', 'a range that ends before it begins', range => { earliest => '-1h', latest => '-2h' });
refused('range.earliest', 'no time', range => { earliest => 'yesterday' });
refused('delivery.kind', 'a delivery that is not known', delivery => { kind => 'fax' });
refused('delivery.target', 'mail to a stranger', delivery => { kind => 'email', target => 'eve@evil.example' });
refused('format', 'a format', format => 'xml');
my $berlin = ask(POST => '', 201, 'by the clock of Berlin', json => { %export, name => 'berlin', cron => '@daily',
	timezone => 'Europe/Berlin' })->{json}{data};
is($t->sql("SELECT ('$berlin->{nextRunAt}'::timestamptz AT TIME ZONE 'Europe/Berlin')::time"), '00:00:00', 'at its midnight');
my $saved = $t->http(POST => '/api/v1/saved-queries', token => $org->{token},
	json => { name => 'kept', q => 'service=api' })->{json}{data}{id};
my $named = ask(POST => '', 201, 'of a saved query', json => { %export, name => 'saved', q => undef,
	savedQueryId => $saved })->{json}{data}{id};
ask(DELETE => "/api/v1/saved-queries/$saved", '409 IN_USE', 'which stays');
my $private = $t->http(POST => '/api/v1/saved-queries', token => $org->{token},
	json => { name => 'own', q => '*', visibility => 'private' })->{json}{data}{id};
refused('savedQueryId', 'a private saved query', q => undef, savedQueryId => $private);
is($t->http(PATCH => "/api/v1/saved-queries/$saved", token => $org->{token},
	json => { visibility => 'private' })->{status}, 409, 'nor is one that an export names made private');
is(ask(PATCH => "/$made->{id}", 200, 'switched off', json => { enabled => JSON::PP::false })->{json}{data}{nextRunAt},
	undef, 'it does not run');
my $on = ask(PATCH => "/$made->{id}", 200, 'and on', json => { enabled => JSON::PP::true, cron => '@hourly' })->{json}{data};
like($on->{nextRunAt}, qr/:00:00\.000Z$/, 'it does');
is($t->sql("SELECT next_tick - period_start FROM logsvc_internal.export_schedule WHERE resource_id = "
	. "logsvc_internal.parse_public_id('exp_', '$made->{id}')"), '01:00:00', 'for the hour before');

# ---- who ----

is($t->http(POST => $path, token => $free->{token}, json => \%export)->{json}{code}, 'PLAN_LIMIT_REACHED',
	'not in plan Free');
ask(POST => '', 201, "export $_", json => { %export, name => "export $_" }) foreach 4 .. 5;
ask(POST => '', '403 PLAN_LIMIT_REACHED', 'five in plan Pro', json => \%export);
my $test_key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'test', 'full-access', 'test')")->{key};
is($t->http(GET => $path, token => $test_key)->{status}, 403, 'test keys see none');
is($t->http(GET => "$path/$made->{id}", token => $other->{token})->{status}, 404, 'other organizations neither');
is($t->http(GET => "$path/$made->{id}", token => $org->{full_key})->{status}, 200, 'full-access keys do');
ask(PATCH => "/$made->{id}", '412 VERSION_CONFLICT', 'an old version', json => { name => 'x' }, headers => { 'If-Match' => 1 });

# ---- the audit log ----

my $audited = ask(PATCH => "/$berlin->{id}", 200, 'an owner exports the audit log',
	json => { q => 'index=_AUDIT' })->{json}{data};
ok($audited->{readsAudit}, 'which it says');
foreach my $what ([ PATCH => '', { name => 'x' } ], [ PATCH => '', { q => '*' } ], [ POST => '/run', undef ])
{
	is($t->http($what->[0] => "$path/$berlin->{id}$what->[1]", token => $org->{full_key},
		$what->[2] ? (json => $what->[2]) : ())->{status}, 403, 'an API key has no part in it');
}
is($t->http(PATCH => "$path/$made->{id}", token => $org->{full_key}, json => { q => 'index=_audit' })->{status}, 403,
	'nor makes one');

$t->stop;
done_testing();
