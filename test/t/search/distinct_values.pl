# distinct_values.pl: dc() over more values than one hash table keeps, against count(DISTINCT):
# values that are there once and several times, of one group and of many, with parallel workers,
# in temporary files, and with too little memory.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '10ms'",
	'logsvc.compactors = 0', 'logsvc.search_workers = 0', "work_mem = '64MB'");
$t->organization('acme');

# `id` is new in each event, `twice` is not; `often` has few values.
my $n = 240_000;
my $values = 'SELECT n, md5(n::text) AS id, md5((n % 110000)::text) AS twice, '
  . "'x' || n % 3001 AS often,"
  . ' n % 700 AS customer, n % 110001 AS number';
for (my $from = 0; $from < $n; $from += 20_000)
{
	$t->sql("SELECT logsvc.act_as('acme') IS NULL; "
		  . "SELECT logsvc.ingest(jsonb_agg(jsonb_build_object("
		  . "'event', 'x', 'timestamp', now() - n % 5 * interval '1 hour', 'attributes',"
		  . " to_jsonb(v)))) FROM ($values FROM generate_series($from, $from + 19999) n) v"
		  . ' GROUP BY n / 5000');
}
ok(wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }), 'events are stored');

sub search
{
	my ($q, $settings) = @_;
	my ($rows, $error) = $t->sql_error(
		"$settings; SELECT logsvc.act_as('acme') IS NULL AS nobody \\gset\n"
		  . "SELECT logsvc.search('$q', earliest => '-8h', \"limit\" => 10000) #>> '{data,rows}'");

	return $error || $rows;
}

my $plain = "($values FROM generate_series(0, $n - 1) n) v";
my $counts = 'count(DISTINCT id) AS ids, count(DISTINCT twice) AS twices, '
  . 'count(DISTINCT often) AS oftens';
my $all = $t->sql("SELECT jsonb_agg(jsonb_build_array(ids, twices, oftens, numbers)) FROM "
	  . "(SELECT $counts, count(DISTINCT number) AS numbers FROM $plain) x");
is($all, "[[$n, 110000, 3001, 110001]]", 'what there is');
my $by_customer = $t->sql(
	'SELECT jsonb_agg(jsonb_build_array(customer, ids, twices, oftens) ORDER BY customer) FROM '
	  . "(SELECT customer, $counts FROM $plain GROUP BY customer) x");
my $pairs = $t->sql('SELECT jsonb_build_array(jsonb_build_array(count(DISTINCT (customer, twice))))'
	  . " FROM $plain");
my $workers = 'SET logsvc.search_workers = 2; SET logsvc.search_workers_after = 0';
foreach my $settings ('SET logsvc.search_workers = 0', $workers,
	"SET logsvc.debug_groups = '6MB'", "SET logsvc.debug_groups = '6MB'; $workers")
{
	is(search('* | stats dc(id), dc(twice), dc(often), dc(number)', $settings), $all,
		"$settings: all");
	is(search('* | stats dc(id), dc(twice), dc(often) by customer | sort customer', $settings),
		$by_customer, "$settings: by customer");
	is(search('* | eval both = concat(customer, "/", twice) | stats dc(both)', $settings), $pairs,
		"$settings: computed values");
}

# The values of one group cannot be divided.
my $little = "SET logsvc.search_memory = '5MB'";
like(search('* | stats dc(id)', $little), qr/^LQ102\b/, 'too little memory');
is(search('* | stats dc(often)', $little), '[[3001]]', 'enough for few');
unlike($t->log_text, qr/TRAP|temporary file leak/, 'no assertion failed');
$t->stop;
done_testing();
