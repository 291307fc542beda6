# sql_conditions.pl: the search that is suggested for a SELECT finds the rows that the SELECT finds over
# the view logsvc.logs.  Random conditions: NOT, NULL, LIKE, BETWEEN, quotes, AND beside OR.
#
# CONDITIONS=5000 SEED=7 make check-tap T=sql_conditions tries others.
use strict;
use warnings;

use JSON::PP;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $seed = $ENV{SEED} // 1;
my $conditions = $ENV{CONDITIONS} // 600;
my $json = JSON::PP->new->canonical;

srand $seed;
sub one { return $_[ rand @_ ]; }

# ---- events ----

# Few values, so that conditions find some and not all; each attribute is missing now and then.
my @users = ('ann', 'Ann', 'bob', 'bob_b', 'bobXb', 'a%b', "o'hara", 'say "hi"', 'null', '', '7', 'x y',
	'a*b', 'AND', 'back\\slash', 'a.b', 'a(b', 'caf\x{e9}');
my @paths = ('/', '/api', '/api/users', '/API/users', '/static/a-b.css', '/x/', '/v1.2/');
my @texts = ('connection refused', 'Connection refused by peer', 'user logged in', 'disk 90% full',
	'a_b c', 'refused');
my @numbers = (200, 404, 500, 502, 599, 5000, 0, -5, 1.5);
my @events;

foreach my $i (1 .. 250)
{
	my %a;
	$a{owner} = one(@users) if rand() < 0.8;
	$a{path} = one(@paths) if rand() < 0.8;
	$a{status} = one(@numbers) if rand() < 0.8;
	$a{size} = one(@numbers) if rand() < 0.5;
	$a{ok} = one(JSON::PP::true, JSON::PP::false) if rand() < 0.5;
	push @events, { event => one(@texts), level => one(qw(info warn error)), attributes => \%a,
		source => one('web-1', 'db-1'), rand() < 0.7 ? (service => one('pay', 'shop', 'Pay')) : () };
}

# ---- conditions ----

sub quoted { my ($s) = @_; $s =~ s/'/''/g; return "'$s'"; }

# Something like a value, with wildcards.
sub pattern
{
	my ($s) = @_;
	return one('%', '%%', '_', '') if rand() < 0.05;
	substr($s, rand(length $s), 1) = '_' if length $s && rand() < 0.2;
	substr($s, rand(length $s)) = '%' if length $s && rand() < 0.5;
	substr($s, 0, rand(length $s)) = '%' if length $s && rand() < 0.4;
	$s .= '%' if rand() < 0.3;
	# Escapes have no translation.
	return $s =~ s/\\/_/gr;
}

my %of = (owner => \@users, path => \@paths, service => [ 'pay', 'shop', 'Pay', 'none' ],
	event => \@texts, source => [ 'web-1', 'db-1' ], level => [qw(info warn error)]);

# A condition as it is typed, and as PostgreSQL has it.  A substring is found in either case, as
# most databases do, and so are level and source.
sub leaf
{
	my $field = one(sort(keys %of), qw(status size status owner owner path));
	my $not = rand() < 0.3 ? 'NOT ' : '';
	my $kind = rand();

	if ($field eq 'status' || $field eq 'size')
	{
		my ($a, $b) = (one(@numbers), one(@numbers));
		return ("$field ${not}BETWEEN $a AND $b") x 2 if $kind < 0.3;
		return ("$field ${not}IN ($a, $b)") x 2 if $kind < 0.4;
		return ("$field = '$a'") x 2 if $kind < 0.45;
		return ("$field IS ${not}NULL") x 2 if $kind < 0.55;
		return ("$field ${not}LIKE '5%'", "$field\::text ${not}LIKE '5%'") if $kind < 0.6;
		return ("$field " . one('=', '<>', '!=', '<', '<=', '>', '>=') . " $a") x 2;
	}
	return ('ok = ' . one('true', 'false')) x 2 if $kind < 0.05;
	my $name = one($field, $field, qq("$field"));
	my ($a, $b) = map { quoted(one(@{ $of{$field} })) } 1, 2;
	return ("$name IS ${not}NULL") x 2 if $kind < 0.2;
	return ("$name ${not}IN ($a, $b)") x 2 if $kind < 0.35;
	return ("$name ${not}BETWEEN $a AND $b") x 2
		if $kind < 0.45 && $field ne 'level' && $field ne 'source' && $field ne 'event';
	if ($kind < 0.8)
	{
		my $like = pattern(one(@{ $of{$field} }));
		my $word = one('LIKE', 'ILIKE', 'like');
		my $any = $like =~ /^%[^%_]+%$/ || $field eq 'level' || $field eq 'source';
		return ("$name $not$word " . quoted($like),
			"$name $not" . ($any ? 'ILIKE ' : "$word ") . quoted($like));
	}
	return ("$name " . one('=', '<>', '!=') . " $a") x 2;
}

sub condition
{
	my ($depth) = @_;
	my @parts = map { [ $depth > 0 && rand() < 0.4 ? condition($depth - 1) : leaf() ] }
		1 .. one(1, 1, 2, 2, 3);
	my @both = ('', '');

	foreach my $i (0 .. $#parts)
	{
		my $join = $i == 0 ? '' : one(' AND ', ' OR ', ' and ');
		my $not = rand() < 0.25 ? one('NOT ', 'not ', 'NOT NOT ') : '';
		my $paren = $not ne '' || rand() < 0.3 || $parts[$i][0] =~ / (AND|OR) /i;
		$both[$_] .= $join . $not . ($paren ? "($parts[$i][$_])" : $parts[$i][$_]) foreach 0, 1;
	}
	return @both;
}

# ---- both ways ----

my $org = $t->organization('acme');

$t->sql(<<'SQL');
-- The search that is suggested, or after ! why there is none.
CREATE FUNCTION suggested(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer jsonb;
	detail text;
BEGIN
	answer := logsvc.search(q);
	RETURN (SELECT coalesce(w ->> 'suggestion', '! ' || (w ->> 'message'))
		FROM jsonb_array_elements(answer #> '{meta,warnings}') AS w
		WHERE w ->> 'code' IN ('OTHER_LANGUAGE', 'LOWERCASE_OPERATOR') LIMIT 1);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN CASE WHEN detail LIKE '[%' THEN coalesce(detail::jsonb #>> '{0,suggestion}',
		'! ' || (detail::jsonb #>> '{0,message}')) ELSE '! ' || SQLERRM END;
END $$;
CREATE FUNCTION suggested_rows(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	meant text := suggested(q);
BEGIN
	RETURN CASE WHEN meant LIKE '! %' THEN meant
		ELSE meant || ' = ' || (logsvc.search(meant) #>> '{data,rows}') END;
END $$;
CREATE FUNCTION compared(q text, condition text, OUT suggestion text, OUT sql text, OUT search text)
LANGUAGE plpgsql AS $$
BEGIN
	suggestion := suggested(q);
	EXECUTE 'SELECT string_agg(n::text, '','' ORDER BY n) FROM pg_temp.logs WHERE ' || condition INTO sql;
	IF suggestion NOT LIKE '! %' THEN
		SELECT string_agg(l.n::text, ',' ORDER BY l.n) INTO search
		FROM logsvc.events(suggestion) e JOIN pg_temp.logs l USING (id);
	END IF;
END $$;
SQL

sub in_session
{
	my ($sql) = @_;
	return $t->sql("SELECT logsvc.act_as('acme') IS NULL;"
		. "CREATE TEMP TABLE logs AS SELECT row_number() OVER (ORDER BY id) AS n, id,"
		. ' event COLLATE "C", level, source COLLATE "C", service COLLATE "C",'
		. " (attributes ->> 'owner') COLLATE \"C\" AS owner, (attributes ->> 'path') COLLATE \"C\" AS path, (attributes ->> 'ok')::boolean AS ok,"
		. " (attributes ->> 'status')::numeric AS status, (attributes ->> 'size')::numeric AS size FROM logsvc.logs;"
		. $sql) =~ s/^.*?\n//sr;
}

# Two days ago and a minute earlier and later.
my @times = map { $t->sql("SELECT to_char(now() - interval '$_', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')") }
	'48 hours 1 minute', '47 hours 59 minutes';

is($t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.ingest(\$e\$" . $json->encode(\@events)
		. "\$e\$) ->> 'accepted'") =~ s/.*\n//sr, scalar @events, 'events are sent');

my @tried = map { [ condition(2) ] } 1 .. $conditions;
my @given = map { [ "SELECT * FROM logs WHERE $_->[0]", $_->[1] ] } @tried;
my $compared = $json->decode(in_session("SELECT jsonb_agg(to_jsonb(compared(g ->> 0, g ->> 1)) ORDER BY i)"
	. " FROM jsonb_array_elements(\$g\$" . $json->encode(\@given) . "\$g\$) WITH ORDINALITY AS t (g, i)"));
my (@wrong, @none);
foreach my $i (0 .. $#tried)
{
	my $c = $compared->[$i];
	if (($c->{suggestion} // '!') =~ /^!/) { push @none, "$tried[$i][0]\n\t" . ($c->{suggestion} // ''); next; }
	push @wrong, "$tried[$i][0]\n\t$c->{suggestion}\n\tSQL $c->{sql}\n\tsearch "
		. ($c->{search} // '') if ($c->{sql} // '') ne ($c->{search} // '');
}
is(scalar @wrong, 0, "the same rows for $conditions conditions, seed $seed")
	or diag join "\n", @wrong[ 0 .. ($#wrong < 15 ? $#wrong : 15) ];
is(scalar @none, 0, 'each has a suggestion') or diag join "\n", @none[ 0 .. ($#none < 15 ? $#none : 15) ];

# ---- more than conditions ----

my @others = ({ event => 'in web', index => 'web' },
	{ event => 'two days ago', level => 'fatal', timestamp => $times[0] =~ s/..Z/59Z/r });

push @others, { event => $_, attributes => { kind => substr($_, 0, 1) } }
	foreach qw(a1 b1 b2 b3 c1 c2);
is($t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.create_index('web') IS NULL;"
		. " SELECT logsvc.ingest(\$e\$" . $json->encode(\@others) . "\$e\$) ->> 'accepted'") =~ s/.*\n//sr,
	scalar @others, 'others are sent');

# A statement, and the search with its rows, or why there is none.
my $plain = '! this is SQL; more than a plain SELECT of one table (psql runs it: SELECT ... FROM logsvc.logs)'
	. ' cannot be translated';
my @statements = (
	[ "SELECT event FROM logs WHERE index = 'web' AND event LIKE 'in %'",
		'index="web" AND event MATCHES "(?s)^in .*\z" | table event = [["in web"]]' ],
	[ "SELECT event FROM logs WHERE index IN ('web', 'none') OR ok = true", q(! unexpected ') ],
	[ "SELECT event FROM logs WHERE \"index\" LIKE 'we%'", 'index=we* | table event = [["in web"]]' ],
	[ "SELECT event FROM logs WHERE index <> 'main'",
		'! this is SQL; this condition on index cannot be translated' ],
	[ "SELECT event FROM logs WHERE LEVEL = 'fatal'", 'level="fatal" | table event = []' ],
	[ "SELECT event FROM logs WHERE timestamp >= '$times[0]' AND level = 'fatal'",
		qq(earliest="$times[0]" AND level="fatal" | table event = [["two days ago"]]) ],
	[ "SELECT event FROM logs WHERE timestamp BETWEEN '$times[0]' AND '$times[1]' LIMIT 5",
		qq(earliest="$times[0]" timestamp<="$times[1]" | head 5 | table event = [["two days ago"]]) ],
	[ "SELECT event FROM logs WHERE (timestamp >= '$times[1]' OR ok = true) AND index = 'web'",
		qq{(timestamp>="$times[1]" OR ok=true) AND index="web" | table event = [["in web"]]} ],
	[ 'SELECT event FROM logs WHERE owner = path', $plain ],
	[ 'SELECT kind, count(*) AS n FROM logs WHERE kind IS NOT NULL GROUP BY kind ORDER BY count(*) DESC LIMIT 2',
		'kind=* | stats count as n by kind | sort -n | head 2 = [["b", 3], ["c", 2]]' ],
	[ 'SELECT kind, max(size) FROM logs GROUP BY kind ORDER BY count(*) DESC', $plain ],
);
my $rows = $json->decode(in_session("SELECT jsonb_agg(suggested_rows(q) ORDER BY i) FROM jsonb_array_elements_text("
	. "\$g\$" . $json->encode([ map { $_->[0] } @statements ]) . "\$g\$) WITH ORDINALITY AS t (q, i)"));
is($rows->[$_], $statements[$_][1], $statements[$_][0]) foreach 0 .. $#statements;

$t->stop;
done_testing;
