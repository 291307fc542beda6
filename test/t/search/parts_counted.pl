# parts_counted.pl: partsPruned says how many parts of the organization a search did not open.
# How many there are is counted once in ten seconds, for each caller by itself.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

# One executor: what it has counted answers all requests.
my $t = LogsvcTest->new(conf => "logsvc.executors = 1\nlogsvc.compactors = 0\nlogsvc.flush_interval = '50ms'\nlogsvc.limits = 'generous'");
my %org = map { $_ => $t->organization($_) } 'acme', 'globex';

sub add_part
{
	my ($name) = @_;
	my $parts = parts($name);
	$t->http(POST => '/api/v1/logs', token => $org{$name}{ingest_key}, json => { event => 'one' });
	ok(wait_until(sub { parts($name) > $parts && $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }), "$name has a part more");
	return;
}
sub parts
{
	my ($name) = @_;
	return $t->sql(qq{SELECT count(*) FROM logsvc_internal.part p JOIN logsvc_internal.organization o
		ON o.id = p.organization_id WHERE o.slug = '$name' AND p.index_name = 'main'});
}

# All parts, opened or not.
sub told
{
	my ($name) = @_;
	my $stats = $t->http(GET => '/api/v1/search', token => $org{$name}{token},
		query => { q => '| where event="nothing"', earliest => '2020-01-01', latest => '2020-01-02' })->{json}{meta}{stats};
	is($stats->{partsScanned}, 0, "$name: no part is in the range");
	return $stats->{partsPruned};
}

add_part('acme') foreach 1 .. 3;
my $before = told('acme');
cmp_ok($before, '>=', 3, 'those that were not opened');
add_part('globex');
is(told('globex'), $t->sql(q{SELECT count(*) FROM logsvc_internal.part p JOIN logsvc_internal.organization o
	ON o.id = p.organization_id WHERE o.slug = 'globex'}), 'another organization is told of its own');
add_part('acme');
ok(wait_until(sub { told('acme') == $before + 1 }), 'a new one is counted soon');

$t->stop;
done_testing;
