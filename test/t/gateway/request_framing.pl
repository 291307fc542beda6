# request_framing.pl: where a request ends.  Whatever two readers of the same
# bytes could understand differently is refused: as the first request of a
# connection, as a later one, pipelined, byte by byte; plain and over TLS.
use strict;
use warnings;

use LogsvcGateway;
use Test::More;
use Time::HiRes qw(sleep);

my $dir = certificate();
my %host = (plain => start_host(later => 1),
	TLS => start_host(later => 1, tls_certificate => "$dir/cert.pem", tls_key => "$dir/key.pem"));
my %open = (plain => \&connect_to, TLS => \&connect_tls);

my $line = "POST /api/v1/logs?echo=1 HTTP/1.1\r\n";
my $chunked = "${line}Host: a\r\nTransfer-Encoding: chunked\r\n\r\n";
my $hidden = "GET /api/v1/search?smuggled=1 HTTP/1.1\r\nHost: a\r\n\r\n";
my $next = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

# name, framing of a body that is "hello"
my @good = (
	[ 'one chunk', "5\r\nhello\r\n0\r\n\r\n" ],
	[ 'two chunks', "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n" ],
	[ 'a chunk for each byte', join('', map { "1\r\n$_\r\n" } split //, 'hello') . "0\r\n\r\n" ],
	[ 'zeros before sizes', "0005\r\nhello\r\n0000\r\n\r\n" ],
	[ '16 digits', "0000000000000005\r\nhello\r\n0\r\n\r\n" ],
	[ 'extensions', "5;a=b;c=\"d\te\"\r\nhello\r\n0;x\r\n\r\n" ],
	[ 'an extension of 256 bytes', '5;' . ('x' x 256) . "\r\nhello\r\n0\r\n\r\n" ],
	[ 'trailer fields', "5\r\nhello\r\n0\r\nX-A: b\r\nContent-Length: 7\r\nX-C:\r\n\r\n" ]);

my @bad = (
	[ 'bare LF behind a size', "5\nhello\r\n0\r\n\r\n" ],
	[ 'bare LF behind data', "5\r\nhello\n0\r\n\r\n" ],
	[ 'bare LF behind the last size', "5\r\nhello\r\n0\n\r\n" ],
	[ 'bare LF at the end', "5\r\nhello\r\n0\r\n\n" ],
	[ 'bare LF everywhere', "5\nhello\n0\n\n" ],
	[ 'bare LF in an extension', "5;a\nb\r\nhello\r\n0\r\n\r\n" ],
	[ 'NUL LF behind a size', "5\0\nhello\r\n0\r\n\r\n" ],
	[ 'NUL LF behind data', "5\r\nhello\0\n0\r\n\r\n" ],
	[ 'NUL LF behind the last size', "5\r\nhello\r\n0\0\n\r\n" ],
	[ 'NUL LF at the end', "5\r\nhello\r\n0\r\n\0\n" ],
	[ 'NUL in an extension', "5;\0\r\nhello\r\n0\r\n\r\n" ],
	[ 'bare CR behind a size', "5\rhello\r\n0\r\n\r\n" ],
	[ 'bare CR behind data', "5\r\nhello\r0\r\n\r\n" ],
	[ 'CR CR LF', "5\r\r\nhello\r\n0\r\n\r\n" ],
	[ 'nothing behind data', "5\r\nhello0\r\n\r\n" ],
	[ 'more data than the size', "5\r\nhellox\r\n0\r\n\r\n" ],
	[ 'a blank before a size', " 5\r\nhello\r\n0\r\n\r\n" ],
	[ 'a blank behind a size', "5 \r\nhello\r\n0\r\n\r\n" ],
	[ 'a tab behind a size', "5\t;a\r\nhello\r\n0\r\n\r\n" ],
	[ '0x', "0x5\r\nhello\r\n0\r\n\r\n" ],
	[ 'a sign', "+5\r\nhello\r\n0\r\n\r\n" ],
	[ 'a negative size', "-1\r\nhello\r\n0\r\n\r\n" ],
	[ 'no size', "\r\nhello\r\n0\r\n\r\n" ],
	[ 'only an extension', ";a\r\nhello\r\n0\r\n\r\n" ],
	[ '17 digits', "00000000000000005\r\nhello\r\n0\r\n\r\n" ],
	[ 'a size of 64 bits', "FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n" ],
	[ 'a size that would overflow', "10000000000000005\r\nhello\r\n0\r\n\r\n" ],
	[ 'an extension of 257 bytes', '5;' . ('x' x 257) . "\r\nhello\r\n0\r\n\r\n" ],
	[ 'an extension of 33,000 bytes', '5;' . ('x' x 33_000) . "\r\nhello\r\n0\r\n\r\n" ],
	[ 'an extension that never ends', '5;' . ('x' x 70_000) ],
	[ 'a chunk in a trailer', "5\r\nhello\r\n0\r\n5\r\nhello\r\n0\r\n\r\n" ],
	[ 'a size of 20 digits', "00000000000000000005\r\nhello\r\n0\r\n\r\n" ],
	[ 'digits of other scripts', "\xd9\xa5\r\nhello\r\n0\r\n\r\n" ],
	[ 'a size with underscores', "0_5\r\nhello\r\n0\r\n\r\n" ],
	[ 'bare LF in the trailer', "5\r\nhello\r\n0\r\nX: a\nY: b\r\n\r\n" ],
	[ 'NUL LF in the trailer', "5\r\nhello\r\n0\r\nX: a\0\n\r\n" ],
	[ 'a folded trailer', "5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n" ],
	[ 'a trailer without colon', "5\r\nhello\r\n0\r\nX\r\n\r\n" ],
	[ 'a blank before the colon of a trailer', "5\r\nhello\r\n0\r\nX : a\r\n\r\n" ],
	[ 'a trailer of 5,000 bytes', "5\r\nhello\r\n0\r\nX: " . ('x' x 5000) . "\r\n\r\n" ]);

# name, header fields of a request whose body is 0 or 5 bytes
my @headers = (
	[ 'NUL LF behind a field', "X-A: a\0\nContent-Length: 5\r\n" ],
	[ 'NUL LF behind Transfer-Encoding', "Transfer-Encoding: chunked\0\n" ],
	[ 'bare LF behind a field', "X-A: a\nContent-Length: 5\r\n" ],
	[ 'bare LF at the end of the header', "Content-Length: 5\r\n\n" ],
	[ 'two NULs for a line end', "X-A: a\0\0Content-Length: 5\r\n" ],
	[ 'bare CR', "X-A: a\rContent-Length: 5\r\n" ],
	[ 'a folded Content-Length', "Content-Length:\r\n 5\r\n" ],
	[ 'both lengths', "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" ],
	[ 'chunked twice', "Transfer-Encoding: chunked, chunked\r\n" ],
	[ 'chunked behind another coding', "Transfer-Encoding: gzip, chunked\r\n" ],
	[ 'an unknown coding', "Transfer-Encoding: xchunked\r\n" ],
	[ 'a coding with a vertical tab', "Transfer-Encoding: \x0bchunked\r\n" ],
	[ 'a blank before the colon', "Transfer-Encoding : chunked\r\n" ],
	[ 'two equal lengths', "Content-Length: 5\r\nContent-Length: 5\r\n" ],
	[ 'a list of equal lengths', "Content-Length: 5, 5\r\n" ],
	[ 'a length in hexadecimal', "Content-Length: 0x5\r\n" ],
	[ 'a length beyond 64 bits, with both',
		"Content-Length: 18446744073709551621\r\nTransfer-Encoding: chunked\r\n" ],
	[ 'a folded Transfer-Encoding', "Transfer-Encoding:\r\n chunked\r\n" ],
	[ 'a tab behind chunked', "Transfer-Encoding: chunked\t\r\n" ],
	[ 'chunked in quotes', "Transfer-Encoding: \"chunked\"\r\n" ],
	[ 'an empty Transfer-Encoding', "Transfer-Encoding:\r\n" ],
	[ 'Transfer-Encoding with an empty one',
		"Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n" ]);

# Sends a request in that position of a connection: what the server answered to it and behind it.
sub send_as
{
	my ($how, $position, $request) = @_;
	my $s = $open{$how}->($host{$how});
	my $before = post('/api/v1/logs', 'first');

	if ($position eq 'first') { syswrite($s, $request) }
	elsif ($position eq 'pipelined') { syswrite($s, $before . $request) }
	else
	{
		syswrite($s, $before);
		my ($got) = read_responses($s, 1);
		$got->[0]{status} == 202 or die 'no answer';
		if ($position eq 'second') { syswrite($s, $request) }
		else
		{
			# In pieces of 3 bytes: every boundary is somewhere between two reads.
			for (my $i = 0; $i < length $request; $i += 3)
			{
				defined syswrite($s, substr($request, $i, 3)) or last;
				sleep 0.0005;
			}
		}
	}
	return $s;
}

foreach my $how ('plain', 'TLS')
{
	foreach my $position ('first', 'second', 'pipelined', 'in pieces')
	{
		# Pieces of an s_client are no records: it waits for more.
		next if $how eq 'TLS' && $position eq 'in pieces';
		my $skip = $position eq 'pipelined' ? 1 : 0;

		foreach (@good)
		{
			my ($name, $framing) = @$_;
			my $s = send_as($how, $position, $chunked . $framing . $next);
			my ($got) = read_responses($s, 2 + $skip);
			my ($r, $after) = @$got[ $skip, $skip + 1 ];
			like(($r->{status} // '') . ' ' . ($r->{body} // ''),
				qr/^202 .*"bodyLength":5.*"body":"hello"/, "$how, $position: $name");
			is($after->{body}, '{"status":"ok"}', 'and what follows is a request');
		}
		foreach (map({ [ $_->[0], $chunked . $_->[1] ] } @bad),
			map({ [ $_->[0], "${line}Host: a\r\n$_->[1]\r\nhello" ] } @headers))
		{
			my ($name, $request) = @$_;
			my $s = send_as($how, $position, $request . $hidden);
			my ($got, $eof) = read_responses($s, 0);
			my @status = map { $_->{status} } @$got;
			shift @status if $skip;
			is("@status", '400', "$how, $position: $name is refused")
				or diag(map { $_->{body} } @$got);
			ok($eof, 'and nothing behind it is read');
			like($got->[-1]{body} // '', qr/^\{"error":"[^"]+","code":"VALIDATION_ERROR"\}$/,
				'with the reason');
		}
	}
}
foreach my $how (sort keys %host)
{
	my ($status, $said) = stop_host($host{$how});
	is($status, 0, "$how: the sanitizers have nothing to report");
	is($said, "drained\n", 'and no request was left');
}
done_testing;
