# LogsvcSoak: senders that remember what was accepted, and the comparison with what
# is there.  For test/soak/soak.pl and its short form, test/t/service/short_soak.pl.
#
#	my $load = LogsvcSoak->new($t, orgs => \@orgs, dir => $dir);
#	$load->start('round 1', clients => 4, seed => 7);
#	... something bad happens ...
#	$load->stop;
#	my %result = $load->check;    # accepted, found, missing, twice, strange, unmasked
#
# Events of an organization with `pipeline` are sent with secrets that its pipeline masks, and some
# are such that it drops them.
package LogsvcSoak;

use strict;
use warnings;

use LogsvcTest;
use POSIX ();
use PostgreSQL::Test::Utils qw(slurp_file);
use Time::HiRes qw(sleep time);

my @kinds = (('single') x 6, ('json') x 3, ('ndjson') x 2, ('otlp') x 3, ('otlp_json') x 2,
	'gzip', 'sql');

sub new
{
	my ($class, $t, %opt) = @_;
	my $self = bless { t => $t, orgs => $opt{orgs}, dir => $opt{dir}, runs => 0 }, $class;

	$t->sql(q{
		CREATE FUNCTION part_events(header bytea, body bytea, OUT id text, OUT event text)
			RETURNS SETOF record LANGUAGE C STRICT AS '$libdir/logsvc', 'logsvc_debug_part_events';
		CREATE VIEW found AS
			SELECT organization_id, e.id, e.event, 'queue' AS place
			  FROM logsvc_internal.queue q, LATERAL part_events(q.header, q.body) e
			UNION ALL
			SELECT organization_id, e.id, e.event, 'store'
			  FROM logsvc_internal.part p, LATERAL part_events(p.header, p.body) e WHERE index_name <> '_audit'
			UNION ALL
			SELECT organization_id, e.id, e.event, 'dead'
			  FROM logsvc_internal.dead_letter d, LATERAL part_events(d.header, d.body) e
			 WHERE d.header IS NOT NULL;
		CREATE UNLOGGED TABLE accepted (organization text, event text, id text);});
	$_->{pipeline} && $self->_make_pipeline($_) foreach @{ $opt{orgs} };
	return $self;
}

# ---- what pipelines mask and drop ----

my $secrets = 'zqx[0-9a-f]{12}|4111 1111';

sub _make_pipeline
{
	my ($self, $org) = @_;
	my $r = $self->{t}->http(POST => '/api/v1/pipelines', token => $org->{token}, json => { name => 'masks', processors => [
		{ type => 'drop_if', filter => 'event CONTAINS "noise"' },
		{ type => 'mask', field => '*', pattern => 'zqx[0-9a-f]{12}' },
		{ type => 'mask', field => 'event', preset => 'creditcard' } ] });
	die "pipeline: $r->{status} $r->{content}\n" if $r->{status} != 201;
	return;
}

# A text as it is sent, and as it is stored: nothing if it is dropped.
sub _for_pipeline
{
	my ($text) = @_;
	return ("$text noise", undef) if rand() < 0.2;
	return (sprintf('%s zqx%012x card 4111 1111 1111 1111', $text, rand 2**48), "$text *** card ***");
}

# ---- OTLP ----

sub _varint
{
	my ($n) = @_;
	my $out = '';
	while ($n > 127) { $out .= chr($n & 127 | 128); $n >>= 7; }
	return $out . chr $n;
}
sub _bytes { my ($number, $content) = @_; return _varint($number << 3 | 2)
	. _varint(length $content) . $content; }

sub _otlp
{
	my $records = join '', map { _bytes(2, _bytes(5, _bytes(1, $_))) } @_;
	return _bytes(1, _bytes(2, $records));
}

# ---- one sender ----

# Path, headers and body of a request with these texts.
sub _request
{
	my ($kind, @texts) = @_;
	my @events = map { { event => $_, level => 'info', attributes => { n => length } } } @texts;

	return ('/api/v1/logs', { 'Content-Type' => 'application/json' }, json_encode($events[0]))
		if $kind eq 'single';
	return ('/api/v1/logs/batch', { 'Content-Type' => 'application/json' }, json_encode(\@events))
		if $kind eq 'json';
	return ('/api/v1/logs/batch', { 'Content-Type' => 'application/x-ndjson' }, join "\n",
		map { json_encode($_) } @events)
	  if $kind eq 'ndjson';
	return ('/v1/logs', { 'Content-Type' => 'application/x-protobuf' }, _otlp(@texts))
		if $kind eq 'otlp';
	if ($kind eq 'gzip')
	{
		require IO::Compress::Gzip;
		IO::Compress::Gzip::gzip(\json_encode(\@events) => \my $packed) or die;
		return ('/api/v1/logs/batch', { 'Content-Type' => 'application/json',
			'Content-Encoding' => 'gzip' }, $packed);
	}
	my @records = map { { body => { stringValue => $_ } } } @texts;
	return ('/v1/logs', { 'Content-Type' => 'application/json' },
		json_encode({ resourceLogs => [ { scopeLogs => [ { logRecords => \@records } ] } ] }));
}

# Sends by SQL, in a transaction of the client; true when it committed.
sub _send_sql
{
	my ($self, $org, @texts) = @_;
	my $list = join ',', map { "('$_')" } @texts;
	my $node = $self->{t}->node;
	return system('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port,
		'-o', '/dev/null',
		'-d', $self->{t}{database}, '-c', "SELECT logsvc.act_as('$org->{slug}')",
		'-c', "SELECT logsvc.log(e) FROM (VALUES $list) AS v(e)") == 0;
}

# Sends until it is told to stop; what got a 202 goes to a file, statuses to another.
sub _client
{
	my ($self, $number, $name, $file, %opt) = @_;
	my $http = HTTP::Tiny->new(timeout => 20, keep_alive => 1);
	my ($stop, $serial, %status) = (0, 0);
	my $parent = getppid;

	local $SIG{TERM} = sub { $stop = 1 };
	srand($opt{seed} * 100 + $number);
	open STDERR, '>', '/dev/null';
	open my $out, '>', $file or die;
	while (!$stop && getppid == $parent)
	{
		my $org = $self->{orgs}[ rand @{ $self->{orgs} } ];
		my $kind = $kinds[ rand @kinds ];
		my $n = $kind eq 'single' ? 1 : $kind eq 'sql' ? 1 + int rand 20 : 1 + int rand 400;
		my @texts = map { "$name client $number event " . ++$serial } 1 .. $n;
		my @stored = @texts;
		my ($code, @ids);

		foreach my $i ($org->{pipeline} ? 0 .. $#texts : ())
		{
			($texts[$i], $stored[$i]) = _for_pipeline($texts[$i]);
		}

		if ($kind eq 'sql')
		{
			$code = $self->_send_sql($org, @texts) ? 202 : 599;
		}
		else
		{
			my ($path, $headers, $body) = _request($kind, @texts);
			my $r = $http->post($self->{t}->url . $path,
				{ headers => { Authorization => "Bearer $org->{ingest_key}", %$headers },
					content => $body });
			$code = $r->{status};
			$code = 202 if $code == 200 && $path eq '/v1/logs';
			if ($code == 202 && $path ne '/v1/logs')
			{
				my $data = json_decode($r->{content})->{data};
				@ids = $kind eq 'single' ? $data->{id} : @{ $data->{ids} };
				die "not an id for each event, and only for those that are stored\n"
				  if @ids != @texts
				  || grep { defined $ids[$_] xor defined $stored[$_] } 0 .. $#texts;
				die "not the number of dropped events\n"
				  if $kind ne 'single' && ($data->{dropped} // 0) != grep { !defined } @stored;
			}
		}
		$status{$code}++;
		if ($code == 202)
		{
			print $out join '', map { "$org->{id}\t$stored[$_]\t" . ($ids[$_] // '')
				. "\n" } grep { defined $stored[$_] } 0 .. $#texts;
			$status{dropped} += grep { !defined } @stored;
			sleep $opt{pause} if $opt{pause};
			next;
		}
		# Not known whether it was stored, or refused: goes on with other events.
		sleep 0.05 + rand 0.1;
	}
	close $out or die;
	open my $summary, '>', "$file.status" or die;
	print $summary join(' ', map { "$_=$status{$_}" } sort keys %status), "\n";
	close $summary or die;
	return;
}

# Options: clients, seed, pause (s after each accepted request).
sub start
{
	my ($self, $name, %opt) = @_;

	$self->{name} = $name;
	$self->{files} = [];
	$self->{pids} = [];
	$self->{runs}++;
	foreach my $number (1 .. $opt{clients} // 4)
	{
		my $file = "$self->{dir}/$self->{runs}.$number";
		my $pid = fork // die "fork: $!";
		if ($pid == 0)
		{
			$SIG{INT} = 'DEFAULT';
			eval { $self->_client($number, $name, $file, %opt); 1 } or print STDERR "client: $@";
			POSIX::_exit($@ ? 1 : 0);
		}
		push @{ $self->{files} }, $file;
		push @{ $self->{pids} }, $pid;
	}
	return;
}

# Ends the senders when they have their last answers; dies when one failed.
sub stop
{
	my ($self) = @_;
	my $failed = 0;

	kill 'TERM', @{ $self->{pids} };
	foreach my $pid (@{ $self->{pids} })
	{
		waitpid $pid, 0;
		$failed++ if $?;
	}
	$self->{pids} = [];
	die "$failed senders failed\n" if $failed;
	return;
}

sub DESTROY
{
	my ($self) = @_;
	kill 'KILL', @{ $self->{pids} // [] };
	return;
}

# How often each status was answered: 202 accepted (or committed), 599 no answer.
sub statuses
{
	my ($self) = @_;
	my %sum;
	foreach my $file (@{ $self->{files} })
	{
		foreach (split ' ', slurp_file("$file.status"))
		{
			my ($code, $n) = split /=/;
			$sum{$code} += $n;
		}
	}
	$self->{dropped} = delete $sum{dropped} // 0;
	return \%sum;
}

# Events that were accepted and are not to be stored, as `statuses` found them.
sub dropped { return $_[0]{dropped}; }

# ---- what is there ----

sub queued { return $_[0]{t}->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue'); }
sub depth { return $_[0]{t}->sql('SELECT logsvc_internal.queue_depth()'); }

# Waits until nothing is on its way any more; what it waits for, or ''.
sub settle
{
	my ($self, $timeout) = @_;
	my $state = 'no answer';

	wait_until(sub {
		$state = $self->{t}->sql(q{SELECT concat_ws(', ', nullif((SELECT sum(rows) FROM logsvc_internal.queue), 0) || ' queued',
			nullif(logsvc_internal.queue_depth(), 0) || ' of depth',
			nullif((SELECT sum(rows) FROM logsvc_internal.dead_letter WHERE status = 'replaying'
				OR status = 'dead' AND reason = 'store_unavailable'), 0) || ' dead')});
		$state eq '';
	}, $timeout // 60);
	return $state;
}

# Compares; strange: events under another id than was told, or of another organization.
sub check
{
	my ($self) = @_;
	my $t = $self->{t};
	my %result;

	$t->sql('TRUNCATE accepted');
	$t->sql("COPY accepted FROM '$_' (NULL 'nothing')") foreach @{ $self->{files} };
	$t->sql("DROP TABLE IF EXISTS snapshot; CREATE UNLOGGED TABLE snapshot AS SELECT * FROM found"
		  . " WHERE event LIKE '$self->{name} client %'; ANALYZE snapshot; ANALYZE accepted");
	@result{qw(accepted found twice missing strange dead unmasked)} = split /\|/, $t->sql(q{
		SELECT (SELECT count(*) FROM accepted),
			(SELECT count(*) FROM snapshot),
			(SELECT count(*) - count(DISTINCT event) FROM snapshot) + (SELECT count(*) - count(DISTINCT id) FROM snapshot),
			(SELECT count(*) FROM accepted a WHERE NOT EXISTS (SELECT FROM snapshot s WHERE s.event = a.event)),
			(SELECT count(*) FROM accepted a JOIN snapshot s USING (event)
				WHERE logsvc_internal.public_id('org_', s.organization_id) <> a.organization OR a.id NOT IN ('', s.id)),
			(SELECT count(*) FROM snapshot WHERE place = 'dead'),
			(SELECT count(*) FROM found WHERE event ~ '} . "$secrets|noise" . q{')});
	unlink @{ $self->{files} };
	return %result;
}

# Writes the store again, with the parts for which the condition holds: so it has no free space.
# Not with TRUNCATE: a search that waits for its lock with an older snapshot would find nothing.
sub repack
{
	my ($self, $condition) = @_;
	$self->{t}->sql("SET lock_timeout = 0; BEGIN; LOCK TABLE logsvc_internal.part IN SHARE ROW EXCLUSIVE MODE; "
		. "DELETE FROM logsvc_internal.part WHERE ($condition) IS NOT TRUE; COMMIT; VACUUM FULL logsvc_internal.part");
	return;
}

# Takes what was compared away, so that the next comparison is quick.
sub clear
{
	my ($self) = @_;
	my $slugs = join ',', map { "'$_->{slug}'" } @{ $self->{orgs} };
	my $others = 'organization_id NOT IN (SELECT id FROM logsvc_internal.organization WHERE slug IN '
		. "($slugs))";
	$self->repack($others);
	$self->{t}->sql("DELETE FROM logsvc_internal.dead_letter WHERE NOT $others");
	return;
}

1;
