# LogsvcDifferential: random queries over random events, on a server and by
# LogsvcReference.
#
#	my $d = LogsvcDifferential->new(seed => 1, events => 2000);
#	$d->run(500) or die;
#	$d->give_rows;    # from now on the events are rows of logsvc.search_rows
#	$d->run(500) or die;
#	$d->stop;
#
# Each query has a seed of its own, so it can be made again without those before
# it.  On a difference the query is made smaller for as long as the answers still
# differ.
package LogsvcDifferential;

use strict;
use warnings;
use utf8;

use JSON::PP ();
use LogsvcGenerator;
use LogsvcReference;
use LogsvcStageGenerator;
use LogsvcStages;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(time sleep);

my @zones = ('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe',
	'America/St_Johns');

# Answers as lines, so that rows keep their spelling: E an error, M what is not
# rows, R a row; H a histogram, F fields; T the time range by PostgreSQL's own arithmetic.
my $functions = q{
CREATE FUNCTION differential_time(at timestamptz, amount int, unit text, snap text, zone text) RETURNS timestamptz
LANGUAGE plpgsql AS $$
DECLARE
	shift interval := make_interval(secs => 0) + (amount || ' ' || unit)::interval;
	moved timestamptz;
BEGIN
	moved := CASE WHEN unit IN ('second', 'minute', 'hour') THEN at + shift
		ELSE (at AT TIME ZONE zone + shift) AT TIME ZONE zone END;
	RETURN CASE WHEN snap IS NULL THEN moved ELSE date_trunc(snap, moved, zone) END;
END $$;
CREATE FUNCTION differential_bound(bound jsonb, at timestamptz, zone text) RETURNS text
LANGUAGE sql AS $$
	SELECT trunc(extract(epoch FROM CASE
		WHEN bound ? 'at' THEN timestamptz '1970-01-01 00:00:00+00' + (bound ->> 'at')::bigint * interval '1 us'
		WHEN bound ? 'local' THEN (bound ->> 'local')::timestamp AT TIME ZONE zone
		ELSE differential_time(at, (bound ->> 'amount')::int, bound ->> 'unit', bound ->> 'snap', zone) END) * 1000000)::bigint::text
$$;
-- The points of a timechart over [a, b): days and above by the calendar, below
-- from midnight on.
CREATE FUNCTION differential_points(a timestamptz, b timestamptz, span text, zone text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	amount int := substring(span FROM '^[0-9]+')::int;
	unit text := CASE substring(span FROM '[a-z]+$') WHEN 's' THEN 'second' WHEN 'm' THEN 'minute' WHEN 'h' THEN 'hour'
		WHEN 'd' THEN 'day' WHEN 'w' THEN 'week' WHEN 'mon' THEN 'month' ELSE 'year' END;
	step interval := (amount || ' ' || unit)::interval;
	first timestamptz;
	points timestamptz[];
BEGIN
	IF unit IN ('second', 'minute', 'hour') THEN
		first := date_trunc('day', a, zone);
		first := first + floor(extract(epoch FROM a - first) / extract(epoch FROM step)) * step;
		SELECT array_agg(p ORDER BY p) INTO points FROM generate_series(first, greatest(b, first + interval '1 us') - interval '1 us', step) p;
	ELSE
		SELECT array_agg(l AT TIME ZONE zone ORDER BY l) INTO points
		FROM generate_series(date_trunc(unit, a AT TIME ZONE zone), greatest(b AT TIME ZONE zone, a AT TIME ZONE zone + interval '1 us') + interval '1 day', step) l
		WHERE l AT TIME ZONE zone < b OR l = date_trunc(unit, a AT TIME ZONE zone);
	END IF;
	RETURN (SELECT string_agg(trunc(extract(epoch FROM p) * 1000000)::bigint::text, ' ' ORDER BY p) FROM unnest(points) p);
END $$;
CREATE FUNCTION differential(q text, earliest text, latest text, lim int, pages boolean, bounds jsonb, zone text, span text, beside boolean)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	before timestamptz := clock_timestamp();
	answer json;
	cursor text;
	page int := 0;
BEGIN
	LOOP
		answer := logsvc_internal.search_json(q, earliest, latest, lim, cursor,
			include => CASE WHEN beside THEN '{histogram,fields}'::text[] END);
		RETURN QUERY SELECT 'R ' || r::text FROM json_array_elements(answer #> '{data,rows}') r;
		cursor := answer #>> '{page,nextCursor}';
		page := page + 1;
		EXIT WHEN NOT pages OR cursor IS NULL OR page > 20000;
	END LOOP;
	RETURN NEXT 'M ' || json_build_object('meta', (answer -> 'meta')::jsonb - 'fields' - 'histogram', 'page', answer -> 'page', 'kind', answer #> '{data,kind}',
		'columns', answer #> '{data,columns}', 'pages', page)::text;
	RETURN NEXT 'T ' || array_to_string(ARRAY[
		differential_bound(bounds -> 0, before, zone), differential_bound(bounds -> 0,
			clock_timestamp(), zone),
		differential_bound(bounds -> 1, before, zone), differential_bound(bounds -> 1,
			clock_timestamp(), zone)], ' ');
	IF beside THEN
		span := answer #>> '{meta,histogram,span}';
		RETURN NEXT 'H ' || (answer #>> '{meta,histogram,buckets}');
		RETURN NEXT 'F ' || (answer #>> '{meta,fields}');
	END IF;
	IF span IS NOT NULL THEN
		RETURN NEXT 'P ' || differential_points((answer #>> '{meta,range,earliest}')::timestamptz, (answer #>> '{meta,range,latest}')::timestamptz, span, zone);
	END IF;
EXCEPTION WHEN OTHERS THEN
	RETURN NEXT 'E ' || SQLSTATE || ' ' || replace(SQLERRM, E'\n', ' ');
END $$;
-- The same over rows that come with the search.
CREATE TABLE differential_rows (rows jsonb, now timestamptz);
CREATE FUNCTION differential_given(q text, earliest text, latest text, lim int, bounds jsonb,
	zone text, span text, beside boolean) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	given differential_rows;
	answer json;
BEGIN
	SELECT * INTO STRICT given FROM differential_rows;
	answer := logsvc_internal.search_rows_json(given.rows, q, earliest, latest, lim,
		now => given.now, include => CASE WHEN beside THEN '{histogram,fields}'::text[] END);
	RETURN QUERY SELECT 'R ' || r::text FROM json_array_elements(answer #> '{data,rows}') r;
	RETURN NEXT 'M ' || json_build_object('meta', (answer -> 'meta')::jsonb - 'fields' - 'histogram',
		'page', answer -> 'page', 'kind', answer #> '{data,kind}',
		'columns', answer #> '{data,columns}')::text;
	RETURN NEXT 'T ' || (SELECT string_agg(concat(bound, ' ', bound), ' ' ORDER BY n)
		FROM (SELECT n, differential_bound(b, given.now, zone) AS bound
			FROM jsonb_array_elements(bounds) WITH ORDINALITY AS e (b, n)) AS x);
	IF beside THEN
		span := answer #>> '{meta,histogram,span}';
		RETURN NEXT 'H ' || (answer #>> '{meta,histogram,buckets}');
		RETURN NEXT 'F ' || (answer #>> '{meta,fields}');
	END IF;
	IF span IS NOT NULL THEN
		RETURN NEXT 'P ' || differential_points((answer #>> '{meta,range,earliest}')::timestamptz,
			(answer #>> '{meta,range,latest}')::timestamptz, span, zone);
	END IF;
EXCEPTION WHEN OTHERS THEN
	RETURN NEXT 'E ' || SQLSTATE || ' ' || replace(SQLERRM, E'\n', ' ');
END $$;
-- The same for the list of events by simple conditions.
CREATE FUNCTION differential_logs(a jsonb, lim int, pages boolean) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	answer json;
	cursor text;
	page int := 0;
BEGIN
	LOOP
		answer := logsvc_internal.query_logs_json(a ->> 'from', a ->> 'to', a ->> 'index', a ->> 'level', a ->> 'source', a ->> 'service',
			a ->> 'q', a ->> 'order', lim, cursor, a -> 'attributes');
		RETURN QUERY SELECT 'R ' || r::text FROM json_array_elements(answer -> 'data') r;
		cursor := answer #>> '{page,nextCursor}';
		page := page + 1;
		EXIT WHEN NOT pages OR cursor IS NULL OR page > 20000;
	END LOOP;
	RETURN NEXT 'M ' || json_build_object('page', answer -> 'page')::text;
EXCEPTION WHEN OTHERS THEN
	RETURN NEXT 'E ' || SQLSTATE || ' ' || replace(SQLERRM, E'\n', ' ');
END $$;
};

sub new
{
	my ($class, %opt) = @_;
	my $self = bless { seed => $opt{seed}, n_events => $opt{events}, asked => 0, rows => 0 },
		$class;

	srand $self->{seed};
	$self->{zone} = $zones[ $self->{seed} % @zones ];
	$self->{t} = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '5s'",
		"logsvc.store_timeout = '1d'",
		'logsvc.executors = 1', 'logsvc.evaluators = 1', 'fsync = off',
			'log_min_messages = warning');
	$self->{t}->sql($functions);
	$self->{org} = $self->{t}->organization('acme');
	$self->{t}->sql("UPDATE logsvc_internal.organization SET timezone = '$self->{zone}';"
		  . join ';', "SELECT logsvc.act_as('acme')", map { "SELECT logsvc.create_index('$_')" }
		  grep { $_ ne 'main' } LogsvcGenerator::unique_indexes());
	$self->load;
	return $self;
}

sub t { return $_[0]{t}; }

# From now on whatever is grouped has so many parallel workers, however little it is.
sub with_workers
{
	my ($self, $n) = @_;
	$self->{t}->set('logsvc.search_workers_after', 0);
	$self->{t}->set('logsvc.search_workers', $n);
	return;
}

# From now on groups beyond so many kB go to temporary files (debug builds).
sub with_spilling
{
	my ($self, $kb) = @_;
	$self->{t}->set('logsvc.debug_groups', $kb);
	return;
}

# What is printed are bytes.
sub note_bytes
{
	my @lines = @_;
	utf8::encode($_) foreach @lines;
	diag(@lines);
	return;
}

# ---- events ----

sub send_events
{
	my ($self, @events) = @_;
	while (my @batch = splice @events, 0, 900)
	{
		my $body = '{"events":[' . join(',', map { $_->{json} } @batch) . ']}';
		utf8::encode($body);
		my $r = $self->{t}->http(POST => '/api/v1/logs/batch', token => $self->{org}{full_key},
			body => $body);
		die "not accepted: $r->{status} " . substr $r->{content}, 0, 500
		  if $r->{status} != 202 || $r->{json}{data}{rejected};
		my $ids = $r->{json}{data}{ids};
		foreach my $i (0 .. $#batch)
		{
			$batch[$i]{fields}{id} = LogsvcReference::value(qq("$ids->[$i]"));
		}
		push @{ $self->{events} }, @batch;
	}
	return;
}

sub flush
{
	my $self = shift;
	$self->{t}->set('logsvc.flush_interval', '10ms');
	wait_until(sub { $self->{t}->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 60)
		or die 'the queue is not written';
	return;
}

# Parts of several sizes, and some events that wait.
sub load
{
	my $self = shift;
	my $times = LogsvcGenerator::make_times(time);
	my $n = $self->{n_events};
	my @events = map { LogsvcGenerator::make_event($_, $times) } 1 .. $n;
	my @share = (0.6, 0.1, 0.1, (0.01) x 10);

	foreach my $share (@share)
	{
		$self->{t}->set('logsvc.flush_interval', '5s');
		$self->send_events(splice @events, 0, int($n * $share) + 1);
		$self->flush;
	}
	# The writer of that organization is held with the first entries, so that those after them wait
	# unlocked.
	$self->{t}->stop_at('write_after_delete');
	$self->send_events(splice @events, 0, @events / 2);
	$self->{t}->wait_held('write_after_delete');
	$self->send_events(@events);
	$self->read_back;
	return;
}

# Everything that was sent, as it was sent; here the time of ingestion is learned.
sub read_back
{
	my $self = shift;
	my ($answer) = $self->ask({ text => 'earliest=-100d latest=+1d', limit => 10000, pages => 1 });
	my %by_id = map { $_->{fields}{id}[1] => $_ } @{ $self->{events} };
	my $bad = 0;

	die "error: $answer->{error}\n" if defined $answer->{error};
	foreach my $row (@{ $answer->{rows} })
	{
		my ($id, $ingested) = $row =~ /\A\{"id":"(\w+)","timestamp":"[^"]*","ingestedAt":"([^"]*)"/;
		my $event = $by_id{$id};
		next unless $event;
		$event->{fields}{ingested_at} = [ 's', $ingested, qq("$ingested"),
			LogsvcReference::parse_time($ingested) ];
		next if LogsvcReference::event_json($event) eq $row;
		note_bytes "sent $event->{json}", "\nexpected " . LogsvcReference::event_json($event),
			"\ngot      $row" if !$bad++;
	}
	$bad ||= grep { !$_->{fields}{ingested_at} } @{ $self->{events} };
	ok(!$bad, scalar(@{ $self->{events} }) . ' events are found as they were sent')
		or die "cannot go on\n";
	$self->{events} = [ sort { $b->{time} <=> $a->{time}
		|| $b->{fields}{id}[1] cmp $a->{fields}{id}[1] } @{ $self->{events} } ];
	return;
}

# ---- the same events as rows of a search ----

# JSON with the members of objects sorted and without spaces.
my $canonical = JSON::PP->new->canonical->allow_nonref->allow_bignum;

# From now on they are rows.  jsonb sorts members and writes numbers in its own way, so what the
# events are is read back, after it was found to be what was given.
sub give_rows
{
	my $self = shift;
	# They are one part, which has at most 16 blocks.
	my $most = 16 * ($ENV{BLOCK_ROWS} || 4096);
	splice @{ $self->{events} }, $most if @{ $self->{events} } > $most;
	my $rows = '[' . join(',', map { $_->{json} } @{ $self->{events} }) . ']';
	my %by_n = map { $_->{n} => $_ } @{ $self->{events} };
	my $bad = 0;
	my $found = 0;

	# jsonb writes out the number that is kept as a text.
	my $wide = '"1' . '0' x 400 . '"';
	utf8::encode($rows);
	$self->{t}->sql("INSERT INTO differential_rows VALUES (\$rows\$$rows\$rows\$, "
		. 'clock_timestamp())');
	$self->{given} = 1;
	my ($answer) = $self->ask({ text => 'earliest=-100d latest=+1d', limit => 10000 });
	die "error: $answer->{error}\n" if defined $answer->{error};
	foreach my $row (@{ $answer->{rows} })
	{
		my %member = map { $_->[0] => $_->[1] } LogsvcReference::members($row);
		my @attributes = LogsvcReference::members($member{attributes});
		my ($n) = map { $_->[1] } grep { $_->[0] eq 'n' } @attributes;
		my $event = $by_n{$n};
		my ($sent, $is) = map { my $json = '{' . join(',', map { LogsvcReference::quote($_->[0])
			. ":$_->[1]" } @$_) . '}'; utf8::encode($json);
			$canonical->encode($canonical->decode($json)) }
			[ map { [ $_->[0], LogsvcGenerator::keep_wide($_->[1], $wide) ] }
				@{ $event->{sent_attributes} } ], \@attributes;
		$event->{fields}{id} = LogsvcReference::value($member{id});
		$event->{fields}{ingested_at} = [ 's', LogsvcReference::unquote($member{ingestedAt}),
			$member{ingestedAt},
			LogsvcReference::parse_time(LogsvcReference::unquote($member{ingestedAt})) ];
		$event->{attributes} = \@attributes;
		$event->{by_key} = { map { $_->[0] => LogsvcReference::value($_->[1]) } @attributes };
		$found++;
		next if $sent eq $is && LogsvcReference::event_json($event) eq $row;
		note_bytes "sent $event->{json}", "\ngot $row" if !$bad++;
	}
	$bad ||= $found != @{ $self->{events} };
	ok(!$bad, "$found rows are found as they were given") or die "cannot go on\n";
	$self->{events} = [ sort { $b->{time} <=> $a->{time}
		|| $b->{fields}{id}[1] cmp $a->{fields}{id}[1] } @{ $self->{events} } ];
	return;
}

# ---- asking ----

sub literal
{
	my ($text) = @_;
	return 'NULL' unless defined $text;
	$text =~ s/'/''/g;
	return "'$text'";
}

# Answers to requests {text, earliest, latest, limit, pages, bounds}.
sub ask
{
	my ($self, @requests) = @_;
	my $script = "\\set QUIET on\nSELECT logsvc.act_as('acme') IS NULL AS ok \\gset\n";
	my ($out, $err) = ('', '');
	my @answers;

	foreach my $request (@requests)
	{
		my ($earliest, $latest) = @{ $request->{bounds} // [ { amount => 0, unit => 'second' },
			{ amount => 0, unit => 'second' } ] };
		my $pages = $request->{pages} ? 'true' : 'false';
		my $given = $self->{given} && !$request->{logs};
		my $call = $request->{logs}
		  ? 'differential_logs(' . join(', ', literal($request->{text}), $request->{limit}, $pages)
		  : ($given ? 'differential_given(' : 'differential(') . join(', ', literal($request->{text}),
			literal($request->{earliest}), literal($request->{latest}), $request->{limit},
				$given ? () : $pages, literal(json_encode([ $earliest, $latest ])),
			literal($self->{zone}), literal($request->{span}), $request->{include}
				? 'true' : 'false');
		$script .= "\\echo Q\nSELECT $call);\n";
	}
	utf8::encode($script);
	my $status = $self->{t}->node->psql('postgres', $script, stdout => \$out, stderr => \$err);
	utf8::decode($out);
	foreach my $line (split /\n/, $out)
	{
		my ($tag, $rest) = $line =~ /\A(\w) ?(.*)\z/s or die "not understood: $line";
		if ($tag eq 'Q') { push @answers, { rows => [] }; next; }
		my $answer = $answers[-1];
		if ($tag eq 'R') { push @{ $answer->{rows} }, $rest; }
		elsif ($tag eq 'E') { $answer->{error} = $rest; }
		elsif ($tag eq 'H') { $answer->{histogram} = $rest; }
		elsif ($tag eq 'F') { $answer->{fields} = $rest; }
		elsif ($tag eq 'P') { $answer->{points} = [ split / /, $rest ]; }
		elsif ($tag eq 'T') { $answer->{times} = [ split / /, $rest ]; }
		else { $answer->{meta} = eval { LogsvcTest::json_decode(do { my $b = $rest;
			utf8::encode($b); $b }) } // die "not JSON: $rest"; }
	}
	if ($status != 0 || @answers != @requests)
	{
		my $last = $requests[$#answers]{text};
		die "the server failed at: $last\n$err\n";
	}
	return @answers;
}

sub request_of
{
	my ($self, $query) = @_;
	my ($earliest, $latest) = LogsvcGenerator::range($query);
	my $text = LogsvcGenerator::query_text($query) // return undef;
	my %request = (text => $text, limit => $query->{limit}, pages => $query->{pages},
		include => $query->{include}, bounds => [ $earliest, $latest ]);

	foreach my $stage (@{ $query->{stages} })
	{
		$request{span} = $stage->{span} if $stage->{stage} eq 'timechart';
	}
	unless ($query->{in_text})
	{
		$request{earliest} = $query->{earliest}{text} if $query->{earliest};
		$request{latest} = $query->{latest}{text} if $query->{latest};
	}
	# Without a range, all rows would be searched.
	$request{earliest} //= '-24h' if $self->{given};
	$request{latest} //= 'now' if $self->{given};
	return \%request;
}

# ---- comparing ----

# The range of an answer in microseconds, or a text that says what is wrong.
sub range_of
{
	my ($answer) = @_;
	my @times = @{ $answer->{times} };
	my @range;

	foreach my $i (0, 1)
	{
		my ($low, $high) = @times[ 2 * $i, 2 * $i + 1 ];
		my $said = LogsvcReference::parse_time($answer->{meta}{meta}{range}{ $i ? 'latest'
			: 'earliest' });
		# A local time that a change of the clock made twice: either is right.
		if (($said < $low - 999 || $said > $high) && grep { my $off = $_ * 1_000_000;
			$said >= $low + $off - 999 && $said <= $high + $off } -3600, -1800, 1800, 3600)
		{
			push @range, $said;
			next;
		}
		return (undef, "the range says $said us, it should be from $low to $high")
			if $said < $low - 999 || $said > $high;
		push @range, $low == $high ? $low : $said;
	}
	return @range;
}

# Members of events that stages changed have no order; numbers that were computed
# are equal up to the last digit.
sub same_row
{
	my ($expected, $is, $want) = @_;
	if ($expected->{columns})
	{
		my ($x, $y) = map { elements($_) } $is, $want;
		return 0 if @$x != @$y;
		foreach my $i (0 .. $#$x)
		{
			return 0 unless same_number($x->[$i], $y->[$i]);
		}
		return 1;
	}
	return $expected->{changed} && flat($is) eq flat($want);
}

sub same_number
{
	my ($x, $y) = @_;
	return 1 if $x eq $y;
	return 0 unless $x =~ /\A-?\d/ && $y =~ /\A-?\d/;
	($x, $y) = map { Math::BigFloat->new($_) } $x, $y;
	return $x == $y || abs($x - $y) <= abs($y) * 1e-14;
}

# Elements of a JSON array.
sub elements
{
	my ($raw) = @_;
	my @elements;
	pos($raw) = 1;
	while ($raw =~
		/\G,?((?:"(?:[^"\\]|\\.)*"|(\{(?:"(?:[^"\\]|\\.)*"|[^{}"]|(?2))*\})|(\[(?:"(?:[^"\\]|\\.)*"|[^\[\]"]|(?3))*\])|[^,\[\]{}"]+))/gcs)
	{
		push @elements, $1;
	}
	return \@elements;
}

# An event with its members and attributes sorted.
sub flat
{
	my ($row) = @_;
	my @members = map {
		my ($key, $value) = @$_;
		$value = '{' . join(',', map { LogsvcReference::quote($_->[0]) . ":$_->[1]" } sort
			{ $a->[0] cmp $b->[0] } LogsvcReference::members($value)) . '}' if $key eq 'attributes';
		"$key:$value"
	} sort { $a->[0] cmp $b->[0] } LogsvcReference::members($row);
	return join ',', @members;
}

# What is wrong with an answer; undef: nothing.
sub difference
{
	my ($self, $query, $answer) = @_;

	if (defined $answer->{error})
	{
		return "error: $answer->{error}";
	}
	# Points of a timechart are counted from a range that only the server knows.
	return undef if grep { $_->{code} eq 'SPAN_TOO_SHORT' } @{ $answer->{meta}{warnings} // [] };
	my ($from, $to) = range_of($answer);
	return $to unless defined $from;
	my @names = $query->{indexes} ? @{ $query->{indexes} } : ('*');
	my @patterns = map { LogsvcReference::wildcard(LogsvcReference::fold($_)) } @names;
	my %index = map { my $name = $_; $name => scalar grep { $name =~ $_ } @patterns }
		LogsvcGenerator::unique_indexes();
	my $filter = LogsvcReference::filter($query->{filter});
	my @found = grep { $_->{time} >= $from && $_->{time} < $to && $index{ $_->{fields}{index}[1] }
		&& $filter->($_) } @{ $self->{events} };
	my $expected = LogsvcStages::answer(\@found, $query->{stages}, $answer->{points});
	my @expected = @{ $expected->{rows} };
	my $all = @expected;
	my $rows = $answer->{rows};

	splice @expected, $query->{limit} if @expected > $query->{limit}
		&& (!$query->{pages} || $expected->{columns} || $self->{given});
	$self->{rows} += @$rows;
	return "kind is $answer->{meta}{kind}, not $expected->{kind}"
		if $answer->{meta}{kind} ne $expected->{kind};
	if ($expected->{columns})
	{
		my $is = join ', ', map { $_->{name} } @{ $answer->{meta}{columns} };
		my $want = join ', ', @{ $expected->{columns} };
		return "the columns are $is, not $want" if $is ne $want;
	}
	foreach my $i (0 .. ($#$rows > $#expected ? $#$rows : $#expected))
	{
		my $is = $rows->[$i];
		my $want = $expected[$i];
		next if defined $is && defined $want && ($is eq $want || same_row($expected, $is, $want));
		return "row $i of " . @$rows . ", expected " . @expected . "\n got      "
			. ($is // 'nothing') . "\n expected " . ($want // 'nothing');
	}
	if ($query->{include})
	{
		my $wrong = beside_difference($answer, \@found);
		return $wrong if defined $wrong;
	}
	return undef if $query->{pages} && !$self->{given};
	my $more = $all > $query->{limit} ? 1 : 0;
	return "truncated is wrong: $all rows" if ($answer->{meta}{meta}{truncated} ? 1 : 0) != $more;
	return 'nextCursor is ' . ($answer->{meta}{page}{nextCursor} // 'null')
		if defined $answer->{meta}{page}{nextCursor} !=
		($more && $expected->{kind} eq 'events' && !$self->{given});
	return undef;
}

# What is wrong with histogram and fields; the server names 100 fields, and looks for 1,000.
sub beside_difference
{
	my ($answer, $found) = @_;
	my $want = LogsvcReference::histogram($found, $answer->{points});
	return "the histogram differs\n got      $answer->{histogram}\n expected $want"
		if $answer->{histogram} ne $want || @{ $answer->{points} } > 101;
	my @fields = LogsvcReference::fields($found);
	my $all = @fields;
	my @is = @{ elements($answer->{fields}) };
	splice @fields, 100 if $all > 100;
	return 'there are ' . @is . ' fields, not ' . @fields if @is != @fields;
	foreach my $i (0 .. $#is)
	{
		last if $all > 1000 && $fields[$i][0] == $fields[-1][0];
		return "field $i differs\n got      $is[$i]\n expected $fields[$i][1]"
			if $is[$i] ne $fields[$i][1];
	}
	return "allFields is wrong: $all" if ($answer->{meta}{meta}{allFields} ? 1 : 0) !=
		($all <= 100);
	return undef;
}

sub describe
{
	my ($request) = @_;
	return join ', ', $request->{text}, map { "$_ $request->{$_}" } grep { defined $request->{$_}
		&& $request->{$_} } qw(earliest latest limit pages include);
}

# The smallest query that still differs.
sub shrink
{
	my ($self, $query, $difference) = @_;
	my $tries = 0;

  SMALLER: while ($tries < 200)
	{
		foreach my $smaller (LogsvcGenerator::smaller_queries($query))
		{
			last SMALLER if $tries++ > 200;
			srand 1;
			my $request = $self->request_of($smaller) // next;
			my ($answer) = eval { $self->ask($request) } or last SMALLER;
			my $other = $self->difference($smaller, $answer) // next;
			next if $other =~ /^error/ && $difference !~ /^error/;
			($query, $difference) = ($smaller, $other);
			next SMALLER;
		}
		last;
	}
	srand 1;
	return ($self->request_of($query), $difference);
}

# Runs n queries from `first` (1) on, of `seed` (that of the events); true when
# all agree.
sub run
{
	my ($self, $n, %opt) = @_;
	my $seed = $opt{seed} // $self->{seed};
	my $next = $opt{first} || 1;
	my $last = $next + $n - 1;
	my $failures = 0;

	while ($next <= $last && $failures < 5)
	{
		my (@queries, @requests);
		while ($next <= $last && @requests < 50)
		{
			srand $seed * 1_000_003 + $next++;
			my $query = LogsvcGenerator::make_query($self->{events},
				\&LogsvcStageGenerator::make_stages);
			# It changes nothing, but the stages after it are not run inside parts.
			unshift @{ $query->{stages} }, { stage => 'head', count => 10_000_000 }
				if $opt{in_statement};
			my $request = $self->request_of($query) // next;
			$query->{number} = $next - 1;
			push @queries, $query;
			push @requests, $request;
		}
		my @answers = $self->ask(@requests);
		$self->{asked} += @answers;
		foreach my $i (0 .. $#queries)
		{
			my $difference = $self->difference($queries[$i], $answers[$i]) // next;
			my ($request, $smallest) = $self->shrink($queries[$i], $difference);
			note_bytes "query $queries[$i]{number} of QUERY_SEED=$seed, events of SEED=$self->{seed} EVENTS=$self->{n_events}: " . describe($requests[$i]);
			note_bytes "smaller: " . describe($request);
			note_bytes $smallest;
			last if ++$failures >= 5;
		}
	}
	return !$failures;
}

# ---- events by simple conditions ----

# What is asked for, and what must be true of an event.
sub make_logs
{
	my ($events) = @_;
	my %ask = (from => '-70d');
	my @all;
	my $some = LogsvcGenerator::pick(@$events);
	my $change = sub { my ($text) = @_; my $kind = rand; return $kind < 0.15 ? uc $text
		: $kind < 0.3 ? lc $text : $text };

	foreach my $name (qw(level source service))
	{
		next unless rand() < 0.3 && $some->{fields}{$name};
		$ask{$name} = $change->($some->{fields}{$name}[1]);
		push @all, [ 'same', $name, $ask{$name} ];
	}
	$ask{index} = $some->{fields}{index}[1] if rand() < 0.2;
	my %attributes;
	foreach (1 .. int rand 3)
	{
		my $field = LogsvcGenerator::make_field($events);
		my $name = LogsvcReference::field_name($field);
		my @parts = split /\./, $name, -1;
		next if LogsvcReference::is_builtin($field) || $name eq '' || $attributes{$name};
		$field = { parts => \@parts, prefix => 1 };
		my $value = LogsvcReference::getter($field)->(rand() < 0.7 ? $some
			: LogsvcGenerator::pick(@$events)) // next;
		$attributes{$name} = $value->[1];
		push @all, [ 'compare', $field, '=', { kind => 'string', text => $value->[1] } ];
	}
	$ask{attributes} = \%attributes if %attributes;
	if (rand() < 0.4)
	{
		my @words = LogsvcGenerator::tokens_of($some->{fields}{event}[1]);
		my @asked;
		foreach (1 .. 1 + int rand 2)
		{
			my $from = int rand(@words || 1);
			my @phrase = grep { defined } @words[ $from .. $from + int rand 3 ];
			next unless @phrase;
			push @asked, @phrase == 1 ? $change->($phrase[0]) : '"' . join(' ', @phrase) . '"';
			push @all, [ 'text', { kind => 'string', text => join ' ', @phrase } ];
		}
		$ask{q} = join ' ', @asked;
	}
	foreach my $bound (grep { rand() < 0.3 } qw(from to))
	{
		my $at = LogsvcGenerator::pick(@$events)->{time};
		my $iso = LogsvcReference::iso_of($at);
		$iso =~ s/Z$/sprintf '%03dZ', $at % 1000/e;
		$ask{$bound} = $iso;
		push @all, [ 'bound', $bound, $at ];
	}
	$ask{order} = LogsvcGenerator::pick(qw(asc desc)) if rand() < 0.6;
	return (\%ask, @all);
}

# A sub that says whether an event is one that make_logs asked for.
sub asked_for
{
	my ($ask, @all) = @_;
	my @tests = map {
		my ($kind, $name, $value) = @$_;
		my $folded = $kind eq 'same' ? LogsvcReference::fold($value) : undef;
		$kind ne 'same' && $kind ne 'bound' ? LogsvcReference::filter($_)
		  : $kind eq 'bound' ? $name eq 'from' ? sub { $_[0]{time} >= $value }
		  : sub { $_[0]{time} < $value }
		  : $name eq 'service' ? sub { my $is = $_[0]{fields}{$name}; $is && $is->[1] eq $value }
		  : sub { my $is = $_[0]{fields}{$name}; $is && LogsvcReference::fold($is->[1]) eq $folded }
	} @all;
	push @tests, sub { $_[0]{fields}{index}[1] eq $ask->{index} } if defined $ask->{index};
	return sub { my ($event) = @_; foreach my $test (@tests) { return 0
		unless $test->($event) } 1 };
}

# As run, for GET /api/v1/logs.
sub run_logs
{
	my ($self, $n, %opt) = @_;
	my $seed = $opt{seed} // $self->{seed};
	my (@asked, @requests);
	my $failures = 0;

	foreach my $i (1 .. $n)
	{
		srand $seed * 1_000_003 + $i;
		my ($ask, @all) = make_logs($self->{events});
		my $text = json_encode($ask);
		utf8::decode($text);
		push @asked, [ $ask, @all ];
		push @requests, { logs => 1, text => $text, limit => LogsvcGenerator::pick(3, 50, 10000),
			pages => rand() < 0.5 };
	}
	my @answers = $self->ask(@requests);
	$self->{asked} += @answers;
	foreach my $i (0 .. $#answers)
	{
		my ($answer, $request) = ($answers[$i], $requests[$i]);
		my $filter = asked_for(@{ $asked[$i] });
		my @want = map { LogsvcReference::event_json($_) } grep
			{ $filter->($_) } @{ $self->{events} };
		@want = reverse @want if ($asked[$i][0]{order} // '') eq 'asc';
		my $more = @want > $request->{limit} && !$request->{pages} ? 1 : 0;
		splice @want, $request->{limit} if $more;
		$self->{rows} += @want;
		next if !defined $answer->{error} && join("\n", @{ $answer->{rows} }) eq join("\n", @want)
			&& ($answer->{meta}{page}{hasMore} ? 1 : 0) == $more;
		my ($at) = grep { ($answer->{rows}[$_] // '') ne ($want[$_] // '') } 0 .. @want;
		note_bytes 'list ' . ($i + 1) . " of QUERY_SEED=$seed, events of SEED=$self->{seed} "
			. "EVENTS=$self->{n_events}: $request->{text}, limit $request->{limit}, pages "
		  . ($request->{pages} ? 1 : 0) . "\n " . ($answer->{error} // @{ $answer->{rows} }
		  . ' rows, expected ' . @want)
		  . "\n got      " . ($answer->{rows}[ $at // 0 ] // 'nothing') . "\n expected "
		  . ($want[ $at // 0 ] // 'nothing');
		last if ++$failures >= 5;
	}
	return !$failures;
}

sub stop { my $self = shift; $self->{t}->let_go('write_after_delete'); $self->{t}->stop; return; }

1;
