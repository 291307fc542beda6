#!/usr/bin/perl
# Receives the webhooks of make quickstart.
#
#	webhook-receiver.pl PORT_FILE BODY_FILE
#
# Listens on a free port of 127.0.0.1, which it writes into PORT_FILE, answers each POST with 204, and
# ends when it has written the body of the first one into BODY_FILE, or after a minute.
use strict;
use warnings;
use IO::Socket::INET;

my ($port_file, $body_file) = @ARGV;
die "usage: webhook-receiver.pl PORT_FILE BODY_FILE\n" unless defined $body_file;

sub put
{
	my ($file, $text) = @_;
	open my $out, '>', "$file.new" or die "$file: $!\n";
	print $out $text;
	close $out or die "$file: $!\n";
	rename "$file.new", $file or die "$file: $!\n";
}

alarm 60;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die "listen: $!\n";
put($port_file, $server->sockport);
while (my $client = $server->accept)
{
	my ($head, $body) = ('', '');
	while (my $line = <$client>)
	{
		last if $line =~ /^\r?\n$/;
		$head .= $line;
	}
	my ($length) = $head =~ /^Content-Length:\s*(\d+)/mi;
	read $client, $body, $length if $length && $length < 1_000_000;
	print $client "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
	close $client;
	next if $head !~ /^POST / || $body eq '';
	put($body_file, $body);
	last;
}
