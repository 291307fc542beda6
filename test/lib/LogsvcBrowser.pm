# LogsvcBrowser: runs scripts of test/browser in Chromium against a service, as
# part of a TAP test.
package LogsvcBrowser;

use strict;
use warnings;

use IPC::Open2 qw(open2);
use JSON::PP ();
use LogsvcTest;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;

my $json = JSON::PP->new->allow_nonref;

# Where a program is, under the first of these names.
sub program
{
	my @names = @_;
	my ($found) = grep { -x } map { my $folder = $_; map { "$folder/$_" } @names } split /:/, $ENV{PATH};
	return $found;
}

# The browser.
sub chromium { return program(qw(chromium chromium-browser google-chrome)); }

# Why each of what tests of the console need cannot be had; nothing when it is there.
my %missing = (
	esbuild => sub { return program('esbuild') ? undef : 'there is no esbuild' },
	brotli => sub { return program('brotli') ? undef : 'there is no brotli' },
	node => sub {
		return program('node') && !system('node', '-e', 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)')
		  ? undef : 'there is no Node of version 18 or newer';
	},
	browser => sub {
		return !chromium() ? 'there is no Chromium'
		  : !-d 'build/browser/node_modules/playwright-core' ? 'build/browser has no packages (make check-tap fetches them)'
		  : ($ENV{TEST_CONF} // '') =~ /^logsvc\.console = off/m ? 'this build has no console' : undef;
	});

# What is missing of these; nothing when all is there.  Where LOGSVC_REQUIRE_BROWSER is set, what is
# missing fails the test.
sub missing
{
	my ($reason) = grep { defined } map { $missing{$_}->() } @_;
	die "$reason, and LOGSVC_REQUIRE_BROWSER is set\n" if defined $reason && $ENV{LOGSVC_REQUIRE_BROWSER};
	return $reason;
}

# Skips the whole test when something that runs scripts in a browser is missing, or of @more.
sub needed
{
	my @more = @_;
	my $reason = missing(qw(browser node), @more) // return;
	plan(skip_all => $reason);
	return;
}

# A mail server whose mails are files of the returned folder; the service sends its mails there.
my $mail_server;

sub mails
{
	my ($t) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	append_to_file("$dir/mode", '');
	$mail_server = fork // die $!;
	if ($mail_server == 0)
	{
		exec '/usr/bin/python3', 'test/lib/smtp_server.py', $dir or POSIX::_exit(1);
	}
	my $port = wait_until(sub { -f "$dir/port" && slurp_file("$dir/port") }, 60)
	  or die "no mail server\n";
	$t->set('logsvc.smtp_from', 'logsvc <logs@example.org>');
	$t->set('logsvc.smtp_url', "smtp://127.0.0.1:$port");
	return $dir;
}
END { local $?; if ($mail_server) { kill 'KILL', $mail_server; waitpid $mail_server, 0; } }

# Runs test/browser/SCRIPT; its lines of TAP become tests of this file.  Options: calls (what the
# script may have done here, by name), env.
sub run
{
	my ($t, $script, %opt) = @_;
	my %calls = %{ $opt{calls} // {} };
	local %ENV = (%ENV, LOGSVC_URL => $t->url, CHROMIUM => chromium(), %{ $opt{env} // {} });
	my $pid = open2(my $out, my $in, 'node', "test/browser/$script");
	my $planned;

	# A browser that hangs ends the test, too.
	local $SIG{ALRM} = sub { kill 'KILL', $pid; };
	alarm 900;
	while (my $line = <$out>)
	{
		chomp $line;
		if ($line =~ /^(not )?ok \d+ - (.*)/) { ok(!$1, $2); }
		elsif ($line =~ /^\@call (\w+) (.*)/)
		{
			my $call = $calls{$1} // die "$script calls $1, which is not there\n";
			my $answer = $call->($json->decode($2)) // JSON::PP::true();
			print $in $json->encode($answer), "\n";
			$in->flush;
		}
		elsif ($line =~ /^1\.\.\d+$/) { $planned = 1; }
		else { diag($line =~ s/^# //r); }
	}
	waitpid $pid, 0;
	alarm 0;
	ok($planned && $? == 0, "$script came to its end");
	return;
}

1;
