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
my ($chromium) = grep { -x } map { ("$_/chromium", "$_/chromium-browser", "$_/google-chrome") }
  split /:/, $ENV{PATH};

# The browser.
sub chromium { return $chromium; }

# What is missing to run them; nothing when all is there.
sub missing
{
	return 'there is no Chromium' unless $chromium;
	return 'there is no Node of version 18 or newer'
	  if system('node', '-e', 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)');
	return 'build/browser has no packages (make check-tap fetches them)'
	  unless -d 'build/browser/node_modules/playwright-core';
	return 'this build has no console' if ($ENV{TEST_CONF} // '') =~ /^logsvc\.console = off/m;
	return;
}

# Skips the whole test when something is missing, or fails it where LOGSVC_REQUIRE_BROWSER=1.
sub needed
{
	my $reason = missing() // return;
	die "$reason, and LOGSVC_REQUIRE_BROWSER is set\n" if $ENV{LOGSVC_REQUIRE_BROWSER};
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
	local %ENV = (%ENV, LOGSVC_URL => $t->url, CHROMIUM => $chromium, %{ $opt{env} // {} });
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
