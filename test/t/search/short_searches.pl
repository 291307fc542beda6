# short_searches.pl: a search that was short the last time passes long ones of its organization.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep);

my $t = LogsvcTest->new(conf => 'logsvc.executors = 4');
my %org = map { $_ => $t->organization($_) } qw(one other);

# Executors in a transaction.
sub busy
{
	my ($n) = @_;
	return $t->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'logsvc executor' }
		. q{AND xact_start IS NOT NULL}) == $n;
}

my $searches = 0;

sub get
{
	my ($who, $path) = @_;
	return begin_request($t, GET => $path, token => $org{$who}{token});
}

# Each is another search, so that none is known to be short.
sub search { return get('one', '/api/v1/search?q=x' . $searches++); }
sub quick { return get('one', '/api/v1/search?q=quick'); }

sub all_end
{
	my ($name, @requests) = @_;
	$t->let_go('execute_request');
	my %status;
	$status{ end_request($_)->{status} }++ foreach @requests;
	is_deeply(\%status, { 200 => scalar @requests }, "$name: all are answered");
	return;
}

# Whose credentials they are is known to the gateway.
$_->{status} == 200 or die $_->{content}
	foreach map { end_request(get($_, '/api/v1/search?q=x')) } sort keys %org;

# A machine may be so busy that the search is not short: then once more.
my @held;
sub passes
{
	end_request(quick())->{status} == 200 or die 'refused';
	$t->stop_at('execute_request');
	@held = map { search() } 1 .. 6;
	wait_until(sub { busy(2) }) or die 'no two places';
	push @held, quick();
	return 1 if wait_until(sub { busy(3) }, 5);
	all_end('not this time', @held);
	return 0;
}

# ---- it passes those that wait ----

ok(wait_until(\&passes), 'one that was short passes four long ones of its organization that wait');
push @held, quick();
ok(stays(sub { !busy(4) }, 2), 'a second one waits for it');
push @held, get('other', '/api/v1/members');
ok(wait_until(sub { busy(4) }), 'management of others has its own place');
all_end('short and long', @held);

# ---- not any more when it took long ----

is(end_request(quick())->{status}, 200, 'it is short again') for 1 .. 3;
$t->stop_at('execute_request');
@held = map { search() } 1 .. 6;
ok(wait_until(sub { busy(2) }), 'two long ones have the places');
push @held, quick();
ok(stays(sub { !busy(3) }, 2), 'who was wrong about one waits');
all_end('no trust', @held);

# ---- nor when it is another search ----

end_request(quick()) for 1 .. 20;
$t->stop_at('execute_request');
@held = map { search() } 1 .. 6;
ok(wait_until(sub { busy(2) }), 'two long ones again');
push @held, get('one', '/api/v1/search?q=quick&earliest=-7d');
ok(stays(sub { !busy(3) }, 2), 'another range is another search');
all_end('another range', @held);

$t->stop;
done_testing;
