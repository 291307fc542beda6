# LogsvcDouble: a service of another party that tests play, on loopback: one
# process that answers any number of connections at a time.
#
#	my $double = LogsvcDouble->new(answer => sub {
#		my ($request, $mode) = @_;    # { method, path, headers (lower case), body }
#		return { status => 200, body => '{}', headers => {}, delay => 0.5 };
#	});
#	$double->url;                     # http://127.0.0.1:port
#	$double->mode('slow');            # what `answer` is told from the next request on
#	$double->requests;                # those seen so far, with what `answer` gave as `note`
#	$double->gone;                    # connections that were closed on an unanswered request
#	$double->open;                    # requests that are not yet answered
#	$double->forget;
#	$double->stop;
#
# An answer may have: delay (seconds); hold (true: waits until the mode is another); raw (bytes
# instead of a reply); hang (true:
# never answered); close (true: the connection is closed).
#
# Options: tls => { cert, key } (files); smtp => true: takes mails instead, and
# `answer` gives { refuse => 'MAIL' or 'RCPT' or 'AUTH' } or nothing.
package LogsvcDouble;

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use JSON::PP ();
use MIME::Base64 ();
use PostgreSQL::Test::Utils ();
use Time::HiRes qw(time);

my $json = JSON::PP->new->canonical->latin1;
my @all;

sub new
{
	my ($class, %opt) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1024, Proto => 'tcp',
		ReuseAddr => 1)
	  or die "cannot listen: $!\n";
	my $self = bless { dir => $dir, port => $listener->sockport, %opt }, $class;

	$self->mode('');
	$self->forget;
	$self->{pid} = fork // die "cannot fork: $!\n";
	if ($self->{pid} == 0)
	{
		$SIG{$_} = 'DEFAULT' foreach qw(TERM INT HUP);
		$SIG{PIPE} = 'IGNORE';
		eval { $self->_serve($listener); };
		print STDERR "double: $@" if $@;
		# No END block of the test may run here.
		require POSIX;
		POSIX::_exit(1);
	}
	close $listener;
	push @all, $self;
	return $self;
}

sub port { return $_[0]{port}; }
sub url { return ($_[0]{smtp} ? 'smtp' : $_[0]{tls} ? 'https' : 'http')
	. "://127.0.0.1:$_[0]{port}"; }

sub stop
{
	my $self = shift;
	my $pid = delete $self->{pid} or return;
	local $?;
	kill 'TERM', $pid;
	waitpid $pid, 0;
	return;
}

END { $_->stop foreach @all; }

sub _write
{
	my ($self, $file, $text) = @_;
	open my $out, '>', "$self->{dir}/$file.new" or die "$file: $!\n";
	print $out $text;
	close $out;
	rename "$self->{dir}/$file.new", "$self->{dir}/$file" or die "$file: $!\n";
	return;
}

sub mode { my ($self, $mode) = @_; return $self->_write('mode', $mode); }

sub _note
{
	my ($self, $entry) = @_;
	open my $out, '>>', "$self->{dir}/seen" or die "seen: $!\n";
	syswrite $out, $json->encode($entry) . "\n";
	return;
}

sub forget
{
	my $self = shift;
	open my $out, '>', "$self->{dir}/seen" or die "seen: $!\n";
	return;
}

sub _seen
{
	my ($self, $event) = @_;
	open my $in, '<', "$self->{dir}/seen" or die "seen: $!\n";
	# Inside of a body the quotes are escaped.
	return [ grep { /"event":"$event".*\n\z/ } <$in> ];
}

sub requests { return [ map { $json->decode($_) } @{ $_[0]->_seen('request') } ]; }
sub gone { return scalar @{ $_[0]->_seen('gone') }; }
sub open { my $self = shift; return @{ $self->_seen('request') } - @{ $self->_seen('answered') } -
	$self->gone; }

# ---- the process of the double ----

sub _serve
{
	my ($self, $listener) = @_;
	my $select = IO::Select->new($listener);
	my %connections;

	while (1)
	{
		my $now = time;
		my $wait = 60;
		my $mode = $self->_mode;
		foreach my $c (grep { $_->{answer} } values %connections)
		{
			if ($c->{answer}{hold} && $mode eq $c->{mode}) { $wait = 0.02 if $wait > 0.02; next; }
			if ($c->{at} <= $now) { $self->_answer($c); }
			else { $wait = $c->{at} - $now if $c->{at} - $now < $wait; }
		}
		foreach my $socket ($select->can_read($wait))
		{
			if ($socket == $listener)
			{
				my $new = $listener->accept or next;
				$new = $self->_secure($new) or next if $self->{tls};
				$new->autoflush(1);
				$connections{ fileno $new } = { socket => $new, data => '', commands => [] };
				$select->add($new);
				syswrite $new, "220 double\r\n" if $self->{smtp};
				next;
			}
			my $fd = fileno $socket;
			my $c = $connections{$fd};
			my $n;
			do { $n = sysread $socket, $c->{data}, 1 << 18, length $c->{data} }
			  while ($n && $self->{tls} && $socket->pending);
			if (!$n || !($self->{smtp} ? $self->_mail($c) : $self->_request($c)))
			{
				$self->_note({ event => 'gone', at => time }) if $c->{answer} || $c->{hangs};
				$select->remove($socket);
				close $socket;
				delete $connections{$fd};
			}
		}
	}
}

sub _secure
{
	my ($self, $socket) = @_;
	require IO::Socket::SSL;
	return IO::Socket::SSL->start_SSL($socket, SSL_server => 1, SSL_cert_file => $self->{tls}{cert},
		SSL_key_file => $self->{tls}{key});
}

sub _mode
{
	my $self = shift;
	CORE::open(my $in, '<', "$self->{dir}/mode") or return '';
	return scalar(<$in>) // '';
}

# Takes a request that is whole; false: close the connection.
sub _request
{
	my ($self, $c) = @_;
	return 1 unless $c->{data} =~ /\A(.*?)\r\n\r\n/s;
	my ($head, $at) = ($1, length($1) + 4);
	my ($first, @lines) = split /\r\n/, $head;
	my ($method, $path) = split / /, $first;
	my %headers = map { /^([^:]+):\s*(.*)$/ ? (lc $1 => $2) : () } @lines;
	my $length = $headers{'content-length'} // 0;
	return 1 if length($c->{data}) < $at + $length;
	my $request = { method => $method, path => $path, headers => \%headers, lines => \@lines,
		body => substr($c->{data}, $at, $length) };
	substr($c->{data}, 0, $at + $length) = '';
	my $mode = $c->{mode} = $self->_mode;
	my $answer = $self->{answer}->($request, $mode);
	$self->_note({ event => 'request', at => time, %$request, note => $answer->{note} });
	return 0 if $answer->{close};
	if ($answer->{hang}) { $c->{hangs} = 1; return 1; }
	$c->{answer} = $answer;
	$c->{at} = time + ($answer->{delay} // 0);
	$self->_answer($c) unless $answer->{delay} || $answer->{hold};
	return 1;
}

sub _answer
{
	my ($self, $c) = @_;
	my $answer = delete $c->{answer};
	my $body = $answer->{body} // '';
	my %headers = ('Content-Type' => 'application/json', 'Content-Length' => length $body,
		%{ $answer->{headers} // {} });
	my $bytes = $answer->{raw}
	  // join("\r\n", "HTTP/1.1 " . ($answer->{status} // 200) . " Double",
	  (map { "$_: $headers{$_}" } sort keys %headers), '', $body);
	my $offset = 0;

	# Before it is sent: who has the answer finds it in the list.
	$self->_note({ event => 'answered', at => time });
	while ($offset < length $bytes)
	{
		my $n = syswrite $c->{socket}, $bytes, 1 << 16, $offset;
		last unless $n;
		$offset += $n;
	}
	return;
}

# The lines of a mail client; false: close the connection.
sub _mail
{
	my ($self, $c) = @_;
	my $say = sub { syswrite $c->{socket}, "$_[0]\r\n"; };
	while (1)
	{
		if ($c->{in_data})
		{
			return 1 unless $c->{data} =~ s/\A(.*?\r\n|)\.\r\n//s;
			$self->_note({ event => 'request', at => time, commands => $c->{commands},
				body => $1 });
			$c->{in_data} = 0;
			$say->('250 taken');
			next;
		}
		return 1 unless $c->{data} =~ s/\A(.*?)\r\n//;
		my $line = $1;
		push @{ $c->{commands} }, $line;
		my ($verb) = map { uc } $line =~ /^(\w+)/;
		my $refuse = ($self->{answer}->({ line => $line }, $self->_mode) // {})->{refuse} // '';
		if ($verb eq $refuse) { $say->($verb eq 'AUTH' ? '535 no' : '550 no'); }
		elsif ($verb eq 'EHLO') { $say->("250-double\r\n250 AUTH PLAIN"); }
		elsif ($verb eq 'AUTH')
		{
			# PLAIN with its argument, or in a line of its own.
			if ($line =~ /PLAIN$/) { $say->('334 '); $c->{auth} = 1; }
			else { $say->('235 welcome'); }
		}
		elsif ($c->{auth}) { $c->{auth} = 0; $say->('235 welcome'); }
		elsif ($verb eq 'DATA') { $say->('354 go on'); $c->{in_data} = 1; }
		elsif ($verb eq 'QUIT') { $say->('221 bye'); return 0; }
		else { $say->('250 ok'); }
	}
}

# ---- certificates ----

# A CA and a certificate of it for 127.0.0.1, and one that nobody has signed:
# { ca, cert, key, other_cert, other_key } (files).
sub certificates
{
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $run = sub { system("openssl $_[0] > $dir/log 2>&1") == 0 or die "openssl $_[0]\n"; };

	CORE::open(my $ext, '>', "$dir/ext") or die;
	print $ext "subjectAltName=IP:127.0.0.1\n";
	close $ext;
	$run->("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout $dir/ca.key -out "
		. "$dir/ca.pem");
	$run->("req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout $dir/key.pem -out "
		. "$dir/csr.pem");
	$run->("x509 -req -in $dir/csr.pem -CA $dir/ca.pem -CAkey $dir/ca.key -CAcreateserial -days 2 "
		. "-extfile $dir/ext -out $dir/cert.pem");
	$run->("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext "
		. "subjectAltName=IP:127.0.0.1 -keyout $dir/other.key -out $dir/other.pem");
	return { ca => "$dir/ca.pem", cert => "$dir/cert.pem", key => "$dir/key.pem",
		other_cert => "$dir/other.pem", other_key => "$dir/other.key" };
}

1;
