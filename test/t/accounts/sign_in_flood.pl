# sign_in_flood.pl: somebody with thousands of addresses tries passwords, so that
# all places to hash are taken.  Users sign in where they have been before.
#
# Runs alone: it measures times.
use strict;
use warnings;

use HTTP::Tiny;
use LogsvcTest;
use POSIX ();
use Test::More;
use Time::HiRes qw(time sleep);

my $t = LogsvcTest->new(conf =>
	"logsvc.executors = 4\nlogsvc.trusted_proxies = '127.0.0.1'\nlog_statement = 'none'");
my $password = 'Blue-kettle-and-7-spoons';
my $org = $t->organization('acme');
$t->sql("SELECT logsvc.create_user('$_\@example.org', NULL, '$password')") foreach qw(ann carl);

my $address = 0;
sub sign_in
{
	my ($http, $email, $try, $device, $range) = @_;
	my $r = $http->post($t->url . '/api/v1/auth/sign-in', {
			headers => { 'Content-Type' => 'application/json',
				'X-Forwarded-For' => "2001:db8:$range:" . sprintf('%x', ++$address) . '::1',
				$device ? (Cookie => "logsvc_device=$device") : () },
			content => json_encode({ email => $email, password => $try }) });
	my $set = $r->{headers}{'set-cookie'} // '';
	my ($made) = map { /^logsvc_device=(\w+)/ } ref $set ? @$set : $set;
	return ($r->{status}, $made // $device);
}

my $http = HTTP::Tiny->new(timeout => 30);
my (undef, $device) = sign_in($http, 'ann@example.org', $password, undef, 1);
ok($device, 'a browser that is known');

# Each from an address of its own, for an account of its own, as fast as it can.
my @flood;
foreach my $child (1 .. 8)
{
	my $pid = fork // die "fork: $!";
	if (!$pid)
	{
		my $client = HTTP::Tiny->new(timeout => 30);
		my $parent = getppid;
		my $n = 0;
		sign_in($client, "x$child-" . $n++ . '@example.org', 'x', undef, 100 + $child)
			while getppid == $parent;
		POSIX::_exit(0);
	}
	push @flood, $pid;
}
END { kill 'KILL', @flood }
# It has the places when somebody else is refused.
my $probe = 0;
ok(wait_until(sub { (sign_in($http, 'probe' . $probe++ . '@example.org', $password, undef, 2))[0]
	== 503 }), 'strangers have all places');

my @status = map { (sign_in($http, 'ann@example.org', $password, $device, 3))[0] } 1 .. 5;
is("@status", '200 200 200 200 200', 'a user signs in where she has been before');
my ($stranger) = sign_in($http, 'ann@example.org', $password, 'y' x 43, 3);
like($stranger, qr/^(?:503|200|429)$/, 'a cookie that was made up is one of a stranger');
is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
	json => { event => 'x' })->{status}, 202, 'events are taken');
is($t->http(GET => '/api/v1/search?q=x', token => $org->{read_key})->{status}, 200,
	'searches are run');

my %of;
$of{ (sign_in($http, 'ann@example.org', 'wrong', $device, 4))[0] }++ for 1 .. 12;
is($of{429}, 12, 'a known browser has tries of its own, and no more') or diag join ' ', %of;

kill 'KILL', @flood;
waitpid $_, 0 foreach @flood;
@flood = ();
# Tries of one account are counted, also those that get 503.
wait_until(sub { (sign_in($http, 'probe' . $probe++ . '@example.org', $password, undef, 2))[0]
	!= 503 });
is((sign_in($http, 'carl@example.org', $password, undef, 5))[0], 200,
	'when it is over strangers sign in again');
$t->stop;
done_testing;
