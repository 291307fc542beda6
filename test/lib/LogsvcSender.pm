# LogsvcSender: a process that sends events, one in each request, while a test does something.
#
#	my $sender = LogsvcSender->start($t, $org, 'word');    # of LogsvcTest::organization
#	... ;
#	$sender->stop;
#	$sender->check('after it');    # each that was acknowledged is found, and none twice: 2 tests
#
# With unseen => 1, start does not wait until some are found, for events that wait somewhere.
# The events are the word, and have a number.  A test that dies leaves no sender behind.
package LogsvcSender;

use strict;
use warnings;

use LogsvcTest;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my %running;

END { local $?; kill 'KILL', keys %running; }

sub start
{
	my ($class, $t, $org, $word, %opt) = @_;
	pipe my $from, my $to or die;
	my $pid = fork // die;
	if (!$pid)
	{
		my (%answers, @taken, $stop);
		$SIG{TERM} = sub { $stop = 1 };
		for (my $n = 1; !$stop; $n++)
		{
			my $r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, client => $word,
				json => { event => $word, attributes => { number => $n } }, timeout => 10);
			push @taken, $n if $r->{status} == 202;
			$answers{ $r->{status} == 599 ? "$r->{status} " . substr $r->{content}, 0, 60 : $r->{status} }++;
			sleep 0.01;
		}
		syswrite $to, json_encode({ taken => \@taken, answers => \%answers });
		POSIX::_exit(0);
	}
	close $to;
	$running{$pid} = 1;
	my $self = bless { t => $t, org => $org, word => $word, pid => $pid, from => $from }, $class;
	ok(wait_until(sub { $self->found > 20 }), "a sender sends: $word") unless $opt{unseen};
	return $self;
}

sub stop
{
	my ($self) = @_;
	kill 'TERM', $self->{pid};
	my $said = json_decode(readline $self->{from});
	waitpid $self->{pid}, 0;
	delete $running{ $self->{pid} };
	diag join ', ', map { "$_: $said->{answers}{$_}" } sort keys %{ $said->{answers} };
	$self->{taken} = $said->{taken};
	return;
}

sub search
{
	my ($self, $rest) = @_;
	my $r = $self->{t}->http(GET => '/api/v1/search', token => $self->{org}{read_key},
		query => { q => "$self->{word} $rest", earliest => '-1h', latest => '+1d' });
	die "$r->{status} $r->{content}" unless $r->{status} == 200;
	return $r->{json}{data}{rows};
}

# How many of its events a search finds now.
sub found { return $_[0]->search('| stats count')->[0][0] // 0; }

# Do more come in?
sub goes_on
{
	my ($self, $what) = @_;
	my $before = wait_until(sub { $self->found }) // 0;
	ok(wait_until(sub { $self->found > $before + 20 }), $what);
	return;
}

sub check
{
	my ($self, $what) = @_;
	my %count;
	# A page has up to a thousand rows.
	for (my $n = 0; $n <= ($self->{taken}[-1] // 0); $n += 1000)
	{
		my $end = $n + 1000;
		$count{ $_->[0] } = $_->[1]
		  foreach @{ $self->search("number>=$n number<$end | stats count by number | sort number | head 1000") };
	}
	is(join(' ', grep { !$count{$_} } @{ $self->{taken} }), '', "$what: each event that was acknowledged");
	is(join(' ', grep { $count{$_} > 1 } sort keys %count), '', "$what: none twice");
	return;
}

1;
