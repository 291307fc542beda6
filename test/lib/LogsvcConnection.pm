# LogsvcConnection: one connection to PostgreSQL, without psql.  A test runs thousands of
# statements, and starting psql takes more processor time than most of them.
#
#	my $c = LogsvcConnection->new(host => $directory, port => 5432,
#		database => 'postgres', user => 'postgres') or die $LogsvcConnection::error;
#	my $r = $c->query('SELECT 1');
#	# { rows => what psql -At prints, notices => ..., error => undef or
#	#   { text => 'ERROR:  ...', state => '22012', message => 'division by zero' } }
#
# A query that could not be sent or answered has the error of a lost connection, with state ''.
# It speaks the simple query protocol, without authentication (initdb -A trust).  Several
# statements in one query would be one transaction, unlike in psql: see LogsvcTest::sql.
package LogsvcConnection;

use strict;
use warnings;

use IO::Socket::INET;
use IO::Socket::UNIX;
use Socket qw(MSG_NOSIGNAL);

our $error;

sub new
{
	my ($class, %to) = @_;
	my $socket = $to{host} =~ m{^/}
	  ? IO::Socket::UNIX->new(Peer => "$to{host}/.s.PGSQL.$to{port}")
	  : IO::Socket::INET->new(PeerAddr => $to{host}, PeerPort => $to{port}, Proto => 'tcp');
	if (!$socket)
	{
		$error = "could not connect to server: $!";
		return;
	}
	my $self = bless { socket => $socket, data => '' }, $class;
	my $startup = join "\0", user => $to{user}, database => $to{database},
	  application_name => $ENV{PGAPPNAME} // 'test',
	  $ENV{PGOPTIONS} ? (options => $ENV{PGOPTIONS}) : (), '', '';
	my $r = $self->_run(pack('N N a*', 8 + length $startup, 196608, $startup));
	return $self unless $r->{error};
	$error = $r->{error}{text};
	return;
}

sub query
{
	my ($self, $sql) = @_;
	utf8::encode($sql) if $sql =~ /[^\x00-\xff]/;
	return $self->_run(pack('a N Z*', 'Q', 5 + length $sql, $sql));
}

# The next message: (type, content), or nothing when the connection has ended.
sub _receive
{
	my ($self) = @_;
	while (1)
	{
		my $length = length $self->{data} < 5 ? 0 : unpack('x N', $self->{data}) + 1;
		if ($length && length $self->{data} >= $length)
		{
			my $message = substr($self->{data}, 0, $length, '');
			return (substr($message, 0, 1), substr($message, 5));
		}
		my $n = sysread($self->{socket}, $self->{data}, 1 << 16, length $self->{data});
		return if defined $n ? $n == 0 : !$!{EINTR};
	}
}

sub _send
{
	my ($self, $bytes) = @_;
	while (length $bytes)
	{
		my $n = send($self->{socket}, $bytes, MSG_NOSIGNAL);
		return 0 unless defined $n || $!{EINTR};
		substr($bytes, 0, $n // 0, '');
	}
	return 1;
}

# Sends a message and reads until the server waits for the next one.
sub _run
{
	my ($self, $bytes) = @_;
	my %r = (rows => '', notices => '');

	# Why a session has ended may be there to read although nothing can be sent.
	$self->_send($bytes);
	while (my ($type, $content) = $self->_receive)
	{
		return \%r if $type eq 'Z';
		if ($type eq 'D')
		{
			my ($n, @fields) = unpack('n', $content);
			my $at = 2;
			foreach (1 .. $n)
			{
				my $length = unpack('l>', substr($content, $at, 4));
				push @fields, $length < 0 ? '' : substr($content, $at + 4, $length);
				$at += 4 + ($length < 0 ? 0 : $length);
			}
			$r{rows} .= join('|', @fields) . "\n";
		}
		elsif ($type eq 'E' || $type eq 'N')
		{
			my %f = map { (substr($_, 0, 1), substr($_, 1)) } grep { length } split /\0/, $content;
			my $text = "$f{S}:  $f{M}" . ($f{D} ? "\nDETAIL:  $f{D}" : '')
			  . ($f{H} ? "\nHINT:  $f{H}" : '') . ($f{W} ? "\nCONTEXT:  $f{W}" : '');
			if ($type eq 'N') { $r{notices} .= "$text\n"; }
			else { $r{error} = { text => $text, state => $f{C}, message => $f{M} }; }
		}
		elsif ($type eq 'R' && unpack('N', $content))
		{
			return { error => { text => 'the server wants a password', state => '',
				message => '' } };
		}
	}
	$self->{lost} = 1;
	$r{error} //= { text => 'server closed the connection unexpectedly', state => '',
		message => '' };
	return \%r;
}

1;
