# LogsvcTest: a temporary server with logsvc running in it, for TAP tests.
#
#	use LogsvcTest;
#	use Test::More;
#
#	my $t = LogsvcTest->new;                # started, /readyz answers 200
#	my $org = $t->organization('acme');     # with owner, token and keys
#	my $r = $t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
#		json => { event => 'hello' });
#	is($r->{status}, 202);
#	$t->stop;                               # checks the shutdown and the log
#	done_testing;
#
# Options of new, all optional:
#	name       of the node (one test may run several)
#	conf       lines for postgresql.conf
#	initdb     more arguments of initdb, a list reference
#	install_path  of another server than that of PG_CONFIG
#	streaming  true: may be the primary of a standby
#	start      false: initialized only; call start, create_extension, wait_ready
#	extension  false: started without CREATE EXTENSION
#	ready      false: does not wait for the HTTP port
#	limits     true: with the rate limits of events, searches and queries that users
#	           get; without it they are far above what a test does
package LogsvcTest;

use strict;
use warnings;

use Exporter 'import';
use File::Path qw(remove_tree);
use HTTP::Tiny;
use IO::Socket::INET;
use JSON::PP (); # its true and false, too
use JSON::XS ();
use LogsvcConnection;
use LogsvcOpenapi;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

require LogsvcCitus if $ENV{TEST_DISTRIBUTED};

our @EXPORT = qw(wait_until stays kill_process json_encode json_decode);

# An interrupted test stops its servers too.
$SIG{$_} = sub { die "interrupted\n" } foreach qw(INT TERM HUP);

# JSON::PP takes a hundred times as long to read.  It writes, because JSON::XS writes whole numbers
# that are kept as floating point with 15 digits.
my $characters = JSON::XS->new->canonical->allow_nonref;
my $bytes = JSON::XS->new->canonical->allow_nonref->utf8;
my $writer = JSON::PP->new->canonical->allow_nonref->utf8;
my @all;

sub json_encode { return $writer->encode($_[0]); }
sub json_decode { return $bytes->decode($_[0]); }

# Connections of `sql`, by server, database and user, while these are kept.
our $kept;

# Calls the sub until it returns true; returns that, or undef after a minute, or the timeout of a
# test that needs longer.  What it asks with `sql` goes over one connection: a new one each time
# would keep a processor busy.
sub wait_until
{
	my ($condition, $timeout) = @_;
	my $end = time + ($timeout // 60);
	local $kept = $kept // {};

	while (1)
	{
		my $result = eval { $condition->() };
		return $result if $result;
		return undef if time > $end;
		sleep 0.02;
	}
}

# Does the sub return true all the time for so many seconds?  For what must not happen: a wait
# that only ends when its time is over, so keep it short.
sub stays
{
	my ($condition, $seconds) = @_;
	my $end = time + $seconds;
	local $kept = $kept // {};

	while (1)
	{
		return 0 unless $condition->();
		return 1 if time > $end;
		sleep 0.05;
	}
}

# Kills processes of a server and waits until the postmaster has seen it: until then sessions begin
# as if nothing had happened.
sub kill_process
{
	my @pids = @_;
	kill 'KILL', @pids;
	wait_until(sub { !grep { kill 0, $_ } @pids }) or die "@pids cannot be killed\n";
	return;
}

sub new
{
	my ($class, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($opt{name} // 'main',
		$opt{install_path} ? (install_path => $opt{install_path}) : ());
	my $self = bless {
		node => $node,
		http_port => PostgreSQL::Test::Cluster::get_free_port(),
		database => 'postgres',
		clients => {},
		limits => $opt{limits},
	}, $class;
	push @all, $self;

	my $start = !exists $opt{start} || $opt{start};
	my $extension = $start && (!exists $opt{extension} || $opt{extension});
	# What run-staged has made is copied, which takes a tenth of the time.
	my $made = $opt{initdb} ? undef : $ENV{TEST_CLUSTER};
	my $made_extension = $made && $extension && !$opt{limits};
	$made .= '.logsvc' if $made_extension;
	{
		my $run = \&PostgreSQL::Test::Utils::system_or_bail;
		no warnings 'redefine';
		local *PostgreSQL::Test::Utils::system_or_bail = !$made ? $run : sub {
			return $run->($_[0] eq 'initdb' ? ('cp', '-r', $made, $node->data_dir) : @_);
		};
		$node->init(
			allows_streaming => $opt{streaming} ? 1 : 0,
			extra => [ '--locale=' . ($ENV{TEST_LOCALE} || 'C'), '-E', 'UTF8', @{ $opt{initdb} // [] } ]);
	}
	$node->append_conf('postgresql.conf', join "\n",
		$ENV{TEST_CONF} // "shared_preload_libraries = 'logsvc'",
		"logsvc.database = '$self->{database}'",
		"logsvc.listen_addresses = '127.0.0.1'",
		"logsvc.port = $self->{http_port}",
		'max_worker_processes = 40',
		# Its events and searches would be among those that tests count.
		'logsvc.status_probe = off',
		'max_connections = 50',
		# Over tables that Citus distributes: make check-tap DISTRIBUTED=1
		$ENV{TEST_DISTRIBUTED} ? LogsvcCitus->conf : (),
		$opt{conf} // '', '');
	return $self unless $start;

	$self->start;
	$self->create_extension if $extension && !$made_extension;
	LogsvcCitus->distribute($self) if $extension && $ENV{TEST_DISTRIBUTED};
	$self->wait_ready if $extension && (!exists $opt{ready} || $opt{ready});
	return $self;
}

sub node { return $_[0]->{node}; }
sub http_port { return $_[0]->{http_port}; }
sub url { return "http://127.0.0.1:$_[0]->{http_port}"; }

# ---- the server ----

sub start { my $self = shift; $self->{node}->start; $self->{running} = 1; return; }

sub restart
{
	my ($self, $mode) = @_;
	$self->stop($mode);
	$self->start;
	$self->wait_ready;
	return;
}

# Stops; a stop that takes longer than pg_ctl waits (60 s) fails the test.
sub stop
{
	my ($self, $mode) = @_;
	return unless $self->{running};
	$self->{clients} = {};
	$self->{running} = 0;
	$self->{node}->stop($mode // 'fast');
	return;
}

# Kills the postmaster as the power does: nothing is written, children die of it.
sub crash
{
	my $self = shift;
	my $postmaster = $self->{node}{_pid};
	my @children = split ' ', `ps -o pid= --ppid $postmaster`;

	$self->{clients} = {};
	$self->{running} = 0;
	$self->{node}->kill9;
	# Children that have not yet noticed hold the port and the shared memory; dead ones
	# that nobody has reaped hold nothing.  But until the postmaster is reaped, its
	# number is taken for a running one.
	my $outlive = sub { return grep { `ps -o stat= -p $_` =~ /^[^Z]/ } @children };
	wait_until(sub { !(kill 0, $postmaster) && !$outlive->() })
	  or die "alive after the postmaster:\n" . join '',
	  map { `ps -o pid=,stat=,wchan=,args= -p $_` } $postmaster, $outlive->();
	return;
}

sub reload { my $self = shift; $self->{node}->reload; return; }

# Sets a setting for good and reloads.
sub set
{
	my ($self, $name, $value) = @_;
	$value =~ s/'/''/g;
	$self->sql("ALTER SYSTEM SET $name = '$value'");
	$self->reload;
	wait_until(sub { $self->sql("SELECT current_setting('$name')") eq $value });
	return;
}

sub create_extension
{
	my $self = shift;
	$self->sql($self->{limits} ? 'CREATE EXTENSION logsvc' : slurp_file('test/lib/cluster.sql'));
	return;
}

sub wait_ready
{
	my ($self, $timeout) = @_;
	my $answer;
	return if wait_until(sub {
		# After a crash the gateway of before may still answer; sessions begin when it is gone.
		$self->sql('SELECT true');
		$answer = $self->http(GET => '/readyz', timeout => 5);
		$answer->{status} == 200;
	}, $timeout);
	die 'logsvc did not become ready: ',
	  $answer ? "$answer->{status} $answer->{content}" : 'no session', "\n";
}

# Waits for the partitions of the next days, which a writer makes when it starts: for those who look
# at the catalogs twice.
sub wait_partitions
{
	my $self = shift;
	wait_until(sub { $self->sql("SELECT to_regclass('logsvc_internal.part_' || to_char((now() AT TIME "
		. "ZONE 'UTC')::date + 2, 'YYYYMMDD')) IS NOT NULL") eq 't' }) or die "no partitions\n";
	return;
}

# What the server has logged since $from (a value of log_position).
sub log_text
{
	my ($self, $from) = @_;
	return substr(slurp_file($self->{node}->logfile), $from // 0);
}

sub log_position { return -s $_[0]->{node}->logfile; }

# ---- SQL ----

# One statement in a session of its own: what LogsvcConnection::query returns.  Nothing when psql
# has to run it: commands of psql, COPY, and several statements, each in its own transaction.
sub _query
{
	my ($self, $query, %opt) = @_;
	return if $query =~ /;(?!\s*\z)|\\|\bCOPY\b/i;

	my $node = $self->{node};
	my %to = (host => $node->host, port => $node->port,
		database => $opt{database} // $self->{database},
		user => $opt{user} // scalar getpwuid($>));
	my $key = join "\0", @to{qw(host port database user)};
	my $connection = $kept && $kept->{$key};
	my $r = $connection && $connection->query($query);
	if (!$r || $connection->{lost} && !$r->{error}{state})
	{
		$connection = LogsvcConnection->new(%to)
			or return { error => { text => $LogsvcConnection::error } };
		$r = $connection->query($query);
	}
	if ($kept) { $kept->{$key} = $connection->{lost} ? undef : $connection; }
	chomp $r->{rows} if defined $r->{rows};
	return $r;
}

# Runs SQL as superuser; dies on an error.  Named: database, user.
sub sql
{
	my ($self, $query, %opt) = @_;
	if (my $r = $self->_query($query, %opt))
	{
		die "error running SQL: '$r->{error}{text}'\nwith sql '$query'\n" if $r->{error};
		return $r->{rows};
	}
	my @connstr = $opt{user} ? (extra_params => [ '-U', $opt{user} ]) : ();
	return $self->{node}->safe_psql($opt{database} // $self->{database}, $query, @connstr);
}

# Runs SQL that may fail: (output, SQLSTATE or '', message).
sub sql_error
{
	my ($self, $query, %opt) = @_;
	my ($stdout, $stderr);
	if (my $r = $self->_query($query, %opt))
	{
		my $e = $r->{error} or return ($r->{rows}, '', $r->{notices});
		return ($r->{rows} // '', $e->{state} // '', ($e->{message} // $e->{text}) =~ s/\n.*//sr);
	}
	my @connstr = $opt{user} ? (extra_params => [ '-U', $opt{user} ]) : ();
	$self->{node}->psql($opt{database} // $self->{database},
		"\\set VERBOSITY verbose\n$query", stdout => \$stdout, stderr => \$stderr,
		on_error_stop => 1, @connstr);
	my ($state, $message) = $stderr =~ /(?:ERROR|FATAL):\s+(\w{5}): (.*)/;
	return ($stdout, $state // '', $message // $stderr);
}

# The value of a query that returns one jsonb.
sub sql_json
{
	my ($self, $query, %opt) = @_;
	my $text = $self->sql($query, %opt);
	utf8::decode($text);
	return $characters->decode($text);
}

# Pids of logsvc's workers whose backend_type matches.
sub workers
{
	my ($self, $pattern) = @_;
	return split /\n/, $self->sql(
		"SELECT pid FROM pg_stat_activity WHERE backend_type ~ '" . ($pattern // '^logsvc') . "'");
}

# An organization with an owner, a token of all scopes and one key of each scope:
# { id, slug, email, token, token_id, ingest_key, read_key, full_key }.
# Options: plan, role (of the user), scopes (a list reference).
sub organization
{
	my ($self, $name, %opt) = @_;
	my $plan = $opt{plan} // 'enterprise';
	my $role = $opt{role} // 'owner';
	my $email = $opt{email} // lc("$name\@example.org");
	local $kept = $kept // {};
	my $scopes = join ',', map { "'$_'" } @{ $opt{scopes} // [ $self->scopes ] };
	my $org = $self->sql_json("SELECT logsvc.create_organization('$name', '$plan')");
	my $slug = $org->{slug};

	$self->sql("SELECT logsvc.create_user('$email', '$name user')");
	if ($role ne 'owner')
	{
		$self->sql("SELECT logsvc.create_user('owner-$email', 'owner');"
			  . "SELECT logsvc.add_member('$slug', 'owner-$email', 'owner')");
	}
	$self->sql("SELECT logsvc.add_member('$slug', '$email', '$role')");
	my $token = $self->sql_json(
		"SELECT logsvc.create_token('$slug', '$email', 'test', ARRAY[$scopes]::text[])");
	my %keys;
	foreach my $scope (qw(ingest-only read-only full-access))
	{
		my ($short) = $scope =~ /^(\w+)/;
		$keys{"${short}_key"} =
		  $self->sql_json("SELECT logsvc.create_api_key('$slug', '$short', '$scope')")->{key};
	}
	return { id => $org->{id}, slug => $slug, email => $email, token => $token->{token},
		token_id => $token->{id}, %keys };
}

# A session of a user, as signing in would begin it: its cookie.
sub session
{
	my ($self, $email) = @_;
	my $cookie = join '', map { ('a' .. 'z', 'A' .. 'Z', 0 .. 9)[ rand 62 ] } 1 .. 43;
	$self->sql("INSERT INTO logsvc_internal.user_session (user_id, token_hash, expires_at)"
		  . " SELECT id, sha256('$cookie'), now() + interval '7 days'"
		  . " FROM logsvc_internal.user_account WHERE email = '$email'");
	return $cookie;
}

# The headers with which a front end sends a session.
sub session_headers
{
	my ($self, $cookie, $organization) = @_;
	return (Cookie => "logsvc_session=$cookie", Origin => 'http://localhost:' . $self->http_port,
		defined $organization ? ('X-Organization-Id' => $organization) : ());
}

# An empty directory for a tablespace on a small file system: store and queue are those of
# soak.pl, letters that of dead_letters_many_writers.pl.  Only where $ENV{SMALL_DISK} is set
# (test/run).
sub small_disk
{
	my ($self, $name) = @_;
	my $disk = "$ENV{SMALL_DISK}/$name";
	remove_tree($disk, { keep_root => 1 });
	mkdir "$disk/data" or die "mkdir $disk/data: $!";
	return "$disk/data";
}

# Every scope that a token can have.
sub scopes
{
	return qw(evaluations:run logs:read logs:write logs:export dashboards:read dashboards:write
	  alerts:read alerts:write pipelines:read pipelines:write members:read members:write
	  keys:write org:write audit:read);
}

# ---- HTTP ----

# One request on a kept connection: { status, headers, content, json }.
# Options: token (Authorization: Bearer), session (a cookie) and organization
# (X-Organization-Id), headers, json (encoded, with content type) or body, query
# (hash), timeout, client (a name: another connection), undescribed (true: the answer is not
# compared with the API description, because the test has changed what answers).
sub http
{
	my ($self, $method, $path, %opt) = @_;
	my %headers = %{ $opt{headers} // {} };
	my $timeout = $opt{timeout} // 60;
	my $client = $self->{clients}{ ($opt{client} // '') . "/$timeout" } //=
	  HTTP::Tiny->new(timeout => $timeout, max_redirect => 0, keep_alive => 1);
	my %request;

	$headers{Authorization} = "Bearer $opt{token}" if defined $opt{token};
	%headers = ($self->session_headers(@opt{qw(session organization)}), %headers)
	  if defined $opt{session};
	if (exists $opt{json})
	{
		$headers{'Content-Type'} //= 'application/json';
		$request{content} = json_encode($opt{json});
	}
	elsif (defined $opt{body})
	{
		$headers{'Content-Type'} //= 'application/json';
		$request{content} = $opt{body};
	}
	if ($opt{query})
	{
		$path .= '?' . $client->www_form_urlencode($opt{query});
	}
	my $r = $client->request($method, $self->url . $path, { headers => \%headers, %request });
	$r->{json} = eval { json_decode($r->{content}) }
	  if ($r->{headers}{'content-type'} // '') =~ m{^application/json};
	_compare_with_description($method, $path, $r) unless $opt{undescribed};
	return $r;
}

# What answers differ in from the API description; the END block fails the test for it.
my $description;
my %undescribed;

sub _compare_with_description
{
	my ($method, $path, $r) = @_;
	my $type = $r->{headers}{'content-type'};

	# 599: HTTP::Tiny got no answer.
	return if !$ENV{TEST_OPENAPI} || $r->{status} == 599 || $r->{headers}{'content-encoding'};
	$description //= LogsvcOpenapi->from_store($ENV{TEST_OPENAPI});
	$undescribed{$_ =~ s/\[\d+\]/[]/gr}++
	  foreach $description->check_answer($method, $path, $r->{status}, $type, $r->{json});
	return;
}

# Bytes as they are on a connection of their own; returns all that comes back
# until the server closes or $timeout seconds pass without a byte.
sub raw
{
	my ($self, $bytes, $timeout) = @_;
	my $socket = $self->connect or die "cannot connect: $!";
	my $answer = '';

	$socket->print($bytes);
	$socket->flush;
	while (1)
	{
		my $bits = '';
		vec($bits, fileno($socket), 1) = 1;
		last unless select($bits, undef, undef, $timeout // 2);
		my $n = sysread($socket, $answer, 65536, length $answer);
		last unless $n;
	}
	return $answer;
}

sub connect
{
	my $self = shift;
	return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{http_port},
		Proto => 'tcp');
}

# ---- stop points (debug builds) ----

sub _stop_points
{
	my $self = shift;
	return if $self->{stop_points}++;
	$self->sql(q{
		CREATE SCHEMA IF NOT EXISTS stop_point;
		CREATE OR REPLACE FUNCTION stop_point.set(text) RETURNS void LANGUAGE C STRICT
			AS '$libdir/logsvc', 'logsvc_stop_point_set';
		CREATE OR REPLACE FUNCTION stop_point.reset(text) RETURNS void LANGUAGE C STRICT
			AS '$libdir/logsvc', 'logsvc_stop_point_reset';
		CREATE OR REPLACE FUNCTION stop_point.held(text) RETURNS int LANGUAGE C STRICT
			AS '$libdir/logsvc', 'logsvc_stop_point_held';});
	return;
}

# From now on processes stop at that point.
sub stop_at
{
	my ($self, $point) = @_;
	$self->_stop_points;
	$self->sql("SELECT stop_point.set('$point')");
	return;
}

# Waits until a process is held there and returns its pid; dies after $timeout.
sub wait_held
{
	my ($self, $point, $timeout) = @_;
	$self->_stop_points;
	return wait_until(sub { $self->sql("SELECT stop_point.held('$point')") }, $timeout)
	  || die "no process reached stop point $point\n";
}

# Lets the processes held there go on.
sub let_go
{
	my ($self, $point) = @_;
	$self->_stop_points;
	$self->sql("SELECT stop_point.reset('$point')");
	return;
}

END
{
	if (%undescribed)
	{
		diag 'answers differ from GET /api/v1/openapi.json (src/gateway/schemas):';
		my @all = sort keys %undescribed;
		splice @all, 30 if @all > 30;
		diag "  $_ ($undescribed{$_} times)" foreach @all;
		$? ||= 1;
	}
}

# What the log said is what one wants to know first of a test that failed.
END
{
	my $status = $?;
	foreach my $self (@all)
	{
		if (($status != 0 || !Test::More->builder->is_passing) && -f $self->{node}->logfile)
		{
			my @lines = split /\n/, slurp_file($self->{node}->logfile);
			@lines = grep { !/LOG:  statement:/ } @lines;
			splice @lines, 0, -40;
			diag 'end of the log of node ' . $self->{node}->name . ':';
			diag "  $_" foreach @lines;
		}
	}
	$? = $status;
}

1;
