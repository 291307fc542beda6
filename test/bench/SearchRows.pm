# SearchRows: the searches of search.pl, each with what plain PostgreSQL does instead.
#
# search_rows gives a list of rows, each a hash:
#	name      as docs/benchmarks.md has it
#	q         the query; %s is the request id of an event in the middle of the range
#	route     instead of q: what GET answers
#	limit     rows of a page, 1,000 without it
#	width     microseconds before the end of the range, without it all of it
#	page      the page that is measured; those before it are only walked through
#	plain     a sub that gets the condition on the time and returns the statement of the baseline
#	rows      a sub that makes texts of the answer's rows, to be compared with those of that
#	          statement; without it only the times are
#	grows     true: measured at each size too
package SearchRows;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(search_rows mixed_searches);

my $day = 86400e6;

# Values of a table, numbers as PostgreSQL prints them.
sub values_of
{
	my ($data) = @_;
	return map {
		join '|', map { my $v = $_ // ''; $v =~ s/^(-?\d+)\.0+$/$1/; $v } @$_
	} @{ $data->{rows} };
}
sub counts_of { my ($data) = @_; return map { $_->[-2] } @{ $data->{rows} }; }
sub ids_of { my ($data) = @_; return map { $_->{attributes}{request_id} } @{ $data->{rows} }; }

sub iso { return "to_char($_[0] AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.$_[1]\"Z\"')"; }
sub bucket { return iso("date_bin('$_[0]', ts, '2000-01-01')", 'MS'); }

# `where`: a condition of all statements of the baseline.  `errors`: how many events of level error
# there are, and `events` of any, which say how long a page may be.
sub search_rows
{
	my ($where, $events, $errors) = @_;
	my $select = sub {
		my ($what, $condition, $rest) = @_;
		return sub { "SELECT $what FROM plain WHERE $where AND $_[0]"
			. ($condition ? " AND $condition" : '') . ($rest ? " $rest" : '') };
	};
	my $count = sub { $select->('count(*)', @_) };
	my $id = "attributes->>'request_id'";
	my $newest = 'ORDER BY ts DESC LIMIT 1000';
	my $page_all = $events >= 151_000 ? 1000 : int($events / 151) || 1;
	my $page_errors = $errors >= 100_000 ? 1000 : int($errors / 100) || 1;
	my @rows = (
		# The rows that one engine over columns is to make fast.
		[ 'p50, p95 of len(event)' => '* | stats p50(len(event)), p95(len(event))', \&values_of, $select->(
			'percentile_cont(0.5) WITHIN GROUP (ORDER BY length(event)), '
			. 'round(percentile_cont(0.95) WITHIN GROUP (ORDER BY length(event))::numeric, 6)::float8') ],
		[ 'where len(event) > 1000, count' => '* | where len(event) > 1000 | stats count', \&values_of,
			$count->('length(event) > 1000') ],
		[ 'eval + where, count' => '* | eval n = len(event) * 2 | where n > 400 | stats count', \&values_of,
			$count->('length(event) * 2 > 400') ],
		[ 'top 10 event, a day' => '* | top 10 event', \&counts_of,
			$select->('count(*)', '', 'GROUP BY event ORDER BY 1 DESC LIMIT 10'), width => $day ],
		[ 'stats count by event, head 10' => '* | stats count by event | head 10', undef,
			$select->('event, count(*)', '', 'GROUP BY 1 LIMIT 10') ],
		[ 'stats count by request_id, head 10' => '* | stats count by request_id | head 10', undef,
			$select->("$id, count(*)", '', 'GROUP BY 1 LIMIT 10') ],
		[ 'values of request_id (sidebar)' => undef, undef, $select->("$id, count(*)", '',
			'GROUP BY 1 ORDER BY 2 DESC LIMIT 50'), route => '/api/v1/search/fields/request_id/values' ],
		[ 'patterns of all days' => '* | patterns max=50' ],
		[ '/templates of all days' => undef, undef, undef, route => '/api/v1/templates' ],
		[ 'regex port [0-9]+ ssh2, count' => 'event MATCHES "port [0-9]+ ssh2" | stats count', \&values_of,
			$count->("event ~ 'port [0-9]+ ssh2'") ],
		[ 'regex without a literal, count' => 'event MATCHES "[0-9]+ [a-z]+ [a-z]+ing" | stats count',
			\&values_of, $count->("event ~ '[0-9]+ [a-z]+ [a-z]+ing'") ],
		[ 'conn*, count' => 'conn* | stats count', \&values_of,
			$count->("event ILIKE '%conn%' AND event ~* '\\mconn'") ],
		[ 'rare phrase, count' => '"connection refused" | stats count', \&values_of,
			$count->("event ILIKE '%connection refused%'"), grows => 1 ],
		[ 'rare phrase, newest 1,000' => '"connection refused"', \&ids_of,
			$select->("$id", "event ILIKE '%connection refused%'", $newest) ],
		# Each of the two words is in many events.
		[ 'phrase of common words that nothing holds' => '"request from" | stats count', \&values_of,
			$count->("event ILIKE '%request from%' AND event ~* '\\mrequest from\\M'") ],
		[ 'word "failed" by source, any case' => 'failed | stats count by source', \&values_of,
			$select->('source, count(*)', "event ILIKE '%failed%' AND event ~* '\\mfailed\\M'", 'GROUP BY 1') ],
		[ 'count by host' => '* | stats count by host', \&values_of,
			$select->("attributes->>'host', count(*)", '', 'GROUP BY 1') ],
		[ 'top service' => '* | top 1 attributes.service', \&counts_of,
			$select->('count(*)', '', "GROUP BY attributes->>'service' ORDER BY 1 DESC LIMIT 1") ],
		[ 'min and max of timestamp' => '* | stats min(timestamp), max(timestamp)', \&values_of,
			$select->(iso('min(ts)', 'MS') . ', ' . iso('max(ts)', 'MS')) ],
		[ 'request_id' => 'request_id=%s', \&ids_of,
			$select->($id, "attributes @> '{\"request_id\": \"%s\"}'"), grows => 1 ],
		[ 'word that nothing holds' => 'qzwxvykk | stats count', \&values_of, $count->("event ILIKE '%qzwxvykk%'"),
			grows => 1 ],
		[ 'page 1 of *' => '*', undef, undef, limit => $page_all ],
		[ 'page 150 of *' => '*', undef, $select->('*', '', 'ORDER BY ts DESC LIMIT ' . $page_all . ' OFFSET '
			. 149 * $page_all), limit => $page_all, page => 150 ],
		[ 'page 1 of level=error' => 'level=error', undef, undef, limit => $page_errors ],
		[ 'page 99 of level=error' => 'level=error', undef, $select->('*', "level = 'error'",
			"ORDER BY ts DESC LIMIT $page_errors OFFSET " . 98 * $page_errors), limit => $page_errors, page => 99 ],
		# Those that are fast already.
		[ 'newest 1,000 errors of an hour' => 'level=error', \&ids_of,
			$select->($id, "level = 'error'", $newest), width => 3600e6, grows => 1 ],
		[ 'substring of two words, count' => 'event CONTAINS "nnection refu" | stats count', \&values_of,
			$count->("event ILIKE '%nnection refu%'") ],
		[ 'frequent substring, count' => 'event CONTAINS "uthenticat" | stats count', \&values_of,
			$count->("event ILIKE '%uthenticat%'") ],
		[ 'request_id that no event has' => 'request_id=00000000000000000000000000000000', \&ids_of,
			$select->($id, "attributes @> '{\"request_id\": \"00000000000000000000000000000000\"}'") ],
		[ 'request_id that no event has, explained' => 'request_id=misspelt', \&ids_of,
			$select->($id, "attributes @> '{\"request_id\": \"misspelt\"}'") ],
		[ 'count by level' => '* | stats count by level', \&values_of,
			$select->('level, count(*)', '', 'GROUP BY 1'), grows => 1 ],
		[ 'hourly histogram' => '* | timechart span=1h count', \&values_of,
			$select->(bucket('1 hour') . ', count(*)', '', 'GROUP BY 1') ],
		[ 'histogram of a day by 5 minutes' => '* | timechart span=5m count', \&values_of,
			$select->(bucket('5 minutes') . ', count(*)', '', 'GROUP BY 1'), width => $day ],
		[ 'hourly histogram of errors' => 'level=error | timechart span=1h count', \&values_of,
			$select->(bucket('1 hour') . ', count(*)', "level = 'error'", 'GROUP BY 1') ],
		[ 'distinct request ids' => '* | stats dc(request_id)', \&values_of, $select->("count(DISTINCT $id)") ]);
	return map { my ($name, $q, $rows, $plain, %more) = @$_;
		{ name => $name, q => $q, rows => $rows, plain => $plain, limit => 1000, %more } } @rows;
}

# What clients ask at the same time: q and the width of its range.
sub mixed_searches
{
	return ([ '* | stats count by level', 0 ], [ 'level=error', 3600e6 ], [ '"connection refused" | stats count', 0 ],
		[ 'request_id=%s', 0 ], [ 'failed | stats count by source', $day ], [ '* | timechart span=1h count', 0 ],
		[ 'qzwxvykk', 0 ], [ '* | top 10 source', $day ]);
}

1;
