# executor_memory.pl: an executor keeps memory of a search for the next one, within a limit.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '200ms'", 'logsvc.executors = 1',
	"logsvc.limits = 'generous'");
my $org = $t->organization('acme');

# Some MB of events, of which each page shows some of all blocks.
$t->sql(q{SELECT logsvc.act_as('acme');
	SELECT sum((logsvc.ingest(events) ->> 'accepted')::int) FROM (
		SELECT jsonb_agg(jsonb_build_object('event', 'request ' || n || ' of ' || md5(n::text) || repeat(' and more', n % 20),
			'source', 's' || n % 7, 'level', (ARRAY['info', 'warn', 'error'])[n % 3 + 1],
			'attributes', jsonb_build_object('id', md5('a' || n), 'n', n))) AS events
		FROM generate_series(1, 24000) n GROUP BY n / 900) e});
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 20), 'events are stored');

my ($pid) = $t->workers('^logsvc executor');

# Pages that the process got from the system, and KB that it has of its own.
sub faults
{
	open my $in, '<', "/proc/$pid/stat" or die "$pid: $!";
	return (split ' ', <$in> =~ s/.*\)//sr)[7];
}

sub own
{
	open my $in, '<', "/proc/$pid/status" or die "$pid: $!";
	local $/;
	return <$in> =~ /^RssAnon:\s+(\d+)/m ? $1 : die;
}

sub search
{
	my ($query) = @_;
	return $t->http(GET => "/api/v1/search?limit=1000&q=$query", token => $org->{read_key})->{status};
}

is(search('*'), 200, 'a page of events') for 1 .. 5;
my $before = faults();
is(search('*'), 200, 'the same page') for 1 .. 5;
cmp_ok((faults() - $before) / 5, '<', 300, 'takes hardly any new pages');
is(search('*+%7C+stats+dc(id),+dc(n)+by+event+%7C+stats+count'), 200, 'a search that takes more');
cmp_ok(own(), '<', 100 * 1024, 'leaves less than 100 MB');
done_testing();
