# readme_commands.pl: what the README prints to be typed works, in its order, on a server with the
# limits that users get: its SQL, its curl lines with the keys that its SQL makes.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(limits => 1, conf => "logsvc.model_region = 'eu'");

# The blocks of the page: [ kind, text ], as sql or console.
my @blocks;
my $page = slurp_file('README.md');
push @blocks, [ $1, $2 ] while $page =~ /^```(\w*)\n(.*?)^```$/msg;
cmp_ok(scalar(grep { $_->[0] eq 'sql' } @blocks), '>=', 5, 'blocks of SQL');
cmp_ok(scalar(grep { $_->[0] eq 'console' } @blocks), '>=', 6, 'blocks of commands');

# Its answers are shown with their prompts.
sub statements
{
	my ($text) = @_;
	return $text unless $text =~ /^=# /;
	return join '', $text =~ /^=# (.*?;\n)/ms;
}

my %secret;
my ($ran, $asked) = (0, 0);
foreach (@blocks)
{
	my ($kind, $text) = @$_;

	if ($kind eq 'sql' || $text =~ /^=# /)
	{
		my $sql = statements($text);
		# These have been run.
		$sql =~ s/^CREATE EXTENSION logsvc;\n//m;
		$sql =~ s/^SELECT logsvc\.create_organization\(.*\n//m if $ran;
		$sql =~ s/pat_\.\.\./$secret{LOGSVC_PAT}/g;
		# What is shown without a session of its own follows the first block, which acts for acme.
		$sql = "SELECT logsvc.act_as('acme') ->> 'kind';\n$sql" unless $sql =~ /act_as|use_token|create_/;
		my ($stdout, $stderr);
		$t->node->psql('postgres', $sql, stdout => \$stdout, stderr => \$stderr, on_error_stop => 1);
		$ran++;
		my ($first) = $sql =~ /(\S.*)/;
		is($stderr, '', "SQL: $first") or diag $sql;
		if ($text =~ /^=# /)
		{
			my @rows = $text =~ /\n ([^\n|]*\S) *\|.*(?=\n)/g;
			shift @rows;
			s/ +\z// foreach @rows;
			is(join("\n", map { s/\|.*//r } split /\n/, $stdout =~ s/^operator\n//r),
				join("\n", @rows), 'it answers the rows of the page');
		}
		@secret{qw(LOGSVC_INGEST_KEY LOGSVC_READ_KEY LOGSVC_PAT)} = split /\n/, $stdout
		  if $sql =~ /create_api_key/;
	}
	next unless $kind eq 'console' && %secret;
	foreach my $command ($text =~ /^\$ (curl .*?)(?=^\$ |^[{]|\z)/msg)
	{
		local %ENV = (%ENV, %secret, LOGSVC_URL => $t->url);
		my $follows = $command =~ / -N /;
		$command =~ s/^curl /curl -sS --fail-with-body @{[ $follows ? '-m 1' : '' ]} /;
		$command =~ s/\s+\z//;
		my $answer = `$command 2>&1`;
		$asked++;
		is($? >> 8, $follows ? 28 : 0, 'curl: ' . ($command =~ /(\$LOGSVC_URL\S*)/)[0])
		  or diag "$command\n$answer";
		like($answer, qr/"rows":\[\["checkout",1\]\]|"source":"checkout","count":1/,
			'the search finds the event that was sent')
		  if $command =~ /stats count/;
	}
}
like($secret{LOGSVC_PAT}, qr/^pat_/, 'the keys are those that the page names');
cmp_ok($ran, '>=', 6, "$ran blocks of SQL ran");
cmp_ok($asked, '>=', 7, "$asked requests were sent");

$t->stop;
done_testing;
