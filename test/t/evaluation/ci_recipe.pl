# ci_recipe.pl: the script of docs/evaluation.md for CI, as it is printed there: what its exit
# code says.
use strict;
use warnings;

use File::Temp ();
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.model_region = 'eu'");
my $org = $t->organization('acme', plan => 'pro');
my ($script) = slurp_file('docs/evaluation.md') =~ /^```sh\n(# judge\.sh .*?)^```$/ms;
ok($script, 'the page has it');
my $folder = File::Temp->newdir;
append_to_file("$folder/judge.sh", $script);

# Its exit code and what it prints, for lines of a log.
my $runs = 0;
sub judge
{
	my ($log, %env) = @_;
	my $file = "$folder/log" . ++$runs;
	append_to_file($file, $log);
	local %ENV = (%ENV, LOGSVC_URL => $t->url, LOGSVC_PAT => $org->{token}, %env);
	my $said = qx(cd $folder && sh judge.sh $file 2>&1);
	return ($? >> 8, $said);
}

my $good = "120 tests passed, 0 failed\nmigration 42 applied\nall migrations were applied\n"
	. "all tests passed\nno service crashed, no service restarted\n";
my ($code, $said) = judge($good);
is($code, 0, 'a good log') or diag $said;
like($said, qr/^passed\tmigrated\t/m, 'with its findings');
($code, $said) = judge($good . "worker 7 crashed with signal 11\n");
is($code, 1, 'one in which a service crashes') or diag $said;
like($said, qr/^failed\tclean\t.*crashed/m, 'which is said');
($code, $said) = judge('');
is($code, 2, 'a log that was lost') or diag $said;
like($said, qr/VALIDATION_ERROR/, 'with the reason');
($code, $said) = judge($good, LOGSVC_PAT => 'pat_wrong');
is($code, 2, 'a wrong token') or diag $said;

$t->stop;
done_testing;
