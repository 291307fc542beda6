# reading_failures.pl: what goes wrong while events are read, on each route that reads
# them: a client that hangs up, a worker that ends, another organization.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

# However the server commits by itself: an event that got a 202 is on the disk.
my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '50ms'", 'logsvc.executors = 3',
	'logsvc.compactors = 0',
	'restart_after_crash = on', 'synchronous_commit = off', 'wal_writer_delay = 10s');
my $org = $t->organization('acme');
my $other = $t->organization('globex');

my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ map { { event => "private line $_", source => 'web',
		attributes => { host => "private$_", status => $_ } } } 1 .. 5 ]);
my $id = $r->{json}{data}{ids}[2];
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0 }),
	'events are stored');
my $template = $t->http(GET => '/api/v1/templates', token => $org->{token})->{json}{data}[0]{id};

# Name, method, path, options; what another organization is answered.
my @routes = (
	[ 'search', GET => '/api/v1/search?q=private', {}, 200 ],
	[ 'search and what is beside it', POST => '/api/v1/search',
		{ json => { include => [ 'histogram', 'fields' ] } }, 200 ],
	[ 'logs', GET => '/api/v1/logs?source=web', {}, 200 ],
	[ 'an event', GET => "/api/v1/logs/$id", {}, 404 ],
	[ 'its neighbours', GET => "/api/v1/logs/$id/context", {}, 404 ],
	[ 'fields', GET => '/api/v1/search/fields', {}, 200 ],
	[ 'values', GET => '/api/v1/search/fields/host/values', {}, 200 ],
	[ 'templates', GET => '/api/v1/templates', {}, 200 ],
	[ 'a template', GET => "/api/v1/templates/$template", {}, 404 ],
	[ 'validate', POST => '/api/v1/search/validate', { json => { q => 'host=x statu=1' } }, 200 ],
	[ 'a deletion', DELETE => '/api/v1/logs',
		{ json => { q => 'index=main earliest=-1h host=private9', reason => 'x' } }, 202 ]);

sub ask { my ($route, $of) = @_; return $t->http(@{$route}[ 1, 2 ], token => ($of // $org)->{token},
	%{ $route->[3] }); }
sub begin_route { my ($route, $of) = @_; return begin_request($t, @{$route}[ 1, 2 ],
	token => ($of // $org)->{token}, %{ $route->[3] }); }

# Pids of executors that wait for a lock.
sub waiting
{
	return split /\n/, $t->sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'logsvc }
		. q{executor' AND wait_event_type = 'Lock'});
}

# ---- another organization ----

foreach my $route (@routes)
{
	my ($name, $expected) = @{$route}[ 0, 4 ];
	$r = ask($route, $other);
	is($r->{status}, $expected, "$name: another organization") or diag $r->{content};
	unlike($r->{content}, qr/private|did you mean/, '... sees nothing of it');
}
# Its name is not told, and nothing was there to delete.
$t->sql('DELETE FROM logsvc_internal.deletion');

# ---- hanging up, ending ----

my $session = $t->node->background_psql('postgres');
$session->query_safe('BEGIN; LOCK TABLE logsvc_internal.part IN ACCESS EXCLUSIVE MODE');
foreach my $route (@routes)
{
	my $name = $route->[0];
	my $request = begin_route($route);
	ok(wait_until(sub { waiting() == 1 }), "$name: reads");
	close $request->{socket};
	ok(wait_until(sub { waiting() == 0 }), '... and stops when the client hangs up');

	$request = begin_route($route);
	my @pid;
	ok(wait_until(sub { (@pid = waiting()) == 1 }), '... reads again');
	$t->sql("SELECT pg_terminate_backend($pid[0], 5000)");
	$r = end_request($request);
	is($r->{status} . ' ' . ($r->{json}{code} // ''), '503 SERVICE_UNAVAILABLE',
		'... a worker that ends says so');
}
is($t->sql('SELECT count(*) FROM logsvc_internal.deletion'), 0, 'no deletion was begun');

# In SQL it is a statement like others.
foreach my $statement ('SELECT count(*) FROM logsvc.logs', q{SELECT logsvc.search('private')},
	q{SELECT count(*) FROM logsvc.events('private')})
{
	is(($t->sql_error("SELECT logsvc.use_token('$org->{token}'); SET statement_timeout = '200ms'; "
		. "$statement"))[1],
		'57014', "$statement is cancelled");
}
$session->query_safe('ROLLBACK');
$session->quit;
foreach my $route (@routes)
{
	$r = ask($route);
	is($r->{status}, $route->[0] eq 'a deletion' ? 202 : 200, "$route->[0]: works afterwards")
		or diag $r->{content};
}
is($t->sql("SELECT logsvc.use_token('$org->{token}'); SELECT count(*) FROM logsvc.logs") =~ /^5$/m,
	1, 'and so does the view');

# ---- killed ----

# By the out-of-memory killer, among others: the server recovers by itself, with what
# it had accepted.  The stored parts are locked, so new events wait in the queue.
my $sent = 5;
sub post
{
	my $r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
		json => { event => 'private line ' . ++$sent, source => 'web' });
	is($r->{status}, 202, '... an event comes in');
	return;
}
my @tail = ('a tail', GET => '/api/v1/logs/tail?q=private', {});
foreach my $route ((grep { $_->[0] =~ /^(?:search|an event|its neighbours|fields)$/ } @routes),
	\@tail)
{
	my $name = $route->[0];
	$session = $t->node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe('BEGIN; LOCK TABLE logsvc_internal.part IN ACCESS EXCLUSIVE MODE');
	my $request = begin_route($route);
	my @pid;
	ok(wait_until(sub { (@pid = waiting()) == 1 }), "$name: reads");
	# Of another organization: one alone has one for what may be slow, and one is for what is not.
	my $beside = begin_route($routes[1], $other);
	ok(wait_until(sub { waiting() == 2 }), '... and so does another executor');
	post();
	kill_process($pid[0]);
	foreach my $one ($request, $beside)
	{
		$r = end_request($one);
		# A tail has begun its answer.
		like(($one->{done} ? 'closed ' : 'open ') . $r->{status}, $one == $request
			&& $route == \@tail ? qr/^closed 200$/ : qr/^closed (?:0|503)$/,
			'... whose client gets 503, or its connection is closed') or diag $r->{content};
	}
	ok(wait_until(sub { !kill(0, $pid[0]) && $t->sql('SELECT 1') }), '... the server recovers');
	eval { $session->quit };
	$t->wait_ready;
	$request = $route == \@tail ? begin_route($route) : undef;
	is(ask($route)->{status}, 200, '... the next one is answered') unless $request;
	# A tail shows what comes in after its first look.
	ok(wait_until(sub { answered($request); $request->{data} =~ /waiting for events/ }),
		'... the next one begins') or diag $request->{data} if $request;
	post();
	ok(wait_until(sub { answered($request); $request->{data} =~ /"private line $sent"/ }),
		'... the next one goes on') or diag $request->{data} if $request;
	$r = $t->http(POST => '/api/v1/search', token => $org->{token},
		json => { q => '"private line" | stats count, dc(event)' });
	is_deeply($r->{json}{data}{rows}, [ [ $sent, $sent ] ], '... and finds all events, each once')
		or diag $r->{content};
}
ok(wait_until(sub { $t->sql('SELECT count(*) FROM logsvc_internal.queue') == 0
	&& $t->sql('SELECT logsvc_internal.queue_depth()') == 0 }), 'all are stored');
is($t->sql("SELECT logsvc.use_token('$org->{token}'); SELECT count(*) FROM logsvc.logs")
	=~ /^$sent$/m, 1, 'once');

unlike($t->log_text, qr/PANIC|TRAP/, 'no PANIC');
$t->stop;
done_testing;
