# Searches as people type them from the manuals of other products, each with what it must do: the
# rows that it finds, a warning, or an error with what to write instead (test/data/searches).  None
# may find nothing without a word about it.
use strict;
use warnings;

use JSON::PP;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new;
my $folder = 'test/data/searches';
my $json = JSON::PP->new->canonical->allow_nonref;

# ---- the corpus ----

my @entries;
foreach (split /\n/, slurp_file("$folder/corpus.txt"))
{
	next if /^(#|\s*$)/;
	if (/^(\S.*)/) { push @entries, { query => $1, says => [] }; }
	elsif (/^\t([=~!>]) ?(.*)/) { push @{ $entries[-1]{says} }, "$1 $2"; }
	else { die "corpus.txt: $_\n"; }
}
cmp_ok(scalar @entries, '>=', 150, scalar(@entries) . ' searches');

# ---- all of them in one session ----

# What a search does, in the words of the corpus.  A table of few rows is shown, else they are
# counted.
$t->sql(<<'SQL');
CREATE FUNCTION tried(q text, suggested boolean DEFAULT false) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
	answer jsonb;
	details jsonb;
	message text;
	detail text;
	suggestion text;
	says text[] := '{}';
BEGIN
	BEGIN
		answer := logsvc.search(q);
		says := ARRAY['= ' || CASE WHEN answer #>> '{data,kind}' = 'table'
				AND jsonb_array_length(answer #> '{data,rows}') BETWEEN 1 AND 6
			THEN (answer #> '{data,rows}')::text
			ELSE jsonb_array_length(answer #> '{data,rows}')::text END]
			|| ARRAY(SELECT '~ ' || (w ->> 'code')
				FROM jsonb_array_elements(answer #> '{meta,warnings}') AS w);
		suggestion := (SELECT w ->> 'suggestion'
			FROM jsonb_array_elements(answer #> '{meta,warnings}') AS w WHERE w ? 'suggestion' LIMIT 1);
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
		IF SQLSTATE LIKE 'L%' AND detail LIKE '[%' THEN
			details := detail::jsonb;
			suggestion := details #>> '{0,suggestion}';
			message := concat(message, ': ' || (details #>> '{0,hint}'));
		END IF;
		says := ARRAY['! ' || CASE WHEN SQLSTATE LIKE 'L%' THEN '' ELSE SQLSTATE || ' ' END || message];
	END;
	IF suggestion IS NOT NULL AND NOT suggested THEN
		says := says || ('> ' || suggestion) || tried(suggestion, true);
	END IF;
	RETURN says;
END $$;
SQL
my $org = $t->organization('acme');
my $events = slurp_file("$folder/events.json");
is($t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.set_lookup('owners', "
		. "E'service,team\npay,money\nshop,checkout\n') IS NULL; "
		. "SELECT logsvc.ingest(\$events\$$events\$events\$) ->> 'accepted'") =~ s/.*\n//sr,
	scalar @{ decode_json($events) }, 'events are sent');
my $queries = $json->encode([ map { $_->{query} } @entries ]);
my $tried = $json->decode($t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT "
		. "jsonb_agg(to_jsonb(tried(q)) ORDER BY n) FROM jsonb_array_elements_text("
		. "\$queries\$$queries\$queries\$) WITH ORDINALITY AS t (q, n)") =~ s/^.*?\n//sr);

# ---- what they did ----

my (@wrong, @silent);
foreach my $i (0 .. $#entries)
{
	my ($query, @says) = ($entries[$i]{query}, @{ $entries[$i]{says} });
	my @does = @{ $tried->[$i] };
	push @wrong, "$query\n\t" . join("\n\t", @does) if "@says" ne "@does";
	# Nothing found, and no warning.
	push @silent, $query if "@does" eq '= 0';
}
is(scalar @wrong, 0, 'each does what it must') or diag join "\n", 'what these do:', @wrong;
is(join(' | ', @silent), '', 'none finds nothing without a word about it');

# ---- over HTTP, the longest suggestion too ----

my $long = 'x' x 1480;
my $r = $t->http(POST => '/api/v1/search', token => $org->{token}, json => { q => "{app=`$long`}" });
is_deeply([ $r->{status}, $r->{json}{details}[0]{suggestion} ], [ 400, qq{app="$long"} ],
	'a long suggestion fits into the details');
$r = $t->http(POST => '/api/v1/search', token => $org->{token},
	json => { q => "{app=`$long$long`}" });
is_deeply([ $r->{status}, $r->{json}{details}[0]{suggestion}, $r->{json}{details}[0]{message} ],
	[ 400, undef, 'this is LogQL; a query of this length cannot be translated' ],
	'a longer one is not made');
$r = $t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => 'refused error' });
is($r->{json}{meta}{warnings}[0]{suggestion}, 'refused level=error', 'with a warning');

# ---- what an explanation fails of does not fail the search ----

$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.ingest((SELECT jsonb_agg(jsonb_build_object("
		. "'event', CASE WHEN n > 5 THEN repeat('a', 5000) || '!' || n ELSE 'fine' END, "
		. "'service', CASE WHEN n > 5 THEN 'bad' ELSE 'good' END)) FROM generate_series(1, 40) AS n))");
foreach my $q ('event MATCHES "(a|aa)+$"', 'service=good event MATCHES "(a|aa)+$"')
{
	my $steps = $q !~ /good/;
	$r = $t->http(POST => '/api/v1/search', token => $org->{token}, json => { q => $q });
	is($r->{status}, $steps ? 400 : 200, $q) or diag $r->{content};
	like($r->{content}, qr/steps/, 'it takes too many steps') if $steps;
	is_deeply($r->{json}{data}{rows}, [], 'it finds nothing') if !$steps;
}

# Nor does one that takes too long.
$t->stop_at('explain_search');
foreach my $limit (600, 20000)
{
	$r = $t->http(POST => '/api/v1/search', token => $org->{token},
		json => { q => 'service=nobody', timeoutMs => $limit });
	is_deeply([ $r->{status}, $r->{json}{data}{rows} ], [ 200, [] ],
		"it is cut off, with $limit ms for the search");
	unlike($r->{content}, qr/values there are/, '... and says less');
}
$t->let_go('explain_search');
$r = $t->http(POST => '/api/v1/search', token => $org->{token}, json => { q => 'service=nobody' });
like($r->{json}{meta}{warnings}[0]{message}, qr/values there are/, 'the next one is not');

# What cancels the search is told as ever.  A busy machine may be too slow for one try.
my $said = '';
$t->stop_at('explain_search');
foreach (1 .. 5)
{
	my $session = $t->node->background_psql($t->{database}, on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_safe("SELECT logsvc.act_as('acme') IS NULL");
	$session->query_until(qr/begin/,
		"\\echo begin\nSELECT count(*) FROM logsvc.events('service=nobody');\n");
	$t->sql("SELECT pg_cancel_backend($pid)") if $t->wait_held('explain_search') == $pid;
	wait_until(sub { $t->sql("SELECT state FROM pg_stat_activity WHERE pid = $pid") eq 'idle' });
	$session->query('SELECT 1');
	$said = $session->{stderr};
	$session->{stderr} = '';
	$session->quit;
	last if $said =~ /canceling/;
}
$t->let_go('explain_search');
like($said, qr/canceling statement due to user request/, 'a search is cancelled while it is explained');

# Nobody is told what others have.
my $other = $t->organization('other');
$t->sql("SELECT logsvc.act_as('other'); SELECT logsvc.ingest(jsonb_build_array(jsonb_build_object("
	  . "'event', 'x', 'service', 'ours', 'attributes', jsonb_build_object('note', '[new] rest')), "
	  . "jsonb_build_object('event', 'y', 'service', 'ours', 'attributes', "
	  . "jsonb_build_object('tags', jsonb_build_array('old', 1.5)))))");
foreach my $q ('service=nobody', 'service=bad', 'path=/cart', '| stats dc(path)')
{
	$r = $t->http(POST => '/api/v1/search', token => $other->{token}, json => { q => $q });
	is($r->{status}, 200, "another organization: $q");
	isnt(scalar @{ $r->{json}{meta}{warnings} // [] }, 0, 'it has a warning');
	unlike(join(' ', map { $_->{message} =~ s/service bad//r } @{ $r->{json}{meta}{warnings} }),
		qr/acme|good|\bbad\b|checkout|\bpay\b/, '... with nothing of acme') or diag $r->{content};
}
foreach ([ 'note=new', 0 ], [ 'tags=new', 1 ], [ 'tags=1.5', 1 ])
{
	my ($q, $list) = @$_;
	$r = $t->http(POST => '/api/v1/search', token => $other->{token}, json => { q => $q });
	is(scalar(grep { $_->{code} eq 'ELEMENT_OF_LIST' } @{ $r->{json}{meta}{warnings} // [] }),
		$list, "$q: " . ($list ? 'a list' : 'a text in brackets is no list')) or diag $r->{content};
}

# ---- times as parameters ----

foreach (
	[ earliest => 'yesterday', 200 ], [ from => 'now-2h', 200 ], [ earliest => '@d-1d+0h', 400, '' ],
	[ earliest => '-1d@d+9h', 200 ], [ earliest => '0:00', 200 ],
	[ earliest => 'monday', 400, 'monday of this week is earliest=@w' ],
	[ to => 'yesterday', 400, 'yesterday is earliest=-1d@d latest=@d' ],
	[ latest => '28/Nov/2026', 400, 'write 2026-11-28' ], [ earliest => '1h ago', 400, 'write -1h' ])
{
	my ($name, $value, $status, $says) = @$_;
	foreach my $path ('search', 'logs')
	{
		my $answer = $t->http(GET => "/api/v1/$path", token => $org->{token}, query => { $name => $value });
		is($answer->{status}, $status, "$path: $name=$value") or diag $answer->{content};
		like($answer->{json}{details}[0]{message} // '', qr/expected now.*\Q$says\E/, 'and what to write') if $status == 400;
	}
}

# ---- warnings as notices ----

my $notices = '';
$said = '';
$t->{node}->psql($t->{database}, q{SELECT logsvc.act_as('acme') IS NULL;
	SELECT count(*) FROM generate_series(1, 3) i, LATERAL logsvc.events('service=nobody n!=' || i);
	SELECT count(*) FROM logsvc.events('service=chekout OR service=pya');
	SET client_min_messages = warning;
	SELECT count(*) FROM logsvc.events('service=nobody')}, stdout => \$said, stderr => \$notices);
is($said, "f\n0\n0\n0", 'nothing is found') or diag $said;
my $once = qr/NOTICE:  no event of the time range has service nobody; values there are: /;
is(scalar(() = $notices =~ /$once/g), 1, 'a notice says why, once in a statement') or diag $notices;
like($notices, qr/NOTICE:  no event has service pya: did you mean pay\?\nHINT:  Search for: service=chekout OR service=pay/, 'with what was meant');

# ---- a page does not wait for counts ----

sub warned
{
	my $answer = $t->http(GET => '/api/v1/search', token => $org->{token},
		query => { q => '| where NOT path', limit => 1 })->{json};
	return join ' ', map { $_->{code} } @{ $answer->{meta}{warnings} };
}

is(warned(), 'FIELD_AS_CONDITION', 'a condition that is never true, where there are few parts');
# They stay in the queue for some seconds.
$t->set('logsvc.flush_interval', '5s');
$t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.log('one more') FROM generate_series(1, 210)");
cmp_ok($t->sql('SELECT count(*) FROM logsvc_internal.queue'), '>', 200, 'now there are many');
is(warned(), '', 'a page that is found at once is not followed by a count of all');

$t->stop;
done_testing;
