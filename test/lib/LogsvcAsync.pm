# LogsvcAsync: requests that are sent now and answered later, so that a test can
# look at the service while it holds them.
#
#	my $request = begin_request($t, POST => '/api/v1/logs', token => $key,
#		json => { event => 'x' });
#	... ;
#	my $r = end_request($request);    # as LogsvcTest::http; status 0: no answer
#	$r->{seconds};                        # since it was sent
package LogsvcAsync;

use strict;
use warnings;

use Exporter 'import';
use LogsvcTest;
use Time::HiRes qw(time);

our @EXPORT = qw(begin_request end_request request answered);

# Options: token, headers, json or body, as those of LogsvcTest::http.
sub begin_request
{
	my ($t, $method, $path, %opt) = @_;
	my $body = exists $opt{json} ? json_encode($opt{json}) : $opt{body};
	my %headers = (Host => 'test', Connection => 'close', %{ $opt{headers} // {} });
	my $since = time;
	my $socket = $t->connect or return { failed => "cannot connect: $!", since => $since };

	$headers{Authorization} = "Bearer $opt{token}" if defined $opt{token};
	$headers{'Content-Type'} //= 'application/json' if defined $body;
	$headers{'Content-Length'} //= length $body if defined $body;
	local $SIG{PIPE} = 'IGNORE';
	$socket->autoflush(1);
	$socket->print(join("\r\n", "$method $path HTTP/1.1",
			(map { "$_: $headers{$_}" } sort keys %headers), '', $body // ''));
	return { socket => $socket, data => '', since => $since };
}

# Reads what has come; true when the answer is complete or the connection closed.
sub answered
{
	my ($request, $wait) = @_;
	return 1 if $request->{failed} || $request->{done};

	my $bits = '';
	vec($bits, fileno($request->{socket}), 1) = 1;
	# A signal, as of a child that ends, ends both calls early.
	return 0 unless select($bits, undef, undef, $wait // 0) > 0;
	my $n = sysread($request->{socket}, $request->{data}, 1 << 20, length $request->{data});
	$request->{done} = 1 unless $n || !defined $n && $!{EINTR};
	if ($request->{data} =~ /\A(.*?)\r\n\r\n/s)
	{
		my $head = length($1) + 4;
		$request->{done} = 1
		  if $1 =~ /^Content-Length: (\d+)/mi && length($request->{data}) >= $head + $1;
	}
	$request->{seconds} = time - $request->{since} if $request->{done};
	return $request->{done};
}

# Waits for the answer; status 0 when there is none after $timeout seconds.
sub end_request
{
	my ($request, $timeout) = @_;
	my $end = time + ($timeout // 60);

	until (answered($request, 0.05))
	{
		return { status => 0, content => 'no answer', headers => {},
			seconds => time - $request->{since} }
		  if time > $end;
	}
	my ($head, $content) = split /\r\n\r\n/, $request->{data} // '', 2;
	my ($status) = ($head // '') =~ m{^HTTP/1\.1 (\d+)};
	my %headers = map { /^([^:]+): (.*)$/ ? (lc $1 => $2) : () } split /\r\n/, $head // '';
	return { status => $status // 0, headers => \%headers, content => $content // '',
		json => scalar(eval { json_decode($content) }), seconds => $request->{seconds} };
}

sub request { return end_request(begin_request(@_)); }

1;
