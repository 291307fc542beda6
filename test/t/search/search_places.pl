# search_places.pl: who has searched much lately leaves the last place for searches to
# others, however many such owners there are.  (latency.pl has one owner who searches.)
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep);

my $t = LogsvcTest->new(conf => 'logsvc.executors = 4');
my %org = map { $_ => $t->organization($_) } qw(one two third);

# Executors in a transaction.
sub busy
{
	my ($n) = @_;
	return $t->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'logsvc executor' }
		. q{AND xact_start IS NOT NULL}) == $n;
}

my $searches = 0;

# Each is another search, so that none is known to be short.
sub search { my ($who) = @_; return begin_request($t, GET => '/api/v1/search?q=x' . $searches++,
	token => $org{$who}{token}); }

sub all_end
{
	my ($name, @requests) = @_;
	$t->let_go('execute_request');
	my %status;
	$status{ end_request($_)->{status} }++ foreach @requests;
	is_deeply(\%status, { 200 => scalar @requests }, "$name: all are answered");
	return;
}

$t->sql("SELECT logsvc.create_organization('another', 'pro', '$org{two}{email}')");
$org{another} = $t->sql_json("SELECT logsvc.create_token('another', "
	. "'$org{two}{email}', 'new', ARRAY['logs:read'])");

# Whose credentials they are is known to the gateway.
$_->{status} == 200 or die $_->{content} foreach map { end_request(search($_)) } sort keys %org;

# ---- one alone ----

# Long enough to be busy for half a minute, however slow the machine is.
$t->stop_at('execute_request');
my @held = map { search('one') } 1 .. 6;
ok(wait_until(sub { busy(2) }), 'an owner who is alone has two of the three places');
push @held, map { search('two') } 1 .. 6;
ok(wait_until(sub { busy(3) }), 'a second one, who has used nothing, has the last');
sleep 8;    # what they use is the time for which they are busy
all_end('two owners', @held);

# ---- two who are busy ----

$t->stop_at('execute_request');
@held = map { search($_) } ('one', 'two') x 6;
ok(wait_until(sub { busy(2) }), 'two busy owners have a place each');
ok(stays(sub { !busy(3) }, 2), '... and not the last');
push @held, search('third');
ok(wait_until(sub { busy(3) }), 'a third one, who has used little, has it at once');
push @held, begin_request($t, GET => '/api/v1/members', token => $org{one}{token});
ok(wait_until(sub { busy(4) }), 'and management its own');
all_end('three owners', @held);

# Another organization does not make an owner another one.
$t->stop_at('execute_request');
@held = map { search($_) } ('one', 'two') x 2;
ok(wait_until(sub { busy(2) }), 'they have a place each again');
push @held, search('another');
ok(stays(sub { !busy(3) }, 2), 'another organization of a busy owner does not have the '
	. 'last either');
all_end('another organization', @held);

$t->stop;
done_testing;
