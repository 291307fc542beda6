# pages.pl: a later page reads as few parts and rows as the first one, also of a search whose stages
# leave out or sort rows; and pages are right while events come in, merge and expire between them.
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '200ms'", 'logsvc.compactors = 0');
my $org = $t->organization('acme');
my $other = $t->organization('other');
my $yesterday = q{date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '1 day'};

# Events n = from .. to of yesterday, as a part of their own: the newer, the larger n.
sub load
{
	my ($from, $to, $more) = @_;
	$more //= '{}';
	$t->sql(qq{SELECT logsvc.act_as('acme');
		SELECT sum((logsvc.ingest(events) ->> 'accepted')::int) FROM (
			SELECT jsonb_agg(jsonb_build_object('event', 'request ' || n, 'level', CASE n % 4 WHEN 0 THEN 'error' ELSE 'info' END,
				'timestamp', $yesterday + n * interval '1 s',
				'attributes', jsonb_build_object('n', n, 'even', n % 2,
					'mixed', CASE n % 4 WHEN 0 THEN to_jsonb(n % 7)
					WHEN 1 THEN to_jsonb('a\\"' || n % 5) WHEN 2 THEN 'null'
					ELSE to_jsonb(n % 3 = 0) END)
					|| '$more')) AS events
			FROM generate_series($from, $to) n GROUP BY n / 900) e});
	wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 })
		or die 'the events are not stored';
	return;
}

# All pages: their rows' n, the parts and rows that they read, their cursors.  `between` is called
# after each but the last.
sub pages
{
	my ($q, $limit, $between) = @_;
	my ($cursor, @pages);
	do
	{
		my $r = $t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => $q, earliest => '-2d@d',
			latest => '@d', limit => $limit, defined $cursor ? (cursor => $cursor) : () });
		is($r->{status}, 200, "$q, page " . (@pages + 1)) unless $r->{status} == 200;
		die $r->{content} if $r->{status} != 200;
		$cursor = $r->{json}{page}{nextCursor};
		my $stats = $r->{json}{meta}{stats};
		push @pages, {
			n => [ map { $_->{attributes}{n} } @{ $r->{json}{data}{rows} } ], cursor => $cursor,
			parts => $stats->{partsScanned}, rows => $stats->{rowsScanned} };
		$between->(scalar @pages) if $between && defined $cursor;
	} while (defined $cursor && @pages < 1000);
	return @pages;
}

sub all_n { return [ map { @{ $_->{n} } } @_ ]; }

sub most
{
	my ($of, @pages) = @_;
	my ($most) = sort { $b <=> $a } map { $_->{$of} } @pages;
	return $most;
}

load(1 + 5000 * $_, 5000 + 5000 * $_) foreach 0 .. 9;
is($t->sql(q{SELECT count(*) FROM logsvc_internal.part WHERE index_name = 'main'}), 10, 'ten parts, one after the other');

# ---- what a page reads ----

foreach my $case (
	[ '', 2500, sub { 1 } ],
	[ 'level=error', 700, sub { $_[0] % 4 == 0 } ],
	[ '| where even=1', 1400, sub { $_[0] % 2 == 1 } ],
	[ '| where n * 2 > 1000 | eval x = n + 1 | rename x as y', 2300, sub { $_[0] > 500 } ],
	[ '| fields n', 2500, sub { 1 } ],
	[ '| head 30000', 2500, sub { $_[0] > 20000 } ])
{
	my ($q, $limit, $is) = @$case;
	my @pages = pages($q, $limit);
	is_deeply(all_n(@pages), [ grep { $is->($_) } reverse 1 .. 50000 ], "$q: each event once, in order");
	# A page may begin in one part and end in the next.
	cmp_ok(most('parts', @pages), '<=', $pages[0]{parts} + 1, '... and a page reads as few parts as the first');
	cmp_ok(most('rows', @pages), '<=', $pages[0]{rows} + 5000, '... and as few rows') or diag(join ' ', map { $_->{rows} } @pages);
}

sub ascending
{
	my ($cursor, @pages);
	do
	{
		my $r = $t->http(GET => '/api/v1/logs', token => $org->{token}, query => { from => '-2d@d', to => '@d', order => 'asc',
			limit => 9000, defined $cursor ? (cursor => $cursor) : () })->{json};
		push @pages, map { $_->{attributes}{n} } @{ $r->{data} };
		$cursor = $r->{page}{nextCursor};
	} while (defined $cursor);
	return \@pages;
}
is_deeply(ascending(), [ 1 .. 50000 ], 'oldest first');

# ---- sort ----

# What comes before what: numbers, then texts, then what is missing, whatever the direction.
sub in_one_page { return all_n(pages($_[0], 10000)); }
foreach my $q ('| sort n', '| sort 7000 -even, n', '| sort mixed', '| sort -mixed, even', '| sort timestamp', '| sort -timestamp, n',
	'level=error | sort mixed, -n', '| sort nothing', '| eval x = n % 11 | sort -x', '| eval x = mixed | sort x, -even | rename x as z',
	'| where n % 3 = 0 | sort mixed | head 4000', '| sort mixed | fields n, level', '| eval a = n % 3, b = mixed | sort a, -b, timestamp')
{
	my @pages = pages($q, 1700);
	is_deeply(all_n(@pages), in_one_page($q), "$q: pages are what one page is");
	cmp_ok(scalar @pages, '>', 2, '... several');
	cmp_ok(most('rows', @pages), '<=', $pages[0]{rows}, '... and read no more than the first');
	cmp_ok(length($pages[0]{cursor}), '>', 132, '... from the values of the last row');
}

# ---- while events come, merge and expire ----

my $merged = 0;
# Those that come in are before the page, or after it.
foreach my $q ('even!=7', 'even!=7 | sort mixed, n', 'even!=7 | eval x = n % 5 | sort x', 'even!=7 | sort 9000 -n')
{
	my $expected = in_one_page($q);
	my $size = 2000;
	my @pages = pages($q, $size, sub {
		my ($n) = @_;
		# Sorted before all others, and newer than they are.
		load(60001, 60010, '{"mixed": -1, "n": -5, "late": 1}') if $n == 1;
		return if $n != 2 || $merged++;
		my $parts = q{SELECT count(*) FROM logsvc_internal.part WHERE index_name = 'main'};
		my $before = $t->sql($parts);
		$t->set('logsvc.compactors', 1);
		wait_until(sub { $t->sql($parts) < $before }) or die 'parts are not merged';
		$t->set('logsvc.compactors', 0);
	});
	my @n = @{ all_n(@pages) };
	# `sort` counts its rows from the first page on.
	my @known = grep { $_ > 0 } @n;
	@$expected = grep { $_ > 0 } @$expected;
	is_deeply([ @known[0 .. $size * 4 - 1] ], [ @$expected[0 .. $size * 4 - 1] ], "$q: pages neither repeat nor lose an event");
	my %seen;
	is(scalar(grep { $seen{$_}++ } @known), 0, '... nor any later');
}

# The oldest ones expire between two pages: these are not found, and nothing else changes.
my $all = all_n(pages('level=error late!=1', 5000));
my @expiring = pages('level=error late!=1', 5000, sub {
	my ($n) = @_;
	return if $n != 1;
	$t->sql("SELECT logsvc.act_as('acme'); DELETE FROM logsvc_internal.part WHERE index_name = 'main' AND max_time < $yesterday + interval '5000 s'");
});
my %left = map { $_ => 1 } split /,/, $t->sql(q{SELECT logsvc.act_as('acme');
	SELECT string_agg(attributes ->> 'n', ',') FROM logsvc.events('level=error late!=1 earliest=-2d@d latest=@d')}) =~ s/.*\n//sr;
is_deeply(all_n(@expiring), [ grep { $left{$_} } @$all ], 'pages of events that expire');

# ---- cursors that are none ----

my ($page) = pages('| sort mixed, -n', 100);
my $cursor = $page->{cursor};
sub refused
{
	my ($changed, $name, %more) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => ($more{org} // $org)->{token}, query => {
		q => $more{q} // '| sort mixed, -n', earliest => '-2d@d', latest => '@d', limit => 100, cursor => $changed });
	is("$r->{status} $r->{json}{code}", '400 INVALID_CURSOR', "refused: $name");
	return;
}
refused($cursor, 'of another query', q => '| sort mixed, n');
refused($cursor, 'of another organization', org => $other);
refused(substr($cursor, 0, -2), 'cut off');
refused($cursor . '00', 'longer');
refused('03' x 4000, 'of any length');
my $wrong = 0;
for (my $i = 0; $i < length $cursor; $i += 2)
{
	my $changed = $cursor;
	substr($changed, $i, 2) = sprintf '%02x', hex(substr $changed, $i, 2) ^ 1 << $i / 2 % 8;
	my $r = $t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => '| sort mixed, -n', earliest => '-2d@d',
		latest => '@d', limit => 100, cursor => $changed });
	$wrong++ if $r->{status} != 400 || $r->{json}{code} ne 'INVALID_CURSOR';
}
is($wrong, 0, 'refused: with any byte changed');

# Values that are too long for a cursor: its pages count rows.
load(70001, 70020, '{"mixed": "' . ('x' x 3000) . '"}');
my @long = pages('n>70000 | sort -mixed', 7);
is_deeply(all_n(@long), [ reverse 70001 .. 70020 ], 'pages after long values');
cmp_ok(length($long[0]{cursor}), '<', 200, '... without these in the cursor');

$t->stop;
done_testing;
