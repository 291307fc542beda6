# grafana_dashboards.pl: every query of the dashboards in dist/grafana, with variables and macros
# replaced as Grafana replaces them, as the roles that docs/grafana.md makes: each finds rows in the
# invented shop of make quickstart, and nothing of another organization.
# Takes long.
use strict;
use warnings;

use JSON::PP;
use LogsvcTest;
use POSIX qw(strftime);
use PostgreSQL::Test::Utils qw(slurp_file);
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.limits = 'generous'\nlogsvc.flush_interval = '50ms'");
my $org = $t->organization('quickstart', plan => 'enterprise', email => 'owner@example.com');
my $other = $t->organization('other');
my %boards = map { ($_ => JSON::PP->new->decode(scalar slurp_file("dist/grafana/$_.json"))) } qw(logs errors operations);

# ---- the files ----

my @files = map { m{([^/]+)\.json$} } glob 'dist/grafana/*.json';
is_deeply([ sort @files ], [ sort keys %boards ], 'each dashboard is tested');
foreach my $name (sort keys %boards)
{
	my $board = $boards{$name};
	my %vars = map { $_->{name} => 1 } @{ $board->{templating}{list} };
	my (%ids, %cells, @wrong);
	foreach my $panel (@{ $board->{panels} })
	{
		push @wrong, "$panel->{title}: id $panel->{id} twice" if $ids{ $panel->{id} }++;
		my $g = $panel->{gridPos};
		push @wrong, "$panel->{title}: too wide" if $g->{x} + $g->{w} > 24;
		foreach my $x ($g->{x} .. $g->{x} + $g->{w} - 1)
		{
			push @wrong, "$panel->{title}: over another" if grep { $cells{$x}{$_}++ } $g->{y} .. $g->{y} + $g->{h} - 1;
		}
		foreach my $target (@{ $panel->{targets} })
		{
			push @wrong, "$panel->{title}: data source" if $target->{datasource}{uid} ne '${datasource}'
			  || $target->{datasource}{type} ne 'grafana-postgresql-datasource' || !$target->{rawQuery};
			push @wrong, "$panel->{title}: \$$_ is no variable" foreach grep { !$vars{$_} } $target->{rawSql} =~ /\$\{(\w+)/g;
		}
	}
	is("@wrong", '', "$name is well formed");
	ok($vars{datasource}, '... and asks for its data source');
}

my %figures = map { $_ => 1 } slurp_file('docs/metrics.md') =~ /^\| `(logsvc_\w+)` \|/mg;
my @used = map { $_->{targets}[0]{rawSql} =~ /'(logsvc_(?!internal)\w+)'/g } @{ $boards{operations}{panels} };
is_deeply([ grep { !$figures{$_} } @used ], [], @used . ' figures are there');

# ---- the shop ----

sub run_file
{
	my ($file) = @_;
	my $answer = qx(psql -XqAt -v ON_ERROR_STOP=1 -f docker/sample/$file -d "@{[ $t->node->connstr($t->{database}) ]}");
	die "$file failed\n" if $?;
	return $answer =~ s/\n\z//r;
}

sub post
{
	my ($to, $lines) = @_;
	return $t->http(POST => '/api/v1/logs/batch', token => $to->{ingest_key},
		headers => { 'Content-Type' => 'application/x-ndjson' }, body => $lines)->{json}{data}{rejected};
}
run_file('before.sql');
my $events = `perl docker/sample/events.pl`;
is(post($org, $_), 0, 'events') foreach $events =~ /\G((?:.*\n){1,5000})/g;
is(post($org, q({"event": "row 1 of a file: price is missing", "index": "imports"})), 0, '... of a partner');
is(post($org, q({"event": "hello", "service": "O'Brien \\"& sons\\", \\\\", "level": "error"})), 0, '... of an odd service');
is(post($other, q({"event": "of another", "service": "secret", "level": "error"})), 0, '... of another organization');
run_file('after.sql');
ok(wait_until(sub { run_file('ready.sql') eq 't' }, 120), 'rules fire');
run_file('incidents.sql');
$t->http(GET => '/api/v1/search?q=x', token => 'pat_' . 'x' x 40);
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc.metrics WHERE name = \'logsvc_stored_bytes\'') > 0 }, 120), 'figures');

# The roles, as docs/grafana.md makes them.
my ($statements) = slurp_file('docs/grafana.md') =~ /```sql\n(CREATE ROLE grafana_1.*?)```/s;
ok($statements, 'the document says how the roles are made');
$statements =~ s/'acme'/'quickstart'/g;
$t->sql($statements);
$t->sql(q{CREATE ROLE grafana_other LOGIN IN ROLE logsvc_tenant; SELECT logsvc.bind_role('grafana_other', 'other')});

# ---- as Grafana does it ----

# One value, or several, in the format sqlstring: packages/grafana-data, templating, formatRegistry.
sub sqlstring { return join ',', map { "'" . s/'/''/gr . "'" } @_; }

# $to: the end of the range, in seconds.  Macros: pkg/tsdb/grafana-postgresql-datasource/macros.go.
sub interpolated
{
	my ($sql, $panel, $from, $to, %values) = @_;
	my %of = (service => "'*'", filter => sqlstring(''), %values);
	my $ms = int(1000 * ($to - $from) / ($panel->{maxDataPoints} // 1000));
	$ms = 1000 if $ms < 1000 && ($panel->{interval} // '') eq '1s';
	my @times = map { "'" . strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $_) . "'" } $from, $to;
	$sql =~ s/\$\{(\w+)(?::sqlstring)?\}/$of{$1} \/\/ die "no variable $1"/ge;
	$sql =~ s/\$__interval_ms/$ms/g;
	# Arguments end at the first parenthesis, as there.
	my %macro = (__timeFrom => sub { $times[0] }, __timeTo => sub { $times[1] },
		__timeFilter => sub { "$_[0] BETWEEN $times[0] AND $times[1]" });
	$sql =~ s/\$([_a-zA-Z0-9]+)\(([^)]*)\)/($macro{$1} \/\/ die "no macro $1")->($2)/ge;
	die "something is left: $1" if $sql =~ /(\$[_{]\w*)/;
	return $sql;
}

# The rows of a query as JSON objects, or its error.
sub rows_of
{
	my ($sql, $user) = @_;
	my ($text, $state) = $t->sql_error("SELECT coalesce(json_agg(to_json(q)), '[]') FROM ($sql) q", user => $user);
	return "SQLSTATE $state" if $state ne '';
	return JSON::PP->new->decode($text);
}

my %user = (logs => 'grafana_1', errors => 'grafana_1', operations => 'grafana_ops');
my $now = time + 60;
foreach my $name (sort keys %boards)
{
	foreach my $panel (@{ $boards{$name}{panels} })
	{
		my $sql = $panel->{targets}[0]{rawSql};
		foreach my $range (6 * 3600, 24 * 3600)
		{
			my $rows = rows_of(interpolated($sql, $panel, $now - $range, $now), $user{$name});
			ok(ref $rows && (grep { grep { defined } values %$_ } @$rows) > 0,
				"$name: $panel->{title}, " . $range / 3600 . ' h: ' . (ref $rows ? scalar @$rows . ' rows' : $rows))
			  or diag interpolated($sql, $panel, $now - $range, $now);
			next unless ref $rows;
			is(scalar(grep { ($_->{service} // $_->{metric} // '') eq 'secret' } @$rows), 0,
				'... none of another organization');
			next unless $panel->{type} =~ /^(?:timeseries|logs)$/;
			is(scalar(grep { !defined $_->{time} } @$rows), 0, '... each with its time');
			is(scalar(grep { !defined($_->{message} // $_->{value} // $_->{bytes}) } @$rows), 0, '... and something to show');
		}
	}
}

# ---- figures ----

sub panel
{
	my ($name, $title) = @_;
	return (grep { $_->{title} eq $title } @{ $boards{$name}{panels} })[0];
}

sub shown
{
	my ($name, $title, $user, %values) = @_;
	my $panel = panel($name, $title) // die "no panel $title";
	return rows_of(interpolated($panel->{targets}[0]{rawSql}, $panel, $now - 86400, $now, %values),
		$user // 'grafana_1');
}
my $sum = 0;
$sum += $_->{value} foreach @{ shown('logs', 'Events by level') };
is($sum, shown('logs', 'Events')->[0]{events}, 'the levels are all events');
is(shown('logs', 'Events', 'grafana_other')->[0]{events}, 1, 'a role of another organization sees its own event');
is(scalar @{ shown('errors', 'Alerts', 'grafana_other') }, 0, '... and no alerts of others');
my $odd = q(O'Brien "& sons", \\);
is(shown('logs', 'Events', undef, service => sqlstring($odd))->[0]{events}, 1, 'a service with quotes is chosen');
is(scalar @{ shown('logs', 'Newest events', undef, service => sqlstring('checkout', $odd)) }, 200, '... among others');
my $some = shown('logs', 'Events', undef, filter => sqlstring('refused OR timeout'))->[0]{events};
ok($some > 0 && $some < $sum, 'conditions are typed in');
foreach my $bad (q{') OR '1'='1}, q{"}, q{level=error | nonsense}, q{) OR service=secret (}, "'; DROP TABLE x; --")
{
	my $got = shown('logs', 'Events', undef, filter => sqlstring($bad));
	ok(ref $got ? $got->[0]{events} <= $sum : $got =~ /^SQLSTATE LQ/, "$bad is at most a mistake in a search: "
		. (ref $got ? $got->[0]{events} : $got));
}
my ($variable) = map { $_->{query} } grep { $_->{name} eq 'service' } @{ $boards{logs}{templating}{list} };
my %services = map { (values %$_)[0] => 1 }
  @{ rows_of(interpolated($variable, {}, $now - 86400, $now), 'grafana_1') };
ok($services{checkout} && $services{$odd} && !$services{secret}, 'services are offered') or diag join ', ', sort keys %services;

# The role of operators reads figures and no events.
is(rows_of('SELECT * FROM logsvc.logs', 'grafana_ops'), 'SQLSTATE 42501', 'the role of operators reads no events');
is(rows_of(q{SELECT logsvc.act_as('quickstart')}, 'grafana_ops'), 'SQLSTATE 42501', '... and acts for nobody');

$t->stop;
done_testing;
