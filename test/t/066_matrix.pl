# Every route of routes.def with every kind of credential: what it answers must
# be what the route and the permission table say, in this order: credential
# (401), scope and role (403), and anything else when both are good.
use strict;
use warnings;

use LogsvcAsync;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new;
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');

# ---- the tables ----

my @routes;
my $read = 0;
my $definitions = slurp_file('src/http/routes.def');
while ($definitions =~ /^LS_ROUTE\((\w+),\s*"(\w+)",\s*"([^"]*)",\s*"(\w*)",\s*"([\w:]*)",\s*"([\w:]*)",\s*"(\w*)",\s*LS_POOL_(\w+),\s*"([\w.]*)",\s*(\d+),/gm)
{
	my %r = (name => $1, method => $2, path => $3, credentials => $4, permission => $5, scope => $6,
		pool => $8, handler => $9, success => $10);
	$read++;
	# The gateway's own are for everybody; one without a path is for workers.
	push @routes, \%r if $r{path} ne '' && $r{pool} ne 'GATEWAY';
}
is($read, scalar(() = $definitions =~ /^LS_ROUTE\(/gm), 'every route is read');

my %permitted;    # permission -> role -> 1
my $permissions = slurp_file('src/access/permissions.def');
my %letter = (O => 'owner', A => 'admin', M => 'member', V => 'viewer');
while ($permissions =~ /^LS_PERMISSION\(\w+,\s*"([\w:]+)",\s*"(\w+)"/gm)
{
	my ($permission, $roles) = ($1, $2);
	$permitted{$permission}{ $letter{$_} } = 1 foreach split //, $roles;
}
cmp_ok(scalar(keys %permitted), '>=', 20, 'and the permissions');

# ---- the credentials ----

my @scopes = $t->scopes;
my $org = $t->organization('acme', plan => 'enterprise');
my $other = $t->organization('other', plan => 'enterprise');
my @principals;    # { name, kind, role, scopes, key, alive, organization }

sub token
{
	my ($organization, $email, $scopes) = @_;
	my $list = join ',', map { "'$_'" } @$scopes;
	return $t->sql_json("SELECT logsvc.create_token('$organization', '$email', 't', ARRAY[$list]::text[])");
}

my %email = (owner => $org->{email});
foreach my $role (qw(admin member viewer))
{
	$email{$role} = "$role\@acme.org";
	$t->sql("SELECT logsvc.create_user('$email{$role}'); SELECT logsvc.add_member('acme', '$email{$role}', '$role')");
}
# Owners of their own who may be removed or demoted while this runs: the roles above stay.
foreach my $role (sort keys %email)
{
	push @principals, { name => "token of $role", kind => 'token', role => $role, scopes => \@scopes,
		token => token('acme', $email{$role}, \@scopes)->{token} };
	push @principals, { name => "session of $role", kind => 'session', role => $role,
		session => $t->session($email{$role}) };
}
foreach my $scope (@scopes)
{
	push @principals, { name => "owner's token with $scope", kind => 'token', role => 'owner', scopes => [$scope],
		token => token('acme', $email{owner}, [$scope])->{token} };
	push @principals, { name => "owner's token without $scope", kind => 'token', role => 'owner',
		scopes => [ grep { $_ ne $scope } @scopes ],
		token => token('acme', $email{owner}, [ grep { $_ ne $scope } @scopes ])->{token} };
}
foreach my $key ([ I => 'ingest' ], [ R => 'read' ], [ F => 'full' ])
{
	push @principals, { name => "$key->[1] key", kind => 'key', letter => $key->[0], token => $org->{"$key->[1]_key"} };
	foreach my $state (qw(revoked expired))
	{
		my $scope = { ingest => 'ingest-only', read => 'read-only', full => 'full-access' }->{ $key->[1] };
		my $made = $t->sql_json("SELECT logsvc.create_api_key('acme', '$state', '$scope')");
		push @principals, { name => "$state $key->[1] key", kind => 'key', letter => $key->[0], dead => $state,
			token => $made->{key} };
	}
}
push @principals, { name => 'unknown token', kind => 'token', dead => 'unknown', token => 'pat_' . 'x' x 40 };
push @principals, { name => 'unknown key', kind => 'key', dead => 'unknown', token => 'ing_live_' . 'x' x 40 };
foreach my $state (qw(revoked expired))
{
	push @principals, { name => "$state token", kind => 'token', role => 'owner', scopes => \@scopes, dead => $state,
		token => token('acme', $email{owner}, \@scopes)->{token} };
}
push @principals, { name => 'nobody', kind => 'none' };
push @principals, { name => 'unknown session', kind => 'session', dead => 'unknown', session => 'x' x 43 };
push @principals, { name => 'session of nobody here', kind => 'session', foreign => 1,
	session => $t->session($other->{email}) };
push @principals, { name => 'session without an organization', kind => 'session', role => '', nowhere => 1,
	session => $t->session($email{owner}) };
$t->sql("UPDATE logsvc_internal.api_key SET revoked_at = now() WHERE name = 'revoked';"
	  . "UPDATE logsvc_internal.api_key SET expires_at = now() WHERE name = 'expired'");
foreach my $p (grep { $_->{kind} eq 'token' && ($_->{dead} // 'unknown') ne 'unknown' } @principals)
{
	my $column = $p->{dead} eq 'revoked' ? 'revoked_at' : 'expires_at';
	$t->sql("UPDATE logsvc_internal.access_token SET $column = now() WHERE token_hash = sha256('$p->{token}')");
}

# ---- what must come out ----

# "401", "403", another refusal, or "in": past credential, scope and role.
sub expected
{
	my ($r, $p) = @_;
	my %takes = map { $_ => 1 } split //, $r->{credentials};
	my $keys = $r->{credentials} =~ /[IRF]/;

	return 'in' if $r->{credentials} eq '';
	return 401 if $p->{kind} eq 'none';
	if ($p->{kind} eq 'session')
	{
		return 401 unless $takes{S} || $takes{U};
		return 401 if $p->{dead};
		# Where an organization is needed, it must be named and the user's.
		return 404 if $takes{S} && $p->{foreign};
		return 400 if $takes{S} && $p->{nowhere};
	}
	elsif ($p->{kind} eq 'key')
	{
		return 401 if !$keys || $p->{dead};
		return $takes{ $p->{letter} } ? 'in' : 403;
	}
	else
	{
		return 401 if $p->{dead};
		return 403 unless $takes{T};
		return 403 if $r->{scope} ne '' && !grep { $_ eq $r->{scope} } @{ $p->{scopes} };
	}
	return 403 if $r->{permission} ne '' && !$permitted{ $r->{permission} }{ $p->{role} // '' };
	return 'in';
}

# A body that no route takes, so that nothing is changed by who may come in.
my $nothing = '{"thereIsNoSuchMember": 1}';

my @pairs;
foreach my $r (@routes)
{
	(my $path = $r->{path}) =~ s/\{\w+\}/x_00000000000000000000000000/;
	$path .= '?thereIsNoSuchParameter=1' if $r->{method} eq 'GET';
	foreach my $p (@principals)
	{
		my %headers = defined $p->{session}
		  ? $t->session_headers($p->{session}, $p->{nowhere} ? undef : 'acme') : ();
		push @pairs, { route => $r, principal => $p,
			send => [ $r->{method}, $path, headers => \%headers, token => $p->{token},
				$r->{method} eq 'GET' ? () : (body => $nothing) ] };
	}
}

my @wrong;
my @sent;
foreach my $pair (@pairs, (undef) x 16)
{
	$pair->{request} = begin_request($t, @{ $pair->{send} }) if $pair;
	push @sent, $pair if $pair;
	next if $pair && @sent < 16;
	my $done = shift @sent or last;
	my ($r, $p) = @$done{qw(route principal)};
	my $want = expected($r, $p);
	my $answer = end_request($done->{request}, 60);
	my ($got, $code) = ($answer->{status}, $answer->{json}{code} // '');

	# Who is in is served or refused for the request itself.
	my $in = $got == 501
	  || $got >= 200 && $got < 500 && $got != 401 && $got != 429
	  && !($got == 403 && $code =~ /^(FORBIDDEN|INSUFFICIENT_SCOPE)$/);
	push @wrong, "$r->{method} $r->{path} by $p->{name}: $got $code, expected $want"
	  unless $want eq 'in' ? $in : $got == $want;
}
is(scalar @wrong, 0, @pairs . ' pairs of ' . @routes . ' routes and ' . @principals . ' credentials')
  or diag join "\n", @wrong[ 0 .. ($#wrong < 40 ? $#wrong : 40) ];
note scalar(@pairs) . ' pairs';

# ---- the functions themselves: SQL reaches them past the gateway ----

# They are called as somebody would who may; what that does is rolled back.
my ($viewer) = map { $_->{id} } grep { $_->{email} eq $email{viewer} }
  @{ $t->http(GET => '/api/v1/members', token => $org->{token})->{json}{data} };
my $invitation = $t->http(POST => '/api/v1/invitations', token => $org->{token},
	json => { email => 'invited@example.org', role => 'viewer' })->{json}{data}{id};
my $key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'k', 'read-only')")->{id};
$t->http(POST => '/api/v1/indexes', token => $org->{token}, json => { name => 'web' });
my %arguments = (
	update_organization => { id => $org->{id}, name => 'x' }, delete_organization => { id => $org->{id}, confirm => 'acme' },
	set_plan => { plan => 'pro' }, create_own_organization => { name => 'x' },
	get_member => { id => $viewer }, update_member => { id => $viewer, role => 'member' }, delete_member => { id => $viewer },
	invite => { email => 'x@example.org', role => 'viewer' }, resend_invitation => { id => $invitation },
	revoke_invitation => { id => $invitation }, accept_invitation => { token => 'x' },
	create_api_key => { name => 'x', scope => 'read-only', kind => 'live' }, revoke_api_key => { id => $key },
	create_own_token => { name => 'x', scopes => '{logs:read}' },
	create_index => { name => 'x' }, get_index => { name => 'web' }, update_index => { name => 'web', description => 'x' },
	delete_index => { name => 'web' });
my $arguments = json_encode(\%arguments);

my $calls = 0;
my $good = 0;
my @open;
foreach my $p (grep { !$_->{dead} && $_->{kind} =~ /^(token|key)$/ && $_->{name} !~ /^owner's/ } @principals)
{
	# What get_organization says, whoami says to every credential.
	my @functions = grep { $_->{handler} =~ /^logsvc\.(?!get_organization$)/ && $_->{credentials} ne '' } @routes;
	my $names = join ',', map { "'$_->{handler}'" } @functions;
	my %refused = map { $_->{handler} => 1 } grep { expected($_, $p) eq '403' } @functions;
	my $result = $t->sql(qq{
		SET client_min_messages = warning;
		CREATE TEMP TABLE result (name text, state text);
		GRANT ALL ON result TO logsvc_tenant;
		SELECT FROM (SELECT logsvc.use_token('$p->{token}')) AS t;
		SET ROLE logsvc_tenant;
		DO \$\$
		DECLARE
			f record;
			state text;
		BEGIN
			FOR f IN SELECT p.oid::regproc AS name, coalesce((SELECT string_agg(
					format('%I => %L::%s', a.name, '$arguments'::jsonb->p.proname->>a.name, a.type::regtype), ', ')
					FROM unnest(p.proargnames, p.proargtypes::oid[]) AS a (name, type)), '') AS arguments
				FROM pg_proc p WHERE p.oid::regproc::text = ANY (ARRAY[$names])
			LOOP
				BEGIN
					EXECUTE format('SELECT %s(%s)', f.name, f.arguments);
					RAISE EXCEPTION 'done' USING ERRCODE = 'XX999';
				EXCEPTION WHEN OTHERS THEN
					state := SQLSTATE;
				END;
				INSERT INTO pg_temp.result VALUES (f.name, state);
			END LOOP;
		END
		\$\$;
		SELECT name || ' ' || state FROM pg_temp.result});
	my %result = map { split / / } grep { /^logsvc\./ } split /\n/, $result;
	$calls += keys %result;
	$good += grep { $result{$_} eq 'XX999' } keys %result;
	push @open, map { "$_ $result{$_} by $p->{name}" } grep { $refused{$_} && $result{$_} !~ /^LS20[12]$/ } sort keys %result;
}
cmp_ok($good, '>', 60, "of $calls calls of functions $good are good");
is("@open", '', 'none does what its route refuses');

$t->stop;
done_testing;
