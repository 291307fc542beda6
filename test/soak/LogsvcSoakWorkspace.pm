# LogsvcSoakWorkspace: alert rules with webhooks, scheduled and streamed exports, KPIs and the probe
# beside the load of a soak, and what must be true of them at the end, whatever was killed.
#
#	my $work = LogsvcSoakWorkspace->new($t, dir => $dir);
#	$work->begin($round);      # sends what alerts, exports and KPIs are to find
#	$work->start_export;       # its periods are due from now on
#	... something bad happens ...
#	$work->end;
#	my @wrong = $work->check;  # at the end: everything is waited for and counted
#
# Nothing here needs luck: an incident is an alert as long as its last event says so, however late a
# rule is evaluated; periods of exports are in the past; KPIs count different values.
package LogsvcSoakWorkspace;

use strict;
use warnings;

use Digest::SHA qw(hmac_sha256_hex sha256_hex);
use LogsvcDouble;
use LogsvcTest;
use POSIX ();
use PostgreSQL::Test::Utils qw(slurp_file);
use Time::HiRes qw(sleep time);

my $secret = 'whsec_of_a_soak_that_is_long_enough';

# The points at which workers of the workspace can be held.
my %points = (
	(map { $_ => 'alerter' } qw(alert_taken alert_searched alert_applied alert_before_commit)),
	(map { $_ => 'notifier' } qw(webhook_sending webhook_ended)),
	(map { $_ => 'exporter' } qw(exporter_taken exporter_piece exporter_finished)),
	(map { $_ => 'health' } qw(health_measure health_finish)),
	prober_note => 'prober');

sub new
{
	my ($class, $t, %opt) = @_;
	my %tries;
	# Of some deliveries the first try fails: an error, a closed connection, a late answer.
	my $receiver = LogsvcDouble->new(answer => sub {
		my ($request) = @_;
		my $id = $request->{headers}{'x-logsvc-delivery'} // '';
		my $kind = $tries{$id}++ ? 99 : hex substr sha256_hex($id), 0, 1;
		return $kind == 0 ? { status => 503 } : $kind == 1 ? { close => 1 }
			: $kind < 4 ? { delay => 0.7 } : {};
	});
	# Rules that cannot be evaluated are told by mail.
	my $mails = LogsvcDouble->new(smtp => 1, answer => sub { return });
	$t->sql("ALTER SYSTEM SET logsvc.smtp_from = 'logs\@example.org'");
	$t->set('logsvc.smtp_url', $mails->url);
	my $self = bless { t => $t, mails => $mails, dir => $opt{dir}, receiver => $receiver,
		exports => [], open => {}, closed => {}, beats => {},
		streams => { whole => 0, broken => 0 }, kills => {}, wrong => [] }, $class;

	$self->{orgs} = [ map { $t->organization($_) } qw(north south) ];
	$t->sql("SELECT logsvc.set_limit('$_->{slug}', 'scheduled_exports', 1000)") foreach @{ $self->{orgs} };
	foreach my $org (@{ $self->{orgs} })
	{
		my $hook = [ { kind => 'webhook', target => $receiver->url . "/$org->{slug}", secret => $secret } ];
		my %schedule = (schedule => { everySeconds => 10, lookback => '1d' });
		# Before the ticks of all rules.
		$self->_send($org, { event => 'heartbeat', timestamp => (time - 3600) * 1000 }) or die "no heartbeat\n";
		$org->{rule} = $self->_make($org, 'alert-rules', name => 'incidents', %schedule, notify => $hook,
			query => 'service=incident | stats first(n) as n by source', groupBy => ['source'],
			condition => { kind => 'value', column => 'n', op => '>', threshold => 0 });
		# Events are in the queue or in the store: what there always is, is never absent.
		$org->{absence} = $self->_make($org, 'alert-rules', name => 'absence', %schedule, notify => $hook,
			query => 'heartbeat', condition => { kind => 'absence' });
		$org->{service} = $self->_make($org, 'services', name => 'beats', match => 'service=beat');
		$org->{kpi} = $self->_make($org, 'kpis', name => 'beats', serviceId => $org->{service}, window => '5h',
			q => 'service=beat | stats dc(source)', direction => 'higherIsBetter', warn => 2, critical => 1);
	}
	return $self;
}

sub _make
{
	my ($self, $org, $kind, %document) = @_;
	my $r = $self->{t}->http(POST => "/api/v1/$kind", token => $org->{token}, json => \%document);
	die "$kind: $r->{status} $r->{content}\n" if $r->{status} != 201;
	return $r->{json}{data}{id};
}

# True when all of them are accepted.
sub _send
{
	my ($self, $org, @events) = @_;
	my $r = $self->{t}->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, client => $$,
		timeout => 20, json => \@events);
	return $r->{status} == 202;
}

# Until they are accepted: events may be there twice then, so they are such that it does not matter.
sub _send_surely
{
	my ($self, $org, @events) = @_;
	wait_until(sub { $self->_send($org, @events) }, 90) or die "not accepted for 90 s\n";
	return;
}

sub _incident { my ($source, $n) = @_; return { event => "incident $source", service => 'incident',
	source => $source, attributes => { n => $n } }; }

# The texts of an NDJSON file; those of a soak need no escapes.
sub _events { my ($file) = @_; return $file =~ /^\{.*?"event":\s*"([^"]*)".*\}$/mg; }

# ---- a round ----

sub begin
{
	my ($self, $round, %opt) = @_;
	my $t = $self->{t};

	$self->{round} = $round;
	# An event that becomes a dead letter is not found until it comes back: its alert ends, too.
	$self->{opens} = $opt{dead_letters} ? 0 : 4;
	# Incidents that are alerts end now; what is not yet seen goes on.
	foreach my $org (@{ $self->{orgs} })
	{
		foreach my $source (split /\n/, $t->sql("SELECT a.group_key ->> 'source' FROM logsvc_internal.alert a WHERE status = 'firing'"
			. " AND logsvc_internal.public_id('rule_', rule_id) = '$org->{rule}' ORDER BY started_at LIMIT 3"))
		{
			$self->_send_surely($org, _incident($source, 0));
			$self->{closed}{"$org->{slug} $source"} = 1;
		}
		foreach my $source (map { "round $round.$_" } 1 .. 2)
		{
			$self->_send_surely($org, _incident($source, 1));
			$self->{open}{"$org->{slug} $source"} = 1;
		}
		$self->_send_surely($org, { event => 'beat', service => 'beat', source => "beat $round" });
		$self->{beats}{ $org->{slug} }++;
	}
	$self->_make_export;
	# What is in dead letters for a while is not found, so nothing of this waits in the queue.
	wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.queue WHERE organization_id IN (SELECT id FROM "
		. "logsvc_internal.organization WHERE slug IN ('north', 'south'))") == 0 }, 60) or die "not stored\n";
	$self->_start_client;
	return;
}

# An export of three past hours: one of several pieces, one of a few lines, one of none.
sub _make_export
{
	my ($self) = @_;
	my $round = $self->{round};
	my $org = $self->{orgs}[ $round % @{ $self->{orgs} } ];
	my $hour = 3600 * int(time / 3600) - 3 * 3600;
	my %expected;
	my $text = sub { my ($n, $i, $filler) = @_; return "export $round hour $n line $i " . 'x' x $filler; };

	foreach my $n (0, 1)
	{
		my @texts = map { $text->($n, $_, $n ? 10 : 3000) } 1 .. ($n ? 50 : 900);
		my @events = map { { event => $_, service => 'export', source => "round $round",
			timestamp => ($hour + $n * 3600 + 60) * 1000 } } @texts;
		# An answer that is lost would make two of each, so these are sent while nothing happens.
		$self->_send($org, splice @events, 0, 300) or die "not accepted\n" while @events;
		$expected{$n} = [ sort @texts ];
	}
	push @{ $self->{exports} },
		{ round => $round, org => $org, hour => $hour, expected => \%expected };
	return;
}

sub start_export
{
	my ($self) = @_;
	my $export = $self->{exports}[-1];
	return if $export->{id};

	$export->{id} = $self->_make($export->{org}, 'scheduled-exports', name => "round $export->{round}", cron => '@hourly',
		q => qq(service=export source="round $export->{round}"), format => 'ndjson',
		delivery => { kind => 'webhook', target => $self->{receiver}->url . "/$export->{org}{slug}", secret => $secret });
	$self->{t}->sql("UPDATE logsvc_internal.export_schedule SET period_start = to_timestamp($export->{hour}), "
		. "next_tick = to_timestamp($export->{hour} + 3600) WHERE logsvc_internal.public_id('exp_', resource_id) = '$export->{id}'; "
		. 'SELECT logsvc_internal.wake_exporters()');
	return;
}

# Opens incidents and streams an export, again and again, while bad things happen.
sub _start_client
{
	my ($self) = @_;
	my $file = $self->{file} = "$self->{dir}/workspace.$self->{round}";

	$self->{client} = fork // die "fork: $!";
	return if $self->{client};
	$SIG{INT} = 'DEFAULT';
	open STDERR, '>', '/dev/null';
	eval { $self->_client($file); 1 } or POSIX::_exit(1);
	POSIX::_exit(0);
}

sub _client
{
	my ($self, $file) = @_;
	my ($stop, $parent, $n) = (0, getppid, 0);
	my $http = HTTP::Tiny->new(timeout => 20);

	local $SIG{TERM} = sub { $stop = 1 };
	open my $out, '>', $file or die;
	while (!$stop && getppid == $parent)
	{
		my $org = $self->{orgs}[ $n % @{ $self->{orgs} } ];
		my $source = "round $self->{round} client $n";
		if ($n++ < $self->{opens})
		{
			$self->_send_surely($org, _incident($source, 1));
			print $out "open\t$org->{slug} $source\n";
		}
		if (@{ $self->{exports} } > 1)
		{
			my $export = $self->{exports}[-2];
			my $r = $http->get($self->{t}->url . '/api/v1/search/export?' . $http->www_form_urlencode({
				q => qq(service=export source="round $export->{round}"), earliest => '-1d', format => 'ndjson' }),
				{ headers => { Authorization => "Bearer $export->{org}{token}" } });
			if ($r->{status} == 200)
			{
				my $found = join "\n", sort { $a cmp $b } _events($r->{content});
				print $out $found eq join("\n", sort map { @$_ } values %{ $export->{expected} })
					? "stream\twhole\n" : "stream\twrong\n";
			}
			else { print $out "stream\tbroken\n"; }
		}
		sleep 1 + rand;
	}
	close $out or die;
	return;
}

sub end
{
	my ($self) = @_;
	kill 'TERM', $self->{client};
	waitpid delete $self->{client}, 0;
	push @{ $self->{wrong} }, "round $self->{round}: the client failed" if $?;
	foreach (split /\n/, slurp_file($self->{file}))
	{
		my ($what, $value) = split /\t/;
		if ($what eq 'open') { $self->{open}{$value} = 1; }
		else { $self->{streams}{$value}++; }
	}
	push @{ $self->{wrong} }, "round $self->{round}: a streamed export is not what was sent" if delete $self->{streams}{wrong};
	return;
}

sub DESTROY { my ($self) = @_; kill 'KILL', $self->{client} if $self->{client}; return; }

# ---- stop points ----

sub points { return sort keys %points; }

# Everything that these workers can do is due at once.
sub provoke
{
	my ($self, $point) = @_;
	my $t = $self->{t};

	if ($point eq 'prober_note')
	{
		# A prober that starts has something to note.
		$t->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'logsvc prober'");
	}
	$t->sql(q{UPDATE logsvc_internal.health SET next_at = now(), begun_at = now() - interval '2 minutes';
		UPDATE logsvc_internal.alert_rule_state SET next_due = now() WHERE next_due > now();
		SELECT logsvc_internal.wake_alert_workers();});
	$self->start_export;
	return;
}

# Holds a worker at a point and gives its pid to the sub, which kills something.
sub at_stop_point
{
	my ($self, $kill) = @_;
	my $t = $self->{t};
	# One that was reached least often.
	my $kills = $self->{kills};
	my ($least) = sort { $a <=> $b } map { $kills->{$_} // 0 } $self->points;
	my @least = grep { ($kills->{$_} // 0) == $least } $self->points;
	my $point = $least[ rand @least ];

	# Shared memory may be new since it was looked for.
	delete $t->{stop_points};
	$t->stop_at($point);
	$self->provoke($point);
	my $pid = $t->wait_held($point, 90);
	$kill->($pid);
	$self->{kills}{$point}++;
	return $point;
}

# ---- the end ----

sub _say { my ($self, $text) = @_; push @{ $self->{wrong} }, $text; return; }

# What was to be told, by its name: { "north incident firing" => number of alerts }.
sub _expected_alerts
{
	my ($self) = @_;
	return { (map { ("$_ firing" => 1) } keys %{ $self->{open} }),
		(map { ("$_ resolved" => 1) } keys %{ $self->{closed} }) };
}

sub _wait_for_alerts
{
	my ($self) = @_;
	my $t = $self->{t};

	$t->sql('UPDATE logsvc_internal.alert_rule_state SET next_due = now() WHERE next_due > now(); SELECT logsvc_internal.wake_alert_workers()');
	$self->_say("absent, and should not: $_") foreach split /\n/, $t->sql('SELECT json_build_object(\'tick\', a.started_at, \'resolved\', a.resolved_at, '
		. '\'search\', a.search, \'value\', a.value) FROM logsvc_internal.alert a WHERE a.rule_name = \'absence\' ORDER BY 1::text');
	my $open = keys %{ $self->{open} };
	my $closed = keys %{ $self->{closed} };
	wait_until(sub { $t->sql('SELECT count(*) || \' \' || count(resolved_at) || \' \' || count(to_notify) FROM logsvc_internal.alert')
		eq "$open $closed 0" }, 120)
		or $self->_say('alerts: ' . $t->sql('SELECT count(*) || \' raised, \' || count(resolved_at) || \' resolved\' FROM logsvc_internal.alert')
			. " of $open and $closed");
	wait_until(sub {
		$t->sql("UPDATE logsvc_internal.delivery SET next_attempt_at = now() WHERE state = 'waiting' AND next_attempt_at > now();"
			. ' SELECT logsvc_internal.wake_notifier()');
		sleep 0.3;
		$t->sql("SELECT count(*) FROM logsvc_internal.delivery WHERE state IN ('waiting', 'sending')") == 0 }, 120)
		or $self->_say('deliveries still wait');
	return;
}

sub _wait_for_exports
{
	my ($self) = @_;
	my $t = $self->{t};
	wait_until(sub {
		$t->sql("UPDATE logsvc_internal.export_run SET next_attempt_at = now() WHERE status IN ('waiting', 'delivering')"
			. ' AND next_attempt_at > now(); SELECT logsvc_internal.wake_exporters()');
		sleep 0.3;
		$t->sql('SELECT count(*) FROM logsvc_internal.export_run WHERE finished_at IS NULL') == 0 }, 180)
		or $self->_say('exports still run');
	return;
}

sub _check_export
{
	my ($self, $export) = @_;
	my $t = $self->{t};
	my $which = "export of round $export->{round}";
	my $r = $t->http(GET => "/api/v1/scheduled-exports/$export->{id}/runs?limit=100", token => $export->{org}{token});
	my @runs = sort { $a->{scheduledFor} cmp $b->{scheduledFor} } @{ $r->{json}{data} // [] };
	my $at = $export->{hour};

	$self->_say("$which: " . @runs . ' runs') if @runs < 3;
	foreach my $n (0 .. $#runs)
	{
		my $run = $runs[$n];
		my $time = sub { POSIX::strftime('%Y-%m-%dT%H:%M:%S.000Z', gmtime $_[0]) };
		my $expected = join "\n", @{ $export->{expected}{$n} // [] };
		my $file = $t->http(GET => "/api/v1/exports/$run->{id}/download", token => $export->{org}{token});
		my $found = $file->{status} == 200 ? join "\n", sort { $a cmp $b } _events($file->{content})
			: "$file->{status} $file->{content}";
		my $audited = $t->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = 'export.created' AND resource = '$run->{id}'");

		$self->_say("$which, run $n: $run->{status} " . json_encode($run->{error})) if $run->{status} ne 'succeeded';
		$self->_say("$which, run $n: from $run->{range}{earliest} to $run->{range}{latest}")
			if $run->{range}{earliest} ne $time->($at)
			|| $run->{range}{latest} ne $time->($at + 3600);
		$self->_say("$which, run $n: its file is not what was sent: " . length($found) . ' bytes of ' . length $expected)
			if $found ne $expected;
		$self->_say("$which, run $n: $audited times in the audit log") if $audited != 1;
		$self->{told}{ $run->{id} } = 1;
		$at += 3600;
	}
	$self->{runs} += @runs;
	return;
}

# What the receiver got against what it should have got.
sub _check_webhooks
{
	my ($self) = @_;
	my (%bodies, %ids, %first, %known, $requests);

	foreach my $r (@{ $self->{receiver}->requests })
	{
		my $id = $r->{headers}{'x-logsvc-delivery'} // 'none';
		my $body = json_decode($r->{body});
		my ($at, $v1) = ($r->{headers}{'x-logsvc-signature'} // '') =~ /^t=(\d+),v1=([0-9a-f]{64})$/;
		my ($org) = $r->{path} =~ m{^/(\w+)$};
		my ($of) = grep { $_->{slug} eq $org } @{ $self->{orgs} };
		my $what = $body->{type} =~ /^alert\.(.*)/
			? "$org " . ($body->{alert}{groupKey}{source} // $body->{rule}{name}) . " $1" : "$body->{type} $body->{run}{id}";

		$requests++;
		$self->_say("a request for $what that is not signed") unless $v1 && abs($at - $r->{at}) < 300
			&& $v1 eq hmac_sha256_hex("$at.$r->{body}", $secret);
		$self->_say("a request for $what in $body->{organizationId}") if $body->{organizationId} ne $of->{id};
		$bodies{$id}{ $r->{body} } = 1;
		# That a rule could not be evaluated, and then could: how often depends on the faults.
		next if $body->{type} =~ /^alert\.(error|recovered)$/;
		$ids{$what}{$id} = 1;
		$first{$what} //= $r->{at};
	}
	my $alerts = $self->_expected_alerts;
	my %expected = (%$alerts, map { ("export.finished $_" => 1) } keys %{ $self->{told} // {} });
	$self->_say(keys(%{ $bodies{$_} }) . " bodies of delivery $_") foreach grep { keys %{ $bodies{$_} } != 1 } sort keys %bodies;
	$self->_say("$_ was not told") foreach grep { !$ids{$_} } sort keys %expected;
	$self->_say("$_ was told, and should not") foreach grep { !$expected{$_} } sort keys %ids;
	$self->_say("$_ was told by " . keys(%{ $ids{$_} }) . ' deliveries') foreach grep { keys %{ $ids{$_} } != 1 } sort keys %ids;
	foreach my $name (sort keys %{ $self->{closed} })
	{
		$self->_say("$name: resolved before it fired") if ($first{"$name firing"} // 0) > ($first{"$name resolved"} // 9e99);
	}
	$self->{requests} = $requests;
	$self->{deliveries} = keys %bodies;
	return;
}

sub _check_health
{
	my ($self) = @_;
	my $t = $self->{t};
	foreach my $org (@{ $self->{orgs} })
	{
		my $beats = $self->{beats}{ $org->{slug} };
		my $value;
		$t->sql("UPDATE logsvc_internal.health SET next_at = now(), begun_at = now() - interval '2 minutes'");
		wait_until(sub { $value = $t->http(GET => "/api/v1/kpis/$org->{kpi}", token => $org->{token})->{json}{data}{current}{value};
			defined $value && $value == $beats }, 90)
			or $self->_say("KPI of $org->{slug}: " . ($value // 'none') . " of $beats");
		# Values of a KPI that only grows.
		$self->_say("KPI of $org->{slug}: its history falls") if $t->sql("SELECT count(*) FROM (SELECT value < lag(value) OVER (ORDER BY at) AS falls"
			. " FROM logsvc_internal.health_point WHERE logsvc_internal.public_id('kpi_', resource_id) = '$org->{kpi}') AS p WHERE falls") != 0;
	}
	wait_until(sub { $t->sql("SELECT failed = '{}' AND measured FROM logsvc_internal.status_minute ORDER BY minute DESC LIMIT 1") eq 't' }, 130)
		or $self->_say('the probe does not find the service well: ' . $t->sql('SELECT failed FROM logsvc_internal.status_minute ORDER BY minute DESC LIMIT 1'));
	return;
}

# What is wrong; nothing bad happens any more.
sub check
{
	my ($self) = @_;

	$self->_wait_for_exports;
	$self->_check_export($_) foreach grep { $_->{id} } @{ $self->{exports} };
	$self->_wait_for_alerts;
	$self->_check_webhooks;
	$self->_check_health;
	$self->_say('no export was streamed to its end') if @{ $self->{exports} } > 3 && !$self->{streams}{whole};
	return @{ $self->{wrong} };
}

sub figures
{
	my ($self) = @_;
	return sprintf 'alerts %d, resolved %d, deliveries %d in %d requests, runs of exports %d, streamed exports %d (%d broken off), '
		. 'kills at stop points: %s', scalar keys %{ $self->{open} }, scalar keys %{ $self->{closed} }, $self->{deliveries} // 0,
		$self->{requests} // 0, $self->{runs} // 0, @{ $self->{streams} }{qw(whole broken)},
		join(', ', map { "$_ $self->{kills}{$_}" } sort keys %{ $self->{kills} });
}

1;
