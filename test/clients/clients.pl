# clients.pl: what real clients lose.  Each one is set up as docs/sending-logs.md says, and
# logs lines with numbers: some every second, very many at once, some while the server restarts, and
# some with a wrong key.  Then the events with each number are counted.  Prints docs/clients.md with
# the rows that it has measured; what it does meanwhile goes to stderr.
#
#	T=regex       only these clients; the other rows stay as they are
#	LINES=100000  that many at once
use strict;
use warnings;

use LogsvcClients;
use LogsvcTest;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $at_once = $ENV{LINES} || 100_000;
my $wanted = $ENV{T} // '';
my $table = slurp_file('docs/clients.md');

# Where each sender of syslog sends.
my %syslog_port = map { ($_ => PostgreSQL::Test::Cluster::get_free_port()) }
	grep { LogsvcClients::route($_) eq 'syslog' } LogsvcClients::names();

sub slug { return $_[0] =~ s/-//gr; }

# The limits are those that users have.
my $t = LogsvcTest->new(limits => 1, conf => "logsvc.syslog_listeners = '"
	. join(', ', map { "tcp:$syslog_port{$_}=" . slug($_) } sort keys %syslog_port) . "'");

sub progress
{
	my $out = Test::More->builder->failure_output;
	print $out POSIX::strftime('%H:%M:%S ', localtime), @_, "\n";
	return;
}

# (events, different numbers) of the lines with a tag.
sub stored
{
	my ($org, $tag) = @_;
	my $answer = eval { $t->sql(<<"SQL") } // return (0, 0);
SELECT logsvc.act_as('$org->{slug}') ->> 'kind';
SELECT count(*), count(DISTINCT substring(event FROM '$tag line ([0-9]+)')) FROM logsvc.logs
 WHERE "timestamp" > now() - interval '1 day' AND event ~ '$tag line [0-9]';
SQL
	return $answer =~ /(\d+)\|(\d+)\s*\z/;
}

# Waits until all lines are there, or nothing has changed for as long as the client may be silent.
sub settled
{
	my ($org, $tag, $sent, $patience) = @_;
	my ($events, $numbers) = (0, 0);
	my $changed = time;
	while (time - $changed < $patience)
	{
		my ($e, $n) = stored($org, $tag);
		$changed = time if $e != $events;
		($events, $numbers) = ($e, $n);
		last if $n >= $sent && time - $changed > 2;
		sleep 0.5;
	}
	return ($events, $numbers);
}

sub thousands { return reverse(join ',', unpack '(A3)*', reverse $_[0]); }

sub cell
{
	my ($sent, $events, $numbers) = @_;
	return join ' / ', map { scalar thousands($_) } $numbers, $events - $numbers, $sent - $numbers;
}

# Logs lines; meanwhile $during is called.
sub measured
{
	my ($client, $name, $org, $tag, $count, $rate, $during) = @_;
	$client->log($tag, $count, $rate);
	$during->() if $during;
	progress("$name $tag: it does not log to the end")
		unless wait_until(sub { $client->done || !$client->alive }, 120);
	my @found = settled($org, $tag, $count, LogsvcClients::patience($name));
	progress("$name $tag: ", cell($count, @found));
	return cell($count, @found);
}

sub restart
{
	sleep 3; # lines come in
	$t->stop;
	sleep 2; # nobody listens
	$t->start;
	$t->wait_ready;
	return;
}

# What it does with a wrong key: does it say so, does the program go on, is nothing stored?
sub wrong_key
{
	my ($name, $org) = @_;
	return 'has none' if $syslog_port{$name};
	my $client = LogsvcClients->start($name, $t->http_port, $org->{ingest_key} =~ s/_(\w)(\w+)$/_$2$1/r);
	my $complains = qr/\b401\b|INVALID_API_KEY|invalid token|unauthori[sz]ed|authenticat/i;
	$client->log('wrong', 100, 0);
	wait_until(sub { $client->done || !$client->alive }, 30);
	my $said = wait_until(sub { $client->said =~ $complains }, 15);
	my $alive = $client->alive;
	progress("$name, wrong key: ", substr($client->said, 0, 400) =~ s/\s+/ /gr);
	$client->close(15);
	my ($events) = stored($org, 'wrong');
	return join ', ', $said ? 'says so' : 'says nothing', $alive ? () : 'the program ends',
		$events ? "$events stored" : ();
}

# Its row of the table.
sub row
{
	my ($name) = @_;
	my $org = $t->organization(slug($name));
	my $client = LogsvcClients->start($name, $t->http_port, $org->{ingest_key},
		$syslog_port{$name});
	my @cells = (
		measured($client, $name, $org, 'steady', 1000, 200),
		measured($client, $name, $org, 'burst', $at_once, 0),
		measured($client, $name, $org, 'restart', 2000, 200, \&restart));
	my $ended = $client->close(60);
	progress("$name: it does not end by itself") unless $ended;
	progress("$name said: ", substr($client->said, 0, 1000) =~ s/\s+/ /gr);
	return join ' | ', $name, LogsvcClients::version($name),
		LogsvcClients::route($name) =~ s/^(\/.*)/`$1`/r, @cells, wrong_key($name, $org);
}

foreach my $name (grep { /$wanted/ } LogsvcClients::names())
{
	if (!LogsvcClients::available($name)) { progress("$name is not here"); next; }
	my $row = eval { row($name) };
	if (!defined $row) { progress("$name: $@"); next; }
	progress($row);
	$table =~ s/^\| \Q$name\E \|.*\n//m;
	$table =~ s/^(\| client \|.*\n\|---.*\n)((?:\| .*\n)*)/$1 . join '', sort "| $row |\n", split \/^\/m, $2/me
		or die "docs/clients.md has no table\n";
}
$t->stop;
my $out = Test::More->builder->output;
print $out $table;
