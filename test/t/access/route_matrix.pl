# Every route of routes.def with every kind of credential: what it answers must
# be what the table below says, in this order: credential (401), address (403),
# scope and role (403), and anything else when all are good.
#
# The table is written from the interface's description and not read from
# routes.def and permissions.def, or a wrong line there would make itself right.
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
my $definitions = slurp_file('src/gateway/routes.def');
while ($definitions
	=~ /^LS_ROUTE\((\w+),\s*"(\w+)",\s*"([^"]*)",\s*"(\w*)",\s*"([\w:]*)",\s*"([\w:]*)",\s*"(\w*)",\s*LS_POOL_(\w+),\s*"([\w.]*)",\s*(\d+),/gm)
{
	my %r = (name => $1, method => $2, path => $3, credentials => $4, permission => $5, scope => $6,
		pool => $8, handler => $9, success => $10);
	$read++;
	# One without a path is for workers.
	push @routes, \%r if $r{path} ne '';
}
is($read, scalar(() = $definitions =~ /^LS_ROUTE\(/gm), 'every route is read');

# Who may use a route: kinds of credentials, roles, API keys, scopes of a token: that of the route,
# and one that its function asks for before it looks at the request.
#	kinds	T personal access token, S session in an organization, U session
#	roles	O owner, A admin, M member, V viewer; - whoever is a member
#	keys	I ingest-only, R read-only, F full-access; t test keys of these too, f only the
#			function refuses those; - none
#	"everybody": no credential is asked for; "operators": by address, and whoever shows a credential
#			is none
my %who;
foreach my $line (split /\n/, <<'TABLE')
GET    /healthz                             everybody
GET    /readyz                              everybody
GET    /metrics                             operators
GET    /api/v1/openapi.json                 everybody
GET    /api/v1                              everybody
GET    /api/v1/status                       everybody
GET    /status                              everybody
GET    /api/v1/config                       everybody
POST   /api/v1/logs                         TS OAM  IFt logs:write
POST   /api/v1/logs/batch                   TS OAM  IFt logs:write
POST   /v1/logs                             TS OAM  IFt logs:write
POST   /loki/api/v1/push                    TS OAM  IFt logs:write
GET    /ready                               everybody
POST   /_bulk                               TS OAM  IFt logs:write
POST   /{index}/_bulk                       TS OAM  IFt logs:write
POST   /{index}/_refresh                    TS OAM  IFt logs:write
GET    /{index}/_refresh                    TS OAM  IFt logs:write
GET    /                                    TS OAM  IFt logs:write
GET    /_cluster/health                     TS OAM  IFt logs:write
GET    /_cat/health                         TS OAM  IFt logs:write
GET    /_license                            TS OAM  IFt logs:write
POST   /elasticsearch/_bulk                 TS OAM  IFt logs:write
POST   /elasticsearch/{index}/_bulk         TS OAM  IFt logs:write
POST   /elasticsearch/{index}/_refresh      TS OAM  IFt logs:write
GET    /elasticsearch/{index}/_refresh      TS OAM  IFt logs:write
GET    /elasticsearch/                      TS OAM  IFt logs:write
GET    /elasticsearch/_cluster/health       TS OAM  IFt logs:write
GET    /elasticsearch/_cat/health           TS OAM  IFt logs:write
GET    /elasticsearch/_license              TS OAM  IFt logs:write
GET    /elasticsearch                       TS OAM  IFt logs:write
POST   /{index}/_doc                        TS OAM  IFt logs:write
POST   /{index}/_doc/{id}                   TS OAM  IFt logs:write
PUT    /{index}/_doc/{id}                   TS OAM  IFt logs:write
POST   /{index}/_create/{id}                TS OAM  IFt logs:write
PUT    /{index}/_create/{id}                TS OAM  IFt logs:write
POST   /elasticsearch/{index}/_doc          TS OAM  IFt logs:write
POST   /elasticsearch/{index}/_doc/{id}     TS OAM  IFt logs:write
PUT    /elasticsearch/{index}/_doc/{id}     TS OAM  IFt logs:write
POST   /elasticsearch/{index}/_create/{id}  TS OAM  IFt logs:write
PUT    /elasticsearch/{index}/_create/{id}  TS OAM  IFt logs:write
POST   /services/collector                  TS OAM  IFt logs:write
POST   /services/collector/event            TS OAM  IFt logs:write
POST   /services/collector/event/1.0        TS OAM  IFt logs:write
POST   /services/collector/raw              TS OAM  IFt logs:write
POST   /services/collector/raw/1.0          TS OAM  IFt logs:write
GET    /services/collector/health           everybody
GET    /services/collector/health/1.0       everybody
GET    /api/v1/logs                         TS OAMV RFt logs:read
GET    /api/v1/search                       TS OAMV RFt logs:read
POST   /api/v1/search/rows                  TS OAMV RFt logs:read
GET    /api/v1/logs/tail                    TS OAMV RFt logs:read
GET    /api/v1/search/export                TS OA   Ft  logs:export
DELETE /api/v1/logs                         TS OA   Ft  logs:export
GET    /api/v1/log-deletions                TS OA   Ft  logs:export
GET    /api/v1/log-deletions/{id}           TS OA   Ft  logs:export
GET    /api/v1/logs/{id}                    TS OAMV RFt logs:read
GET    /api/v1/logs/{id}/context            TS OAMV RFt logs:read
POST   /api/v1/search/validate              TS OAMV RFt logs:read
GET    /api/v1/search/fields                TS OAMV RFt logs:read
GET    /loki/api/v1/query_range             TS OAMV RFt logs:read
POST   /loki/api/v1/query_range             TS OAMV RFt logs:read
GET    /loki/api/v1/query                   TS OAMV RFt logs:read
POST   /loki/api/v1/query                   TS OAMV RFt logs:read
GET    /loki/api/v1/labels                  TS OAMV RFt logs:read
POST   /loki/api/v1/labels                  TS OAMV RFt logs:read
GET    /loki/api/v1/label/{name}/values     TS OAMV RFt logs:read
GET    /loki/api/v1/series                  TS OAMV RFt logs:read
POST   /loki/api/v1/series                  TS OAMV RFt logs:read
GET    /loki/api/v1/index/stats             TS OAMV RFt logs:read
GET    /loki/api/v1/index/volume            TS OAMV RFt logs:read
GET    /loki/api/v1/tail                    T  OAMV RFt logs:read
GET    /loki/api/v1/status/buildinfo        TS OAMV RFt logs:read
GET    /api/v1/search/fields/{name}/values  TS OAMV RFt logs:read
GET    /api/v1/templates                    TS OAMV RFt logs:read
GET    /api/v1/templates/{templateId}       TS OAMV RFt logs:read
POST   /api/v1/search                       TS OAMV RFt logs:read
POST   /api/v1/evaluations/run-adhoc        T  OAM  -  evaluations:run
POST   /mcp                                 T  OAMV RFt -
GET    /api/v1/organizations                TU -    -  -
POST   /api/v1/organizations                U  -    -  -
GET    /api/v1/organizations/{id}           TS -    F  -
PATCH  /api/v1/organizations/{id}           TS OA   F  org:write
DELETE /api/v1/organizations/{id}           S  O    -  -
GET    /api/v1/billing                      S  O    -  -
POST   /api/v1/billing/plan                 S  O    -  -
GET    /api/v1/roles                        TS OAMV F  members:read
GET    /api/v1/members                      TS OAMV F  members:read
GET    /api/v1/members/{id}                 TS OAMV F  members:read
PATCH  /api/v1/members/{id}                 TS OA   F  members:write
DELETE /api/v1/members/{id}                 TS -    F  members:write
GET    /api/v1/audit                        TS OA   -  audit:read
GET    /api/v1/dead-letters                 TS OAM  F  pipelines:write
GET    /api/v1/dead-letters/{id}            TS OAM  F  pipelines:write
POST   /api/v1/dead-letters/replay          TS OAM  F  pipelines:write
POST   /api/v1/dead-letters/discard         TS OA   Ff logs:export
GET    /api/v1/audit/export                 TS OA   -  audit:read
GET    /api/v1/invitations                  TS OA   F  members:read
POST   /api/v1/invitations                  TS OA   F  members:write
POST   /api/v1/invitations/{id}/resend      TS OA   F  members:write
DELETE /api/v1/invitations/{id}             TS OA   F  members:write
POST   /api/v1/invitations/accept           U  -    -  -
POST   /api/v1/invitations/preview          everybody
GET    /api/v1/api-keys                     TS OA   F  keys:write
POST   /api/v1/api-keys                     TS OA   F  keys:write
DELETE /api/v1/api-keys/{id}                TS OA   F  keys:write
GET    /api/v1/tokens                       S  -    -  -
POST   /api/v1/tokens                       S  -    -  -
PATCH  /api/v1/tokens/{id}                  S  -    -  -
DELETE /api/v1/tokens/{id}                  TS -    -  -
GET    /api/v1/lookups                      TS OAMV F   pipelines:read
GET    /api/v1/lookups/{name}               TS OAMV F   pipelines:read
PUT    /api/v1/lookups/{name}               TS OAM  F   pipelines:write
DELETE /api/v1/lookups/{name}               TS OAM  F   pipelines:write
GET    /api/v1/indexes                      TS OAMV RFt logs:read
POST   /api/v1/indexes                      TS OA   F  org:write
GET    /api/v1/indexes/{name}               TS OAMV RFt logs:read
PATCH  /api/v1/indexes/{name}               TS OA   F  org:write
DELETE /api/v1/indexes/{name}               TS OA   F  org:write
GET    /api/v1/saved-queries                TS OAMV RF dashboards:read
POST   /api/v1/saved-queries                TS OAM  F  dashboards:write
GET    /api/v1/saved-queries/{id}           TS OAMV RF dashboards:read
PATCH  /api/v1/saved-queries/{id}           TS OAM  F  dashboards:write
DELETE /api/v1/saved-queries/{id}           TS OAM  F  dashboards:write
GET    /api/v1/services                     TS OAMV RF dashboards:read
POST   /api/v1/services                     TS OAM  F  dashboards:write
GET    /api/v1/services/{id}                TS OAMV RF dashboards:read
PATCH  /api/v1/services/{id}                TS OAM  F  dashboards:write
DELETE /api/v1/services/{id}                TS OA   F  dashboards:write
GET    /api/v1/services/{id}/health         TS OAMV RF dashboards:read
GET    /api/v1/kpis                         TS OAMV RF dashboards:read
POST   /api/v1/kpis                         TS OAM  F  dashboards:write
GET    /api/v1/kpis/{id}                    TS OAMV RF dashboards:read
PATCH  /api/v1/kpis/{id}                    TS OAM  F  dashboards:write
DELETE /api/v1/kpis/{id}                    TS OA   F  dashboards:write
GET    /api/v1/kpis/{id}/series             TS OAMV RF dashboards:read
GET    /api/v1/alert-rules                  TS OAMV Ff logs:read
POST   /api/v1/alert-rules                  TS OAM  F  alerts:write
GET    /api/v1/alert-rules/{id}             TS OAMV Ff logs:read
PATCH  /api/v1/alert-rules/{id}             TS OAM  F  alerts:write
DELETE /api/v1/alert-rules/{id}             TS OA   F  alerts:write
POST   /api/v1/alert-rules/{id}/enable      TS OAM  F  alerts:write
POST   /api/v1/alert-rules/{id}/disable     TS OAM  F  alerts:write
GET    /api/v1/alert-rules/{id}/deliveries  TS OAMV Ff logs:read
POST   /api/v1/alert-rules/{id}/notify-test TS OAM  F  alerts:write
POST   /api/v1/alert-rules/test             TS OAM  F  alerts:write
POST   /api/v1/alert-rules/{id}/backtest    TS OAM  F  alerts:write
GET    /api/v1/alerts                       TS OAMV RFf logs:read
GET    /api/v1/alerts/{id}                  TS OAMV RFf logs:read
POST   /api/v1/alerts/{id}/acknowledge      TS OAM  F  alerts:write
POST   /api/v1/alerts/{id}/resolve          TS OAM  F  alerts:write
GET    /api/v1/dashboards                   TS OAMV F  dashboards:read
POST   /api/v1/dashboards                   TS OAM  F  dashboards:write
POST   /api/v1/dashboards/import            TS OAM  F  dashboards:write
POST   /api/v1/dashboards/from-template     TS OAM  F  dashboards:write
GET    /api/v1/dashboards/{id}              TS OAMV F  dashboards:read
PATCH  /api/v1/dashboards/{id}              TS OAM  F  dashboards:write
DELETE /api/v1/dashboards/{id}              TS OA   F  dashboards:write
POST   /api/v1/dashboards/{id}/data         TS OAMV F  dashboards:read
GET    /api/v1/dashboards/{id}/export       TS OAMV F  dashboards:read
POST   /api/v1/dashboards/{id}/share        TS OAM  F  dashboards:write
GET    /api/v1/scheduled-exports            TS OA   Ff logs:export
POST   /api/v1/scheduled-exports            TS OA   F  logs:export,logs:read
GET    /api/v1/scheduled-exports/{id}       TS OA   Ff logs:export
PATCH  /api/v1/scheduled-exports/{id}       TS OA   F  logs:export,logs:read
DELETE /api/v1/scheduled-exports/{id}       TS OA   Ff logs:export
POST   /api/v1/scheduled-exports/{id}/run   TS OA   Ff logs:export
GET    /api/v1/scheduled-exports/{id}/runs  TS OA   Ff logs:export
GET    /api/v1/exports/{id}/download        TS OA   Ff logs:export
GET    /api/v1/pipelines                    TS OAMV F  pipelines:read
POST   /api/v1/pipelines                    TS OAM  F  pipelines:write
POST   /api/v1/pipelines/test               TS OAM  F  pipelines:write
POST   /api/v1/pipelines/reorder            TS OAM  F  pipelines:write
GET    /api/v1/pipelines/{id}               TS OAMV F  pipelines:read
PATCH  /api/v1/pipelines/{id}               TS OAM  F  pipelines:write
DELETE /api/v1/pipelines/{id}               TS OAM  F  pipelines:write
GET    /api/v1/shared/{token}               everybody
POST   /api/v1/shared/{token}/data          everybody
GET    /api/v1/usage                        TS OAMV RFf logs:read
GET    /api/v1/usage/history                TS OAMV RFf logs:read
GET    /api/v1/ip-allowlist                 TS OA   F  org:write
PUT    /api/v1/ip-allowlist                 TS OA   F  org:write
GET    /scim/v2/Users                       TS -    F  -
POST   /scim/v2/Users                       TS -    F  -
GET    /scim/v2/Users/{id}                  TS -    F  -
PUT    /scim/v2/Users/{id}                  TS -    F  -
PATCH  /scim/v2/Users/{id}                  TS -    F  -
DELETE /scim/v2/Users/{id}                  TS -    F  -
GET    /scim/v2/Groups                      TS -    F  -
POST   /scim/v2/Groups                      TS -    F  -
GET    /scim/v2/Groups/{id}                 TS -    F  -
PUT    /scim/v2/Groups/{id}                 TS -    F  -
PATCH  /scim/v2/Groups/{id}                 TS -    F  -
DELETE /scim/v2/Groups/{id}                 TS -    F  -
GET    /api/v1/access-requests              TS -    F  -
POST   /api/v1/access-requests              TS -    F  -
GET    /api/v1/encryption-keys              TS -    F  -
POST   /api/v1/encryption-keys              TS -    F  -
POST   /api/v1/auth/sign-up                 everybody
POST   /api/v1/auth/verify-email            everybody
POST   /api/v1/auth/resend-verification     everybody
POST   /api/v1/auth/sign-in                 everybody
POST   /api/v1/auth/forgot-password         everybody
GET    /api/v1/auth/oauth/{provider}/start  everybody
GET    /api/v1/auth/oauth/{provider}/callback everybody
POST   /api/v1/auth/reset-password          everybody
POST   /api/v1/auth/sign-out                U  -    -  -
GET    /api/v1/auth/session                 U  -    -  -
GET    /api/v1/auth/sessions                U  -    -  -
DELETE /api/v1/auth/sessions/{id}           U  -    -  -
POST   /api/v1/auth/change-password         U  -    -  -
TABLE
{
	my ($method, $path, $kinds, $roles, $keys, $scope) = map { $_ eq '-' ? '' : $_ } split ' ',
		$line;
	$who{"$method $path"} = $kinds =~ /^(everybody|operators)$/ ? { $kinds => 1 }
	  : { kinds => $kinds, roles => $roles, keys => $keys, scope => $scope };
}
is(join("\n", sort map { "$_->{method} $_->{path}" } @routes), join("\n", sort keys %who),
	'every route has a line in the table of this test');

my %letter = (owner => 'O', admin => 'A', member => 'M', viewer => 'V');

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
	$t->sql("SELECT logsvc.create_user('$email{$role}'); SELECT "
		. "logsvc.add_member('acme', '$email{$role}', '$role')");
}
# Owners of their own who may be removed or demoted while this runs: the roles above stay.
foreach my $role (sort keys %email)
{
	push @principals, { name => "token of $role", kind => 'token', role => $role,
		scopes => \@scopes,
		token => token('acme', $email{$role}, \@scopes)->{token} };
	push @principals, { name => "session of $role", kind => 'session', role => $role,
		session => $t->session($email{$role}) };
}
foreach my $scope (@scopes)
{
	push @principals, { name => "owner's token with $scope", kind => 'token', role => 'owner',
		scopes => [$scope],
		token => token('acme', $email{owner}, [$scope])->{token} };
	push @principals, { name => "owner's token without $scope", kind => 'token', role => 'owner',
		scopes => [ grep { $_ ne $scope } @scopes ],
		token => token('acme', $email{owner}, [ grep { $_ ne $scope } @scopes ])->{token} };
}
foreach my $key ([ I => 'ingest' ], [ R => 'read' ], [ F => 'full' ])
{
	push @principals, { name => "$key->[1] key", kind => 'key', letter => $key->[0],
		token => $org->{"$key->[1]_key"} };
	foreach my $kind (qw(live test))
	{
		foreach my $state (qw(revoked expired good))
		{
			next if $kind eq 'live' && $state eq 'good';
			my $scope = { ingest => 'ingest-only', read => 'read-only',
				full => 'full-access' }->{ $key->[1] };
			my $made = $t->sql_json("SELECT logsvc.create_api_key('acme', "
				. "'$state', '$scope', '$kind')");
			push @principals, { name => "$state $kind $key->[1] key", kind => 'key',
				letter => $key->[0], test => $kind eq 'test',
				dead => $state eq 'good' ? undef : $state, token => $made->{key} };
		}
	}
}
push @principals, { name => 'unknown token', kind => 'token', dead => 'unknown',
	token => 'pat_' . 'x' x 40 };
push @principals, { name => 'unknown key', kind => 'key', dead => 'unknown',
	token => 'ing_live_' . 'x' x 40 };
foreach my $state (qw(revoked expired))
{
	push @principals, { name => "$state token", kind => 'token', role => 'owner',
		scopes => \@scopes, dead => $state,
		token => token('acme', $email{owner}, \@scopes)->{token} };
}
foreach my $role (sort keys %email)
{
	# No function makes a token without scopes; a row may have none all the same.
	my $made = token('acme', $email{$role}, \@scopes);
	$t->sql("UPDATE logsvc_internal.access_token SET scopes = '{}' WHERE token_hash = "
		. "sha256('$made->{token}')");
	push @principals, { name => "token of $role without scopes", kind => 'token',
		role => $role, scopes => [],
		token => $made->{token} };
}
push @principals, { name => 'nobody', kind => 'none' };

# Of an organization that may be used from elsewhere only.
my $walled = $t->organization('walled', plan => 'enterprise');
$t->sql("SELECT logsvc.set_ip_allowlist('[{\"network\": \"192.0.2.0/24\"}]', organization "
	. "=> 'walled')");
push @principals, { name => 'token from a wrong address', kind => 'token', role => 'owner',
	scopes => \@scopes,
	walled => 1, token => $walled->{token} };
push @principals, map { { name => "$_->[1] key from a wrong address", kind => 'key',
	letter => $_->[0], walled => 1,
	token => $walled->{"$_->[1]_key"} } } [ I => 'ingest' ], [ R => 'read' ], [ F => 'full' ];
push @principals, { name => 'session from a wrong address', kind => 'session',
	role => 'owner', walled => 1,
	session => $t->session($walled->{email}), in => 'walled' };

my $ended = $t->session($email{owner});
$t->sql("UPDATE logsvc_internal.user_session SET expires_at = now(), created_at = now() - "
	. "interval '8 days'"
	  . " WHERE token_hash = sha256('$ended')");
push @principals, { name => 'expired session', kind => 'session', dead => 'expired',
	session => $ended };
push @principals, { name => 'unknown session', kind => 'session', dead => 'unknown',
	session => 'x' x 43 };
push @principals, { name => 'session of nobody here', kind => 'session', foreign => 1,
	session => $t->session($other->{email}) };
push @principals, { name => 'session without an organization', kind => 'session',
	role => '', nowhere => 1,
	session => $t->session($email{owner}) };
$t->sql("UPDATE logsvc_internal.api_key SET revoked_at = now() WHERE name = 'revoked';"
	  . "UPDATE logsvc_internal.api_key SET expires_at = now() WHERE name = 'expired'");
foreach my $p (grep { $_->{kind} eq 'token' && ($_->{dead} // 'unknown') ne 'unknown' } @principals)
{
	my $column = $p->{dead} eq 'revoked' ? 'revoked_at' : 'expires_at';
	$t->sql("UPDATE logsvc_internal.access_token SET $column = now() WHERE token_hash = "
		. "sha256('$p->{token}')");
}

# ---- what must come out ----

# 401, 403 and its code, another refusal, or "in": past credential, address, scope and role.
sub expected
{
	my ($r, $p, $function) = @_;
	my $w = $who{"$r->{method} $r->{path}"} or return 'nothing, for lack of a line';
	my $role = $letter{ $p->{role} // '' } // '';

	return 'in' if $w->{everybody};
	return $p->{kind} eq 'none' ? 'in' : '403 FORBIDDEN' if $w->{operators};
	return 401 if $p->{kind} eq 'none';
	if ($p->{kind} eq 'session')
	{
		return 401 if $w->{kinds} !~ /[SU]/ || $p->{dead};
		# Where an organization is needed, it must be named and the user's.
		return 404 if $w->{kinds} =~ /S/ && $p->{foreign};
		return 400 if $w->{kinds} =~ /S/ && $p->{nowhere};
		return 'in' if $p->{foreign} || $p->{nowhere};
	}
	elsif ($p->{kind} eq 'key')
	{
		# Evaluations know no keys; other routes without them say that it is not enough.
		return '401 INVALID_PAT' if $w->{kinds} eq 'T' && $w->{keys} eq '';
		return 401 if $p->{dead};
		return '403 IP_NOT_ALLOWED' if $p->{walled};
		return '403 INSUFFICIENT_SCOPE' if $p->{test}
			&& $w->{keys} !~ ($function ? qr/t/ : qr/[tf]/);
		return index($w->{keys}, $p->{letter}) >= 0 ? 'in' : '403 INSUFFICIENT_SCOPE';
	}
	else
	{
		return 401 if $p->{dead};
		return '403 IP_NOT_ALLOWED' if $p->{walled};
		return '403 INSUFFICIENT_SCOPE' if $w->{kinds} !~ /T/;
		my %has = map { $_ => 1 } @{ $p->{scopes} };
		return '403 INSUFFICIENT_SCOPE' if grep { !$has{$_} } split /,/, $w->{scope};
	}
	return '403 IP_NOT_ALLOWED' if $p->{walled};
	return '403 FORBIDDEN' if $w->{roles} ne '' && ($role eq '' || index($w->{roles}, $role) < 0);
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
		  ? $t->session_headers($p->{session}, $p->{nowhere} ? undef : $p->{in} // 'acme') : ();
		# To others "/" is /api/v1.
		$headers{'X-Elastic-Product-Origin'} = 'beats' if $r->{path} eq '/';
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
	my $answer = end_request($done->{request});
	my ($got, $code) = ($answer->{status}, ref $answer->{json} eq 'HASH'
		? $answer->{json}{code} // '' : '');
	# Others' protocols say the code in their message.
	my $message = $r->{name} eq 'OTLP' ? $answer->{json}{message}
	  : $r->{name} =~ /^LOKI_/ && $got >= 400 ? $answer->{content}
	  : $r->{name} =~ /^(BULK|ELASTIC|DOC)/ && $got >= 400 ? $answer->{json}{error}{reason}
	  : $r->{name} =~ /^HEC/ ? $answer->{json}{reason} : undef;
	($code) = $message =~ /^([A-Z_]+): / if defined $message;
	$code //= '';
	# Splunk's clients know 403 for a token that is not good.
	$got = 401 if $r->{name} =~ /^HEC/ && $got == 403 && $code =~ /^(INVALID|PAT|API_KEY)_/;

	# Who is in is served or refused for the request itself.  An executor refuses the name
	# that it does not know, but for what a provider may have added to a return, and as Loki.
	my $in = $r->{name} eq 'MCP' ? $got == 200
	  : $r->{pool} eq 'EXECUTOR' && $r->{success} != 501 && $r->{name} ne 'OAUTH_CALLBACK'
	  && $r->{name} !~ /^LOKI_/
	  ? "$got $code" eq '400 VALIDATION_ERROR'
	  : $got == 501
	  || $got >= 200 && $got < 500 && $got != 401 && $got != 429
	  && !($got == 403 && $code =~ /^(FORBIDDEN|INSUFFICIENT_SCOPE|IP_NOT_ALLOWED)$/);
	push @wrong, "$r->{method} $r->{path} by $p->{name}: $got $code, expected $want"
	  unless $want eq 'in' ? $in : $want =~ / / ? "$got $code" eq $want : $got eq $want;
}
is(scalar @wrong, 0, @pairs . ' pairs of ' . @routes . ' routes and ' . @principals
	. ' credentials')
  or diag join "\n", @wrong[ 0 .. ($#wrong < 40 ? $#wrong : 40) ];
note scalar(@pairs) . ' pairs';

# ---- each argument of each route, of a wrong type ----

my %is_not = (text => {}, integer => 'x', boolean => 'x', 'timestamp with time zone' => 'x',
	'text[]' => 'x');
my %takes = map { /^(\S+) (.*)$/ } split /\n/, $t->sql(q{
	SELECT format('%s %s', p.oid::regproc, string_agg(a.name || '=' || a.type::regtype, ',' ORDER BY a.n))
	FROM pg_proc p CROSS JOIN unnest(p.proargnames, p.proargtypes::oid[]) WITH ORDINALITY AS a (name, type, n)
	WHERE p.pronamespace IN ('logsvc'::regnamespace, 'logsvc_internal'::regnamespace) AND a.type IS NOT NULL
	GROUP BY p.oid});
my $member_session = $t->session($email{owner});
my $arguments_tried = 0;
@wrong = ();
foreach my $r (grep { $_->{pool} eq 'EXECUTOR' && $_->{success} != 501
	&& $_->{name} !~ /^OAUTH_/ } @routes)
{
	my $get = $r->{method} eq 'GET';
	foreach my $argument (split /,/, $takes{ $r->{handler} } // '')
	{
		my ($name, $type) = split /=/, $argument;
		$name =~ s/_(\w)/uc $1/ge;
		next if $name =~ /^(organization|given)$/ || $r->{path} =~ /\{$name\}/;
		next if !exists $is_not{$type} || $get && $type =~ /^text/;
		(my $path = $r->{path}) =~ s/\{\w+\}/x_00000000000000000000000000/;
		my $answer = $t->http($r->{method}, $path,
			$get ? (query => { $name => 'x' }) : (json => { $name => $is_not{$type} }),
			$r->{credentials} =~ /T/ ? (token => $org->{token})
			: $r->{credentials} ne '' ? (session => $member_session, organization => 'acme') : ());
		my ($detail) = grep { $_->{path} eq $name } @{ $answer->{json}{details} // [] };
		$arguments_tried++;
		push @wrong, "$r->{method} $r->{path} $name: $answer->{status} $answer->{content}"
		  unless $answer->{status} == 400 && $answer->{json}{code} eq 'VALIDATION_ERROR' && $detail;
	}
}
is(scalar @wrong, 0, "$arguments_tried arguments of a wrong type are refused by name")
	or diag join "\n", @wrong;
cmp_ok($arguments_tried, '>', 60, '... which are many');

# ---- the functions themselves: SQL reaches them past the gateway ----

# They are called as somebody would who may; what that does is rolled back.
my ($viewer) = map { $_->{id} } grep { $_->{email} eq $email{viewer} }
  @{ $t->http(GET => '/api/v1/members', token => $org->{token})->{json}{data} };
my $invitation = $t->http(POST => '/api/v1/invitations', token => $org->{token},
	json => { email => 'invited@example.org', role => 'viewer' })->{json}{data}{id};
my $key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'k', 'read-only')")->{id};
$t->http(POST => '/api/v1/indexes', token => $org->{token}, json => { name => 'web' });
$t->http(PUT => '/api/v1/lookups/kept', token => $org->{token}, json => { csv => "a\n1" });
my $dead = $t->sql(q{
	INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit,
		reason, attempts, first_failed_at, last_failed_at, sqlstate, last_error, header, body)
	SELECT id, 1, 1, now(), now(), 0, false, 'corrupt', 1, now(), now(), 'LS803', 'x', '', ''
	FROM logsvc_internal.organization WHERE slug = 'acme'
	RETURNING logsvc_internal.public_id('dl_', id)});
($dead) = $dead =~ /(dl_\w+)/;
my %arguments = (
	update_organization => { id => $org->{id}, name => 'x' },
		delete_organization => { id => $org->{id}, confirm => 'acme' },
	set_plan => { plan => 'pro' }, create_own_organization => { name => 'x' },
	get_member => { id => $viewer }, update_member => { id => $viewer, role => 'member' },
		delete_member => { id => $viewer },
	invite => { email => 'x@example.org', role => 'viewer' },
		resend_invitation => { id => $invitation },
	revoke_invitation => { id => $invitation }, accept_invitation => { token => 'x' },
	create_api_key => { name => 'x', scope => 'read-only', kind => 'live' },
		revoke_api_key => { id => $key },
	create_own_token => { name => 'x', scopes => '{logs:read}' },
	create_index => { name => 'x' }, get_index => { name => 'web' },
		update_index => { name => 'web', description => 'x' },
	get_lookup => { name => 'kept' }, set_lookup => { name => 'x', csv => "a\n1" },
		delete_lookup => { name => 'kept' },
	delete_index => { name => 'web' }, set_ip_allowlist => { entries => '[]' },
	get_dead_letter => { id => $dead }, replay_dead_letters => { filter => {} },
	discard_dead_letters => { filter => {}, reason => 'x' },
	delete_logs => { q => 'index=main earliest=-1h', reason => 'x', dry_run => JSON::PP::true });
my $arguments = json_encode(\%arguments);

my $calls = 0;
my $good = 0;
my @open;
foreach my $p (grep { !$_->{dead} && !$_->{walled} && $_->{kind} =~ /^(token|key)$/
	&& $_->{name} !~ /^owner's/ } @principals)
{
	# What get_organization says, whoami says to every credential.
	my @functions = grep { $_->{handler} =~ /^logsvc\.(?!get_organization$)/
		&& $_->{credentials} ne '' } @routes;
	my $names = join ',', map { "'$_->{handler}'" } @functions;
	my %refused = map { $_->{handler} => 1 } grep { expected($_, $p, 1) =~ /^403/ } @functions;
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
	push @open, map { "$_ $result{$_} by $p->{name}" } grep
		{ $refused{$_} && $result{$_} !~ /^LS20[12]$/ } sort keys %result;
}
cmp_ok($good, '>', 60, "of $calls calls of functions $good are good");
is("@open", '', 'none does what its route refuses');

$t->stop;
done_testing;
