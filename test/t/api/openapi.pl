# openapi.pl: the API description (GET /api/v1/openapi.json): public validators accept it, each of
# its examples is sent to the service, and a typed client made of it works.  That answers of all
# other tests are as described is LogsvcTest's work.
use strict;
use warnings;

use IPC::Run qw(run timeout);
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'\n"
	. "logsvc.model_region = 'eu-central-1'\nlogsvc.alert_workers = 0\nlogsvc.shared_links = on");
my $org = $t->organization('acme');
my $served = $t->http(GET => '/api/v1/openapi.json');
my $document = $served->{json};
my $described = LogsvcOpenapi->new($document);

# ---- the document ----

is_deeply($document->{paths},
	LogsvcOpenapi->from_json_file("$ENV{TEST_OPENAPI}.json")->{document}{paths}, 'it is what answers of all tests are compared with');
cmp_ok(length $served->{content}, '<', 400_000, 'its size: ' . length $served->{content});
unlike($served->{content}, qr/\b(?:pat_|ing_live_|ing_test_)[0-9A-Za-z]{20}/, 'it has no secrets');
is($t->http(GET => '/api/v1/openapi.json',
	headers => { 'If-None-Match' => $served->{headers}{etag} })->{status}, 304, 'who has it need not get it again');

my %operations;
foreach my $path (sort keys %{ $document->{paths} })
{
	foreach my $method (sort keys %{ $document->{paths}{$path} })
	{
		my $o = $document->{paths}{$path}{$method};
		$operations{ $o->{operationId} } = { %$o, path => $path, method => uc $method };
	}
}
# An empty schema says nothing, nor does an object without members.
my @silent = grep {
	my $o = $operations{$_};
	my ($success) = grep { /^[1235]/ && ($_ < 400 || $_ == 501) } sort keys %{ $o->{responses} };
	my $content = $o->{responses}{$success}{content};
	!$content && $success !~ /^(?:204|302)$/
	  || grep { !%{ $_->{schema} // {} } } values %{ $content // {} },
	  values %{ $o->{requestBody}{content} // {} }
} sort keys %operations;
is("@silent", '', 'each route says what it takes and answers');
my @without_example = grep {
	my $body = $operations{$_}{requestBody};
	$body && $body->{required} && !grep { exists $_->{example} } values %{ $body->{content} }
} sort keys %operations;
is("@without_example", '', 'each body that is required has an example');

# What answers of all tests are compared by sees what it must.
my $session_path = '/api/v1/organizations/acme';
my $good = $t->http(GET => $session_path, token => $org->{token})->{json};
my $json_type = 'application/json; charset=utf-8';
sub differs
{
	my ($status, $type, $data) = @_;
	return $described->check_answer(GET => $session_path, $status, $type,
		{ data => { %{ $good->{data} }, %$data } });
}
is_deeply([ differs(200, $json_type, {}) ], [], 'an answer as described');
like((differs(200, $json_type, { more => 1 }))[0], qr/member more is not described/, 'an unknown member');
like((differs(200, $json_type, { name => 7 }))[0], qr/\.name: integer, expected string/, 'a type');
like((differs(200, $json_type, { plan => 'gold' }))[0], qr/not one of the values/, 'a value');
like((differs(200, $json_type, { createdAt => 'today' }))[0], qr/is not a time/, 'a time');
like((differs(299, $json_type, {}))[0], qr/status 299 is not described/, 'a status');
like((differs(200, 'text/html', {}))[0], qr/type text\/html is not described/, 'a media type');
delete $good->{data}{slug};
like((differs(200, $json_type, {}))[0], qr/member slug is missing/, 'a member that is missing');

# ---- public validators ----

my $directory = PostgreSQL::Test::Utils::tempdir();
append_to_file("$directory/openapi.json", $served->{content});
# Validators that see nothing would be content with anything.
my $bad = json_decode($served->{content});
$bad->{paths}{'/api/v1/search'}{get}{parameters}[0]{in} = 'nowhere';
$bad->{paths}{'/api/v1/logs'}{get}{responses}{200} = { '$ref' => '#/components/responses/None' };
append_to_file("$directory/bad.json", json_encode($bad));
run [ 'node', 'build/npm/openapi.js', "$directory/openapi.json", "$directory/bad.json" ],
  '>', \my $out, '2>', \my $err, timeout(300);
my $said = eval { json_decode($out) } or diag("$out$err");
is_deeply($said->[0], { valid => JSON::PP::true, errors => [], problems => [] },
	'it is valid OpenAPI 3.1');
ok(!$said->[1]{valid} && @{ $said->[1]{problems} }, '... and a wrong one is not');

# ---- a typed client ----

my $bin = 'build/npm/node_modules/.bin';
run [ "$bin/openapi-typescript", "$directory/openapi.json",
	'--default-non-nullable=false', '-o', 'build/npm/openapi.d.ts' ],
  '&>', \$out, timeout(300);
ok(-s 'build/npm/openapi.d.ts', 'types can be generated') or diag $out;
ok((run [ "$bin/tsc", qw(--strict --skipLibCheck --target es2022 --module nodenext),
	'--outDir', 'build/npm/typed', 'build/npm/openapi_client.ts' ], '&>', \$out, timeout(300)),
	'a typed client compiles, and what is wrong in it would not') or diag $out;
run [ 'node', 'build/npm/typed/openapi_client.js', $t->url, $org->{full_key} ],
  '>', \$out, '2>', \$err, timeout(300);
is_deeply(eval { json_decode($out) }, { sent => 202, kind => 'table', rows => [ [ 'client', 1 ] ],
	event => 'typed', version => 1, error => 'QUERY_SYNTAX_ERROR' }, '... and works') or diag "$out$err";

# ---- every example ----

$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
my $session = $t->session($org->{email});
my (%ids, %ran);

# An operation needs a credential that it takes.
sub who
{
	my ($o) = @_;
	my %kinds = map { $_ => 1 } map { keys %$_ } @{ $o->{security} };
	return $kinds{token} ? (token => $org->{token})
	  : $kinds{session} ? (session => $session, organization => $org->{slug}) : ();
}

# Ids of examples are those of what the examples before have made.
sub real
{
	my ($value) = @_;
	return [ map { real($_) } @$value ] if ref $value eq 'ARRAY';
	return { map { $_ => real($value->{$_}) } keys %$value } if ref $value eq 'HASH';
	return $value if ref $value || !defined $value;
	# A number that is matched would be a text from then on.
	my ($kind) = (my $text = $value) =~ /^([a-z]+)_06F3ZK\w+$/;
	return defined $kind && $ids{$kind} ? $ids{$kind} : $value;
}

# Does the example have the form of the answer?
sub same_form
{
	my ($one, $other) = @_;
	return 1 if ref $one ne 'HASH' || ref $other ne 'HASH';
	return join(' ', sort keys %$one) eq join(' ', sort keys %$other)
	  && !grep { !same_form($one->{$_}, $other->{$_}) } keys %$one;
}

sub differences
{
	my ($method, $path, $r) = @_;
	return $described->check_answer($method, $path, $r->{status}, $r->{headers}{'content-type'},
		$r->{json});
}

sub send_example
{
	my ($name, %opt) = @_;
	my $o = $operations{$name};
	my $path = $o->{path} =~ s/\{(\w+)\}/$opt{$1} \/\/ $ids{$opt{kind} \/\/ ''} \/\/ 'main'/ger;
	my %query = map { $_->{name} => $_->{example} }
	  grep { exists $_->{example} } @{ $o->{parameters} // [] };
	my %content = %{ $o->{requestBody}{content} // {} };
	my @types = grep { exists $content{$_}{example} } sort keys %content;
	my ($success) = grep { /^[23]/ } sort keys %{ $o->{responses} };
	my $r;

	foreach my $type (@types ? @types : undef)
	{
		my $example = defined $type ? $opt{body} // real($content{$type}{example}) : undef;
		my @wrong = defined $type && $type eq 'application/json'
		  ? $described->validate($content{$type}{schema}, $example) : ();
		is("@wrong", '', "$name: the example of its body is as described") if defined $type;
		my @body = !defined $type ? () : ref $example ? (json => $example)
		  : (body => $example, headers => { 'Content-Type' => $type });
		$r = $t->http($o->{method}, $path, who($o), %{ $opt{as} // {} },
			%query ? (query => \%query) : (), @body);
		ok($o->{responses}{ $r->{status} } && $r->{status} < 400,
			"$name: $o->{method} $path " . ($type // '') . " gets $r->{status}") or diag $r->{content};
		is_deeply([ differences($o->{method}, $path, $r) ], [], "$name: ... as described");
		my ($short) = ($r->{headers}{'content-type'} // '') =~ /^([^;]*)/;
		my $shown = $o->{responses}{ $r->{status} }{content}{$short};
		next unless $shown && exists $shown->{example} && (!defined $type || $type eq $types[0]);
		is_deeply([ $described->validate($shown->{schema}, $shown->{example}) ], [],
			"$name: the example of its answer is as described");
		ok(same_form($shown->{example}, $r->{json}), "$name: ... and has the members of the answer")
		  or diag $r->{content};
	}
	$ran{$name} = 1;
	my $id = $r->{json} && ref $r->{json}{data} eq 'HASH' ? $r->{json}{data}{id} : undef;
	$ids{ $id =~ s/_.*//r } = $id if defined $id && $name =~ /_NEW$/;
	return $r;
}

sub mailed
{
	my ($email, $template) = @_;
	return wait_until(sub {
		$t->sql("SELECT substring(link FROM '#t=(\\w+)') FROM logsvc_internal.outbox WHERE "
			. "recipient = '$email' AND template = '$template' ORDER BY id DESC LIMIT 1")
	});
}

sub cookie_of
{
	my ($r) = @_;
	my $cookies = $r->{headers}{'set-cookie'} // '';
	my ($cookie) = join(' ', ref $cookies ? @$cookies : $cookies) =~ /\blogsvc_session=(\w+);/;
	return $cookie;
}

# Events first: others look for them.
send_example($_) foreach qw(INGEST INGEST_BATCH OTLP LOKI_PUSH BULK BULK_PREFIXED HEC HEC_EVENT
  HEC_EVENT_1 HEC_RAW HEC_RAW_1 DOC_NEW DOC_NEW_PREFIXED);
send_example($_, index => 'main', id => 'one') foreach qw(BULK_INDEX BULK_INDEX_PREFIXED DOC DOC_PUT
  DOC_CREATE DOC_CREATE_PUT DOC_PREFIXED DOC_PUT_PREFIXED DOC_CREATE_PREFIXED
  DOC_CREATE_PUT_PREFIXED);
send_example($_) foreach qw(LOKI_QUERY_RANGE LOKI_QUERY_RANGE_POST LOKI_QUERY LOKI_QUERY_POST
  LOKI_LABELS_POST LOKI_SERIES_POST LOKI_INDEX_STATS LOKI_INDEX_VOLUME);
my $event = $t->http(POST => '/api/v1/logs', token => $org->{token}, json => 'one more')
  ->{json}{data}{id};
send_example($_) foreach qw(SEARCH SEARCH_POST SEARCH_ROWS SEARCH_VALIDATE SEARCH_FIELDS LOGS EXPORT
  EVALUATE MCP DELETE_LOGS INDEX_NEW API_KEY_NEW TOKEN_NEW PIPELINE_TEST ALERT_RULE_TEST
  DASHBOARD_TEMPLATE DASHBOARD_IMPORT IP_ALLOWLIST_SET DEAD_LETTERS_REPLAY DEAD_LETTERS_DISCARD);
send_example('INDEX_CHANGE', name => 'web');
send_example('TOKEN_CHANGE', kind => 'tok');
send_example('LOOKUP_SET', name => 'owners');
send_example('ORGANIZATION_CHANGE', id => $org->{slug});
foreach my $one ([ SAVED_QUERY => 'sq' ], [ SERVICE => 'svc' ], [ KPI => 'kpi' ],
	[ ALERT_RULE => 'rule' ], [ DASHBOARD => 'dash' ], [ SCHEDULED_EXPORT => 'exp' ], [ PIPELINE => 'pipe' ])
{
	send_example("$one->[0]_NEW");
	send_example("$one->[0]_CHANGE", kind => $one->[1]);
}
send_example('PIPELINES_ORDER');
send_example('ALERT_RULE_BACKTEST', kind => 'rule');
send_example('DASHBOARD_DATA', kind => 'dash');
my $link = send_example('DASHBOARD_SHARE', kind => 'dash')->{json}{data}{token};
send_example('SHARED_DATA', token => $link);
$ids{run} = $t->http(POST => "/api/v1/scheduled-exports/$ids{exp}/run", token => $org->{token})
  ->{json}{data}{id};

# An alert, as an alert worker raises it.
my $rule = $t->sql("SELECT id FROM logsvc_internal.resource WHERE kind = 'alert_rule'");
$t->sql("INSERT INTO logsvc_internal.alert (organization_id, rule_id, rule_name, severity, key,"
	. " group_key, value, threshold, search, started_at, last_seen_at)"
	. " SELECT organization_id, id, name, 'warning', '', '{}', '5', '3', '{}', now(), now()"
	. " FROM logsvc_internal.resource WHERE id = '$rule'");
$ids{alr} = $t->http(GET => '/api/v1/alerts', token => $org->{token})->{json}{data}[0]{id};
send_example($_, kind => 'alr') foreach qw(ALERT_ACKNOWLEDGE ALERT_RESOLVE);

# Accounts: what a mail brings is in no example.
my $email = 'ann@acme.example';
my $password = $operations{SIGN_UP}{requestBody}{content}{'application/json'}{example}{password};
send_example('SIGN_UP');
send_example('RESEND_VERIFICATION');
send_example('VERIFY_EMAIL', body => { token => mailed($email, 'verify_email') });
my $invitation = send_example('INVITATION_NEW');
my $invited = mailed($email, 'invitation');
send_example('INVITATION_PREVIEW', body => { token => $invited });
my $signed_in = send_example('SIGN_IN');
my $cookie = cookie_of($signed_in);
my %ann = (as => { session => $cookie, organization => undef });
send_example('INVITATION_ACCEPT', %ann, body => { token => $invited });
my ($member) = grep { $_->{email} eq $email }
  @{ $t->http(GET => '/api/v1/members', token => $org->{token})->{json}{data} };
send_example('MEMBER_CHANGE', id => $member->{id});
my $own = send_example('ORGANIZATION_NEW', %ann)->{json}{data}{id};
my %owner = (as => { session => $cookie, organization => $own });
send_example('BILLING_PLAN', %owner);
send_example('CHANGE_PASSWORD', %ann);
send_example('FORGOT_PASSWORD');
send_example('RESET_PASSWORD',
	body => { token => mailed($email, 'reset_password'), password => "$password 2" });
$cookie = cookie_of($t->http(POST => '/api/v1/auth/sign-in',
	json => { email => $email, password => "$password 2" }));
send_example('ORGANIZATION_DELETE', as => { session => $cookie, organization => $own }, id => $own);
send_example('SIGN_OUT', as => { session => $cookie, organization => undef });

my @left = grep {
	my $o = $operations{$_};
	!$ran{$_} && grep { exists $_->{example} } values %{ $o->{requestBody}{content} // {} },
	  @{ $o->{parameters} // [] },
	  map { values %{ $_->{content} // {} } } values %{ $o->{responses} }
} sort keys %operations;
is("@left", '', 'no example was left out');

# ---- every bound of an argument ----

# A value just outside, which the schema refuses.
sub beyond
{
	my ($schema) = @_;
	return ('no such value') if $schema->{enum};
	return (defined $schema->{maximum} ? $schema->{maximum} + 1 : (),
		defined $schema->{minimum} ? $schema->{minimum} - 1 : (),
		defined $schema->{maxLength} ? 'x' x ($schema->{maxLength} + 1) : (),
		defined $schema->{minLength} ? '' : ());
}

my $tried = 0;
foreach my $name (sort keys %operations)
{
	my $o = $operations{$name};
	# What makes a session or ends one, and what has no arguments of a function.
	next if $o->{path} !~ m{^/api/v1/} || $o->{path} =~ m{^/api/v1/(?:auth|evaluations|shared|billing)};
	next if !who($o) || $name eq 'ORGANIZATION_NEW';
	my $path = $o->{path} =~ s/\{(\w+)\}/$ids{sq}/r;
	my $body = $o->{requestBody}{content}{'application/json'} // {};
	my $members = $body->{schema}{properties} // {};
	my @cases = ((map { my $p = $_; map { [ query => $p->{name}, $_ ] } beyond($p->{schema}) }
		grep { ($_->{in} // '') eq 'query' } @{ $o->{parameters} // [] }),
		(map { my $m = $_; map { [ json => $m, $_ ] } beyond($members->{$m}) }
		sort keys %$members));
	foreach my $case (@cases)
	{
		my ($where, $member, $value) = @$case;
		my $example = ref $body->{example} eq 'HASH' ? real($body->{example}) : {};
		my $r = $t->http($o->{method}, $path, who($o), $where eq 'query'
			? (query => { $member => $value }) : (json => { %$example, $member => $value }));
		# With an id of another kind the member may be looked at first, or the id.  A long query
		# does not fit into a header; a check of one is an answer.
		ok($r->{status} == 400 || $r->{status} == 431 && $member eq 'q'
			|| $r->{status} == 404 && $o->{path} =~ /\{/
			|| $name eq 'SEARCH_VALIDATE' && !$r->{json}{data}{valid},
			"$name: $member " . substr($value, 0, 20) . " is refused") or diag "$r->{status} $r->{content}";
		$tried++;
	}
}
cmp_ok($tried, '>', 80, "$tried bounds");

# ---- every other route that only reads ----

my %parameters = ('/api/v1/logs/{id}' => $event, '/api/v1/logs/{id}/context' => $event,
	'/api/v1/members/{id}' => $member->{id}, '/api/v1/organizations/{id}' => $org->{slug},
	'/api/v1/indexes/{name}' => 'web', '/api/v1/lookups/{name}' => 'owners',
	'/api/v1/search/fields/{name}/values' => 'level', '/loki/api/v1/label/{name}/values' => 'level', '/api/v1/shared/{token}' => $link,
	'/api/v1/templates/{templateId}' => $t->http(GET => '/api/v1/templates', token => $org->{token})
	  ->{json}{data}[0]{id},
	'/{index}/_refresh' => 'main', '/elasticsearch/{index}/_refresh' => 'main',
	(map { $_ => $ids{svc} } '/api/v1/services/{id}', '/api/v1/services/{id}/health'),
	(map { $_ => $ids{kpi} } '/api/v1/kpis/{id}', '/api/v1/kpis/{id}/series'),
	(map { $_ => $ids{rule} } '/api/v1/alert-rules/{id}', '/api/v1/alert-rules/{id}/deliveries'),
	(map { $_ => $ids{dash} } '/api/v1/dashboards/{id}', '/api/v1/dashboards/{id}/export'),
	(map { $_ => $ids{exp} } '/api/v1/scheduled-exports/{id}', '/api/v1/scheduled-exports/{id}/runs'),
	'/api/v1/saved-queries/{id}' => $ids{sq}, '/api/v1/alerts/{id}' => $ids{alr},
	'/api/v1/pipelines/{id}' => $ids{pipe});
# A tail does not end; nothing was deleted or lost, a file is not there yet, and no provider is on.
my %cannot = map { $_ => 1 }
  qw(TAIL LOKI_TAIL DELETION DEAD_LETTER EXPORT_DOWNLOAD OAUTH_START OAUTH_CALLBACK);
foreach my $name (sort keys %operations)
{
	my $o = $operations{$name};
	next if $o->{method} ne 'GET' || $ran{$name} || $cannot{$name};
	my $path = $o->{path} =~ s/\{\w+\}/$parameters{$o->{path}}/r;
	my $status = $o->{responses}{501} ? 501 : 200;
	my $r = $t->http(GET => $path, who($o));
	is_deeply([ $r->{status}, differences(GET => $path, $r) ], [$status], "$name: GET $path");
}

$t->stop;
done_testing;
