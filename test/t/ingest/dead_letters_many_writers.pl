# dead_letters_many_writers.pl: dead letters with four writers and many organizations:
# a store that is away, a disk that is full for longer than logsvc.store_timeout, and
# replays, which are whole or not at all.
use strict;
use warnings;

use LogsvcTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '50ms'", 'logsvc.writers = 4',
	'logsvc.executors = 2',
	'logsvc.compactors = 0');
my @orgs = map { $t->organization("org$_") } 1 .. 8;
my $disk = $ENV{SMALL_DISK};    # test/run: small file systems, when it may mount them
my $sent = 0;

sub post_all
{
	my ($text) = @_;
	foreach my $org (@orgs)
	{
		my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
			json => [ map { "$text $_" } 1 .. 50 ]);
		is($r->{status}, 202, "$text: accepted") or return;
		$sent += 50;
	}
	return;
}

sub queued { return $t->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue'); }
sub depth { return $t->sql('SELECT logsvc_internal.queue_depth()'); }
sub stored { return $t->sql(q{SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE }
	. q{index_name <> '_audit'}); }
sub dead { my ($where) = @_; return $t->sql("SELECT coalesce(sum(rows), 0) FROM "
	. "logsvc_internal.dead_letter WHERE $where"); }

sub all_stored
{
	my ($name) = @_;
	ok(wait_until(sub { queued() == 0 && depth() == 0 && stored() == $sent }),
		"$name: each event is stored once")
	  or diag 'sent ' . $sent . ', stored ' . stored() . ', queued ' . queued()
	  . ', depth ' . depth();
	is(dead(q{status IN ('dead', 'replaying')}), 0, "$name: no dead letters are left");
	return;
}

post_all('before');
all_stored('before');

# ---- the table is not there ----

{
	my $from = $t->log_position;
	$t->sql('ALTER TABLE logsvc_internal.part RENAME TO away');
	post_all('table away');
	my @failed;
	ok(wait_until(sub { @failed = $t->log_text($from) =~ /could not write events to its store/g;
		@failed >= 2 }),
		'writers fail');
	is(queued(), 8 * 50, 'all wait in the queue');
	$t->sql('ALTER TABLE logsvc_internal.away RENAME TO part');
	all_stored('the table is back');
}

# ---- a full disk, for longer than logsvc.store_timeout ----

SKIP:
{
	skip 'no small file system: root may mount one', 1 unless $disk;
	my $from = $t->log_position;
	$t->sql("CREATE TABLESPACE small LOCATION '" . $t->small_disk('letters') . "'");
	$t->sql("ALTER TABLE $_ SET TABLESPACE small")
	  foreach split /\n/, $t->sql(q{SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = }
	  . q{'logsvc_internal.part'::regclass});
	open my $filler, '>', "$disk/letters/filler" or die;
	foreach my $size (1 << 20, 4096) { 1 while syswrite $filler, "\0" x $size; }
	close $filler;

	$t->set('logsvc.store_timeout', '1s');
	# More than what fits into pages that have room.
	foreach my $n (1 .. 5)
	{
		foreach my $org (@orgs)
		{
			my $text = join '', map { chr(97 + rand 26) } 1 .. 20000;
			my $r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
				json => { event => "full $n $text" });
			$sent++ if $r->{status} == 202;
			fail("full: $r->{status}") if $r->{status} != 202 && $r->{status} != 503;
		}
	}
	ok(wait_until(sub { dead(q{status = 'dead' AND reason = 'store_unavailable' AND sqlstate = }
		. q{'53100'}) > 0 && queued() == 0 }),
		'a full disk: events move to the dead letters')
			or diag $t->sql('SELECT reason, sqlstate, count(*) FROM logsvc.dead_letters '
				. 'GROUP BY 1, 2');
	is(depth(), 0, 'the depth is 0');
	my $r = $t->http(POST => '/api/v1/logs', token => $orgs[0]{ingest_key},
		json => { event => 'x' });
	is("$r->{status} $r->{json}{code}", '503 STORE_UNAVAILABLE', 'new ones are refused');
	like($t->log_text($from), qr/could not extend file/, 'the log says why');
	unlink "$disk/letters/filler" or die;
	all_stored('there is room again');
	$t->set('logsvc.store_timeout', '5min');
	ok(wait_until(sub { $t->http(POST => '/api/v1/logs', token => $orgs[0]{ingest_key},
		json => { event => 'x' })->{status} == 202 }),
		'and events are accepted');
	$sent++;
	all_stored('afterwards');
}

# ---- a replay is whole or not at all ----

{
	$t->sql(q{ALTER TABLE logsvc_internal.part ADD CONSTRAINT refused
		CHECK (organization_id = '00000000-0000-0000-0000-000000000000' OR index_name = '_audit') NOT VALID});
	post_all('refused');
	ok(wait_until(sub { dead(q{status = 'dead' AND reason = 'rejected'}) == 8 * 50
		&& depth() == 0 }),
		'what the store does not take are dead letters') or diag dead('true');
	$t->sql(q{ALTER TABLE logsvc_internal.part DROP CONSTRAINT refused});

	# The queue takes all but those of one organization: so none go.
	my $org = $orgs[3];
	my $id = $t->sql("SELECT id FROM logsvc_internal.organization WHERE slug = '$org->{slug}'");
	my $letters = $t->sql(q{SELECT count(*) FROM logsvc_internal.dead_letter WHERE }
		. q{status = 'dead'});
	$t->sql("ALTER TABLE logsvc_internal.queue ADD CONSTRAINT not_him CHECK (organization_id <> "
		. "'$id' OR audit) NOT VALID");
	foreach (@orgs)
	{
		my $r = $t->http(POST => '/api/v1/dead-letters/replay', token => $_->{token},
			json => { filter => {} });
		is($r->{status}, 202, 'a replay is asked for');
	}
	sleep 1.5;    # replays are tried, in vain
	my $done = dead(q{status = 'replayed' AND reason = 'rejected'});
	my $marked = dead(q{status = 'replaying'});
	is($done + $marked, 8 * 50, 'all of them are replayed or wait');
	is($t->sql(q{SELECT count(*) FROM logsvc_internal.dead_letter WHERE status = 'replaying' AND }
		. q{header IS NULL}), 0, 'with their events');
	is(stored() + queued(), $sent - $marked, 'and none is in two places');
	my $r = $t->http(POST => '/api/v1/dead-letters/replay', token => $org->{token},
		json => { filter => {} });
	is("$r->{status} $r->{json}{code}", '409 REPLAY_IN_PROGRESS', 'one replay at a time');
	$t->sql('ALTER TABLE logsvc_internal.queue DROP CONSTRAINT not_him');
	all_stored('replayed');
	is($t->sql(q{SELECT count(*) FROM logsvc_internal.dead_letter WHERE status = 'replayed' AND }
		. q{reason = 'rejected'}), $letters,
		'all are closed');
}

unlike($t->log_text, qr/PANIC|TRAP/, 'no PANIC');
$t->stop;
done_testing;
