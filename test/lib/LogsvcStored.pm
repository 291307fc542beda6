# LogsvcStored: what a server has stored, and what is found of it, for tests of upgrades.
#
#	use LogsvcStored;
#
#	my $stored = LogsvcStored->fill($t, 200_000);  # two organizations
#	$stored->send($t, 'acme', 3000);               # more events, which differ by their number
#	my $before = $stored->found($t);               # the answers of 20 searches of each
#	my $lines = $t->sql(LogsvcStored->tables_sql); # a line for each table
package LogsvcStored;

use strict;
use warnings;

use LogsvcTest;
use Test::More;

my @levels = (('info') x 8, 'warn', 'error');

our @queries = ('error', 'request 4711', '"client 42"', 'level=error | stats count',
	'* | stats count by source', '* | stats count by level',
	'* | stats avg(duration_ms) as a by path | sort path', 'duration_ms > 1000 | stats count',
	'source=web-3 level=warn | stats count', '* | top 5 path',
	'* | stats max(duration_ms) as m, min(duration_ms) as n by service',
	'request NOT level=info | stats count by level', 'path="/p/7" | stats count',
	'* | stats dc(path) as d', '* | where duration_ms % 100 = 7 | stats count',
	'* | eval slow = duration_ms > 500 | stats count by slow', '* | timechart span=1h count',
	'took* | stats count', '"took 12 ms" | stats count by source', 'index=_audit | stats count');

# Two organizations with so many events, stored; a dead letter, deferred events, a session, an
# invitation, audit entries, an operator's own limits.
sub fill
{
	my ($class, $t, $events) = @_;
	my $self = bless { sent => 0, events => $events }, $class;
	my %org = map { $_ => $t->organization($_, plan => 'pro') } qw(acme globex);

	$self->{org} = \%org;
	$self->send($t, 'acme', $events * 0.7);
	$self->send($t, 'globex', $events * 0.3);
	ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }, 120),
		'all are stored');

	$t->sql(q{CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN IF NEW.index_name = 'bad' THEN RAISE EXCEPTION 'refused' USING ERRCODE = '23514'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON logsvc_internal.part FOR EACH ROW EXECUTE FUNCTION refuse();
		SELECT logsvc.act_as('acme'); SELECT logsvc.create_index('bad')});
	is($t->http(POST => '/api/v1/logs', token => $org{acme}{ingest_key},
			json => { event => 'not stored', index => 'bad' })->{status}, 202,
				'an event that the store refuses');
	ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.dead_letter WHERE "
		. "status = 'dead'") == 1 }), 'is a dead letter');
	$t->sql(q{DROP TRIGGER refuse ON logsvc_internal.part; DROP FUNCTION refuse();
		SELECT logsvc.set_limit('globex', 'ingest_bytes_per_day', 1); SELECT logsvc.set_limit('globex', 'overage_queue_seconds', 3600);
		UPDATE logsvc_internal.plan_limit SET amount = 7 WHERE plan = 'pro' AND resource = 'dashboards'});
	ok(wait_until(sub {
		$t->http(POST => '/api/v1/logs', token => $org{globex}{ingest_key},
			json => { event => 'beyond the quota' });
		$t->sql('SELECT count(*) FROM logsvc_internal.deferred') > 0 }),
			'deferred events');
	$self->{session} = $t->session('acme@example.org');
	is($t->http(POST => '/api/v1/invitations', session => $self->{session},
		organization => $org{acme}{id},
			json => { email => 'new@example.org', role => 'viewer' })->{status}, 201,
				'a session, and what it did is audited');
	# The same times before and after: an hour may begin meanwhile.
	$self->{range} = sprintf "earliest => '%s', latest => '%s'",
		map { $t->sql("SELECT to_char(now() AT TIME ZONE 'UTC' + interval '$_', "
			. "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')") } '-2 days', '1 hour';
	return $self;
}

sub org { return $_[0]{org}{ $_[1] }; }
sub session { return $_[0]{session}; }

# Sends that many events.
sub send
{
	my ($self, $t, $org, $n) = @_;
	while ($n > 0)
	{
		my $size = $n < 10_000 ? $n : 10_000;
		my @batch = map {
			my $i = $self->{sent} + $_;
			{ event => "request $i of client " . $i % 97 . " took " . $i % 1013 . " ms",
				level => $levels[ $i % 10 ],
				source => 'web-' . $i % 7, service => 'shop',
					attributes => { duration_ms => $i % 1013, path => "/p/" . $i % 31 } }
		} 1 .. $size;
		my $r = $t->http(POST => '/api/v1/logs/batch', token => $self->{org}{$org}{ingest_key},
			json => \@batch);
		die "$r->{status} $r->{content}\n" unless $r->{status} == 202;
		$self->{sent} += $size;
		$n -= $size;
	}
	return;
}

# { "acme: query" => answer }
sub found
{
	my ($self, $t) = @_;
	my %found;
	foreach my $org (keys %{ $self->{org} })
	{
		foreach my $query (@queries)
		{
			my $text = $query =~ s/'/''/gr;
			my $r = $t->sql_json("SELECT logsvc.act_as('$org') \\gset _\n"
				  . "SELECT logsvc.search('$text', $self->{range}, \"limit\" => 50)");
			$found{"$org: $query"} = json_encode($r->{data});
		}
	}
	return \%found;
}

# SQL that returns a line for each table: how many rows, and a sum of all that is in them.
sub tables_sql
{
	return join ' UNION ALL ',
		map { "SELECT '$_ ' || count(*) || ':' || coalesce(sum(hashtext((to_jsonb(t) - "
			. "'{first_owner,parse_json,read_only_since,ai_credit_limit}'::text[])::text)::numeric), 0) FROM logsvc_internal.$_ t" }
		qw(organization organization_limit user_account member access_token api_key log_index
			user_session invitation dead_letter deferred audit_entry audit_head outbox);
}

1;
