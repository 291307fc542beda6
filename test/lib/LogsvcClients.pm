# LogsvcClients.pm: loggers and shippers, set up as docs/sending-logs.md says: their configuration
# is the block of code of that page whose first line names them (```js pino-loki), so that page and
# test cannot differ.
#
#	my $client = LogsvcClients->start('pino-loki', $t->http_port, $org->{ingest_key}, $syslog_port);
#	$client->log('tag', 1000, 200);         # lines "tag line 1" ..., 200 a second; does not wait
#	wait_until(sub { $client->done }, 60);  # it has logged them; it need not have sent them
#	$client->close;                         # false when it does not end by itself
#	print $client->said;                    # what it has printed
package LogsvcClients;

use strict;
use warnings;

use Cwd qw(getcwd);
use File::Temp qw(tempdir);
use IO::Handle;
use IO::Socket::INET;
use LogsvcTest;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep time);

# kind      node, python: a process that runs the block; rsyslog, syslog_ng, fluent_bit: a daemon
#           with the block in its configuration, which gets lines over TCP; shell: the block is run
#           for a file
# block     the name of its block, if it is not its own
# change    what the page says to write instead, [from, to]
# packages  of npm, for the version
# route     where it sends; "syslog": to a port of its own, which the test opens
# patience  seconds without news after which nothing more is expected of it
my %clients = (
	'bunyan-opentelemetry' => { kind => 'node', route => '/v1/logs',
		packages => [qw(bunyan @opentelemetry/instrumentation-bunyan)] },
	'opentelemetry-http' => { kind => 'node', route => '/v1/logs', block => 'opentelemetry-proto',
		change => [ 'otlp-proto', 'otlp-http' ],
		packages => [qw(@opentelemetry/exporter-logs-otlp-http)] },
	'opentelemetry-proto' => { kind => 'node', route => '/v1/logs',
		packages => [qw(@opentelemetry/exporter-logs-otlp-proto)] },
	'pino-elasticsearch' => { kind => 'node', route => '/_bulk',
		packages => [qw(pino pino-elasticsearch)] },
	'pino-loki' => { kind => 'node', route => '/loki/api/v1/push', packages => [qw(pino pino-loki)] },
	'pino-opentelemetry' => { kind => 'node', route => '/v1/logs',
		packages => [qw(pino pino-opentelemetry-transport)] },
	'winston-elasticsearch' => { kind => 'node', route => '/_bulk',
		packages => [qw(winston winston-elasticsearch)] },
	'winston-http' => { kind => 'node', route => '/api/v1/logs/batch', packages => [qw(winston)] },
	# It tries again after a minute.
	'winston-loki' => { kind => 'node', route => '/loki/api/v1/push', patience => 80,
		packages => [qw(winston winston-loki)] },
	'winston-opentelemetry' => { kind => 'node', route => '/v1/logs',
		packages => [qw(winston @opentelemetry/winston-transport)] },
	'splunk-logging' => { kind => 'node', route => '/services/collector',
		packages => [qw(splunk-logging)] },
	'curl' => { kind => 'shell', route => '/api/v1/logs/batch' },
	# No registry has it: only where fluent-bit is on the PATH.
	'fluent-bit-http' => { kind => 'fluent_bit', route => '/api/v1/logs/batch' },
	'fluent-bit-elasticsearch' => { kind => 'fluent_bit', route => '/_bulk' },
	'fluent-bit-loki' => { kind => 'fluent_bit', route => '/loki/api/v1/push' },
	'fluent-bit-opentelemetry' => { kind => 'fluent_bit', route => '/v1/logs' },
	'python' => { kind => 'python', route => '/api/v1/logs/batch' },
	'fluent-bit-splunk' => { kind => 'fluent_bit', route => '/services/collector' },
	'logger' => { kind => 'shell', route => 'syslog' },
	'rsyslog-elasticsearch' => { kind => 'rsyslog', route => '/_bulk' },
	'rsyslog-syslog' => { kind => 'rsyslog', route => 'syslog' },
	'syslog-ng' => { kind => 'syslog_ng', route => '/api/v1/logs/batch' },
	'syslog-ng-syslog' => { kind => 'syslog_ng', route => 'syslog' });

sub names { return sort keys %clients; }

# Is the program here?
sub available
{
	my ($name) = @_;
	return $clients{$name}{kind} ne 'fluent_bit' || grep { -x "$_/fluent-bit" } split /:/, $ENV{PATH};
}

my $page;

# The names of the page's blocks of code, and the text of one.
sub blocks { $page //= slurp_file('docs/sending-logs.md'); return $page =~ /^```\w+ (\S+)$/mg; }

sub block
{
	my ($name) = @_;
	$page //= slurp_file('docs/sending-logs.md');
	my ($text) = $page =~ /^```\w+ \Q$name\E\n(.*?)^```$/ms
		or die "docs/sending-logs.md has no block $name\n";
	return $text;
}

# Where Debian's packages of syslog-ng are unpacked: they cannot be installed next to rsyslog.
my $syslog_ng = getcwd() . '/build/syslog-ng';

sub start
{
	my ($class, $name, $port, $key, $syslog_port) = @_;
	my $client = $clients{$name} // die "no client $name\n";
	my $self = bless { %$client, name => $name, port => $port, key => $key,
		dir => tempdir(CLEANUP => 1) }, $class;
	my $text = block($client->{block} // $name);
	my ($from, $to) = @{ $client->{change} // [] };
	!defined $from || $text =~ s/\Q$from\E/$to/g or die "$name: nothing to change\n";
	$text =~ s/\b8080\b/$port/g;
	$text =~ s/\b5514\b/$syslog_port/g if $client->{route} eq 'syslog';
	$self->{text} = $text;
	local %ENV = (%ENV, LOGSVC_URL => "http://127.0.0.1:$port", LOGSVC_INGEST_KEY => $key);
	my $start = "_start_$client->{kind}";
	$self->$start;
	return $self;
}

# A process that reads commands; what it prints is in files.
my %running;

sub _run
{
	my ($self, @command) = @_;
	pipe(my $read, $self->{input}) or die "pipe: $!";
	my $pid = fork // die "fork: $!";
	if (!$pid)
	{
		open(STDIN, '<&', $read) && open(STDOUT, '>', "$self->{dir}/out")
			&& open(STDERR, '>', "$self->{dir}/err") && CORE::close($self->{input})
			&& exec(@command);
		POSIX::_exit(127);
	}
	$running{$pid} = 1;
	$self->{pid} = $pid;
	return;
}

END { kill 'KILL', keys %running; }

# Its exit status, as in $?; undef while it runs.
sub status
{
	my ($self) = @_;
	if (!defined $self->{status} && waitpid($self->{pid}, POSIX::WNOHANG()) == $self->{pid})
	{
		$self->{status} = $?;
		delete $running{ $self->{pid} };
	}
	return $self->{status};
}

sub _start_node
{
	my ($self) = @_;
	my $exported = $self->{text} =~ /\bclose = / ? 'logger, close' : 'logger';
	_write("build/npm/block-$self->{name}.mjs", "$self->{text}\nexport { $exported };\n");
	return $self->_run('node', 'build/npm/client.js', $self->{name});
}

sub _start_python
{
	my ($self) = @_;
	_write("$self->{dir}/block.py", $self->{text});
	return $self->_run('python3', 'test/clients/client.py', "$self->{dir}/block.py");
}

sub _start_shell { return; }

# A daemon: its configuration is that of the page after what opens a port for the test.
sub _start_daemon
{
	my ($self, $head, @command) = @_;
	$self->{text} =~ s/LOGSVC_INGEST_KEY/$self->{key}/g;
	$self->{text} =~ s{/var/(?:log|spool|lib)[\w/-]*/}{$self->{dir}/}g;
	_write("$self->{dir}/conf", "$head\n$self->{text}");
	$self->_run(@command);
	wait_until(sub { $self->{socket} = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
		PeerPort => $self->{tcp}, Proto => 'tcp') }, 20)
		or die "$self->{name} does not listen: " . $self->said;
	return;
}

sub _start_rsyslog
{
	my ($self) = @_;
	my $dir = $self->{dir};
	$self->{tcp} = PostgreSQL::Test::Cluster::get_free_port();
	return $self->_start_daemon(<<"HEAD", 'rsyslogd', '-n', '-f', "$dir/conf", '-i', "$dir/pid");
global(workDirectory="$dir")
module(load="imtcp")
input(type="imtcp" port="$self->{tcp}" address="127.0.0.1")
if \$syslogtag contains "rsyslogd" then { action(type="omfile" file="$dir/own") stop }
HEAD
}

sub _start_syslog_ng
{
	my ($self) = @_;
	my $dir = $self->{dir};
	$self->{tcp} = PostgreSQL::Test::Cluster::get_free_port();
	my ($modules) = glob "$syslog_ng/usr/lib/syslog-ng/[0-9]*" or die "no syslog-ng in $syslog_ng\n";
	my ($version) = $modules =~ m{([^/]+)$};
	local $ENV{LD_LIBRARY_PATH} = join ':', "$syslog_ng/usr/lib/syslog-ng",
		glob("$syslog_ng/usr/lib/*-linux-gnu"), glob("$syslog_ng/lib/*-linux-gnu");
	return $self->_start_daemon(<<"HEAD", "$syslog_ng/usr/sbin/syslog-ng", '-F', '--no-caps',
\@version: $version
source s_src { network(transport(tcp) ip(127.0.0.1) port($self->{tcp}) log-iw-size(10000)); };
HEAD
		'-e', "--module-path=$modules", '-f', "$dir/conf", '-R', "$dir/persist", '-p', "$dir/pid",
		'-c', "$dir/control");
}

sub _start_fluent_bit
{
	my ($self) = @_;
	$self->{tcp} = PostgreSQL::Test::Cluster::get_free_port();
	return $self->_start_daemon(<<"HEAD", 'fluent-bit', '-c', "$self->{dir}/conf");
[SERVICE]
    Flush 1
[INPUT]
    Name   tcp
    Listen 127.0.0.1
    Port   $self->{tcp}
    Format json
HEAD
}

sub _write
{
	my ($file, $text) = @_;
	unlink $file;
	append_to_file($file, $text);
	return;
}

# ---- lines ----

sub log
{
	my ($self, $tag, $count, $rate) = @_;
	my $send = "_log_$self->{kind}";
	return $self->_command("log $tag $count $rate") unless $self->can($send);
	# Beside the test, which restarts the server meanwhile.
	$self->{logging} = fork // die "fork: $!";
	return if $self->{logging};
	eval { $self->$send($tag, $count, $rate); 1 } or warn $@;
	POSIX::_exit(0);
}

# A warning with attributes: "TAG payment refused by NAME".
sub warn_once
{
	my ($self, $tag) = @_;
	return $self->_command("one $tag");
}

sub _command
{
	my ($self, $command) = @_;
	(undef, $self->{wait_for}) = split / /, $command;
	print { $self->{input} } "$command\n";
	$self->{input}->flush;
	return;
}

sub _paced
{
	my ($count, $rate, $step, $send) = @_;
	my $start = time;
	for (my $i = 1; $i <= $count; $i += $step)
	{
		my $last = $i + $step - 1;
		$send->($i .. ($last < $count ? $last : $count));
		sleep 0.001 while $rate && time < $start + $i / $rate;
	}
	return;
}

# As syslog's own line over the network, RFC 3164.
sub _log_rsyslog
{
	my ($self, $tag, $count, $rate) = @_;
	local $SIG{PIPE} = 'IGNORE';
	_paced($count, $rate, 10, sub {
		my $at = POSIX::strftime('%b %e %H:%M:%S', localtime);
		$self->{socket}->print(map { "<14>$at h1 app[7]: $tag line $_\n" } @_);
		$self->{socket}->flush;
	});
	return;
}
*_log_syslog_ng = \&_log_rsyslog;

# As JSON lines, the text under the name that it has for containers.
sub _log_fluent_bit
{
	my ($self, $tag, $count, $rate) = @_;
	local $SIG{PIPE} = 'IGNORE';
	_paced($count, $rate, 10, sub {
		$self->{socket}->print(map { json_encode({ log => "$tag line $_", level => 'info',
			order => $_ }) . "\n" } @_);
		$self->{socket}->flush;
	});
	return;
}

# The block sends file app.log: one for each second of lines.
sub _log_shell
{
	my ($self, $tag, $count, $rate) = @_;
	chdir $self->{dir};
	local %ENV = (%ENV, LOGSVC_URL => "http://127.0.0.1:$self->{port}",
		LOGSVC_INGEST_KEY => $self->{key});
	_paced($count, $rate, $rate || $count, sub {
		_write('app.log', join '', map { json_encode({ level => 30, time => int(1000 * time),
			msg => "$tag line $_", order => $_ }) . "\n" } @_);
		system("($self->{text}) >> out 2>> err");
	});
	return;
}

# Has it logged what it was told?
sub done
{
	my ($self) = @_;
	if ($self->{logging})
	{
		return 0 unless waitpid($self->{logging}, POSIX::WNOHANG()) == $self->{logging};
		delete $self->{logging};
	}
	return !$self->{wait_for} || $self->said =~ /^done \Q$self->{wait_for}\E$/m;
}

# What it has printed, and what it keeps of its own trouble.
sub said
{
	my ($self) = @_;
	return join '', map { -f "$self->{dir}/$_" ? slurp_file("$self->{dir}/$_") : () }
		qw(out err own logsvc-refused);
}

# Does it still run, or need it not?
sub alive
{
	my ($self) = @_;
	return !$self->{pid} || !defined $self->status;
}

# Ends it; false when it does not do so by itself within so many seconds, or with an error.
sub close
{
	my ($self, $timeout) = @_;
	return 1 unless $self->{pid};
	CORE::close($self->{input});
	if ($self->{socket})
	{
		CORE::close($self->{socket});
		kill 'TERM', $self->{pid};
	}
	my $ended = wait_until(sub { defined $self->status }, $timeout // 30);
	if (!$ended)
	{
		kill 'KILL', $self->{pid};
		wait_until(sub { defined $self->status }, 30);
	}
	return $ended && $self->{status} == 0;
}

# ---- versions ----

sub version
{
	my ($name) = @_;
	my $client = $clients{$name};
	return join ', ', map { "$_ " . json_decode(slurp_file("build/npm/node_modules/$_/package.json"))
		->{version} } @{ $client->{packages} } if $client->{packages};
	my $kind = $client->{kind};
	my ($version) = ($kind eq 'rsyslog' ? `rsyslogd -v` : $kind eq 'python' ? `python3 --version`
		: $kind eq 'fluent_bit' ? `fluent-bit --version` =~ s/Fluent Bit v/fluent-bit /r
		: $kind eq 'shell' ? `$name --version` =~ s/ from util-linux / /r : '') =~ /^[\w-]+\s+([\d.]+)/;
	($version) = slurp_file("$syslog_ng/versions") =~ /^syslog-ng-core_([\d.]+)/m
		if $kind eq 'syslog_ng';
	return ($kind eq 'shell' ? $name : $kind =~ s/_/-/r) . " $version";
}

sub route { return $clients{ $_[0] }{route}; }
sub patience { return $clients{ $_[0] }{patience} // 20; }

1;
