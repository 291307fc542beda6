#!/usr/bin/perl
# Turns log files of this machine into NDJSON events for POST /api/v1/logs/batch.
#
#	logs-to-ndjson.pl SOURCE FILE
#
# SOURCE is postgresql, dpkg or apt; it says how a line begins.  A line that
# does not begin as one is a continuation of the line before.
use strict;
use warnings;
use JSON::PP;
use POSIX qw(mktime strftime);

my ($source, $file) = @ARGV;
die "usage: logs-to-ndjson.pl SOURCE FILE\n" unless defined $file;
open my $in, '<:raw', $file or die "$file: $!\n";

my $json = JSON::PP->new->utf8->canonical;
my $host = `hostname` || 'localhost';
chomp $host;
my $event;

sub flush_event
{
	return unless $event;
	print $json->encode($event), "\n";
	undef $event;
}

# "2026-11-21 10:00:00" in this machine's time zone to UTC.
sub utc
{
	my ($y, $mo, $d, $h, $mi, $s) = $_[0] =~ /^(\d+)-(\d+)-(\d+)\s+(\d+):(\d+):(\d+)/ or return;
	return strftime('%Y-%m-%dT%H:%M:%SZ',
		gmtime(mktime($s, $mi, $h, $d, $mo - 1, $y - 1900, 0, 0, -1)));
}

my %level = (
	LOG => 'info', STATEMENT => 'info', DETAIL => 'info', HINT => 'info', CONTEXT => 'info',
	INFO => 'info', NOTICE => 'info', WARNING => 'warn', ERROR => 'error', FATAL => 'fatal',
	PANIC => 'fatal', DEBUG => 'debug');

while (my $line = <$in>)
{
	$line =~ s/\r?\n\z//;
	utf8::decode($line) or $line =~ s/[^\x20-\x7e\t]/?/g;
	next if $line =~ /^\s*$/;
	if ($source eq 'postgresql'
		&& $line =~ /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.?(\d*) UTC \[(\d+)\] (\w+):\s+(.*)/)
	{
		my ($time, $fraction, $pid, $severity, $text) = ($1, $2, $3, $4, $5);
		flush_event();
		$time =~ tr/ /T/;
		$event = { timestamp => "$time." . ($fraction || 0) . 'Z', level => $level{$severity} || 'info',
			event => "$severity:  $text", attributes => { pid => $pid + 0, host => $host } };
	}
	elsif ($source eq 'dpkg' && $line =~ /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (.*)/)
	{
		my ($time, $text) = ($1, $2);
		flush_event();
		my %attributes = (host => $host);
		@attributes{qw(action package)} = ($1, $2)
			if $text =~ /^(status \S+|install|upgrade|configure|trigproc|remove|purge) (\S+)/;
		$event = { timestamp => utc($time), level => 'info', event => $text,
			attributes => \%attributes };
	}
	elsif ($source eq 'apt' && $line =~ /^(Start-Date|Commandline|Install|Upgrade|Remove|Purge|Error|End-Date|Requested-By): (.*)/)
	{
		my ($key, $text) = ($1, $2);
		flush_event() if $key eq 'Start-Date';
		$event ||= { level => 'info', event => '', attributes => { host => $host } };
		if ($key eq 'Start-Date') { $event->{timestamp} = utc($text) }
		elsif ($key eq 'End-Date') { }
		else { $event->{event} .= ($event->{event} eq '' ? '' : "\n") . "$key: $text" }
		$event->{level} = 'error' if $key eq 'Error';
	}
	elsif ($event)
	{
		$event->{event} .= "\n$line";
	}
	$event->{source} = $source if $event;
}
flush_event();
