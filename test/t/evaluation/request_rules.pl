# request_rules.pl: what a client may send to run-adhoc, as somebody tests
# it who has only the specification: bodies at the edges of every rule, each over
# HTTP and in SQL with the same answer; the numbers of a preview; the order of the
# checks; headers; whose requests count.
use strict;
use warnings;
use utf8;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.model_region = 'eu-central-1'");
my $org = $t->organization('acme');
my $path = '/api/v1/evaluations/run-adhoc';
my ($true, $false, $null) = (JSON::PP::true, JSON::PP::false, JSON::PP::null);

sub set_rate { return $t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = $_[0] WHERE "
	. "class = 'evaluation'"); }
set_rate(1_000_000);

sub post { my ($body, %opt) = @_; return $t->http(POST => $path, token => $org->{token},
	body => $body, %opt); }
sub told { my ($r) = @_; return "$r->{status} " . ($r->{json}{code} // ''); }

# ---- bodies ----

# [ name, body (JSON text, or members), what is expected, options ]
#	expected: a number: 200, so many rows; a list: the lines of the preview;
#	a string: 400, the places that `details` names, separated by spaces.
#	sql: the SQLSTATE where jsonb does not take the text; 'other': jsonb changes
#	what the rows are.  ignored: X-Ignored-Fields.  run: no preview.
my @cases;
sub body { my (%member) = @_; return json_encode({ preview => $true, %member }); }
sub takes { my ($name, $body, $expected, %opt) = @_; push @cases,
	{ name => $name, body => ref $body ? body(%$body) : $body, expected => $expected, %opt };
		return; }

# text: bytes of JSON, in a preview
sub text { my ($members) = @_; utf8::encode($members); return "{\"preview\":true,$members}"; }

my $face = "\x{1F600}";    # one character: 4 bytes, 2 of UTF-16
my $item = { id => 'a', description => 'd' };

# rows and log: decisions 1 to 4
takes('neither rows nor log', {}, 'rows');
takes('neither, and an unknown member beside', { row => ['x'] }, 'rows', ignored => 'row');
takes('rows of strings and objects', { rows => [ 'one', { b => 1 }, 'two' ],
	logCompression => $false }, [ 'one', '{"b":1}', 'two' ]);
takes('a row that is an empty string', { rows => [''] }, 1);
takes('a row that is an empty object', { rows => [ {} ], logCompression => $false }, ['{}']);
takes('rows: null', { rows => $null }, 'rows');
takes('rows: null beside log', { rows => $null, log => 'x' }, 'rows');
takes('rows: a string', { rows => 'x' }, 'rows');
takes('rows: an object', { rows => { a => 1 } }, 'rows');
takes('rows: []', { rows => [] }, 'rows');
takes('rows: [] beside log', { rows => [], log => 'x' }, 'rows');
takes('members of rows that are neither', { rows => [ 'x', $null, 1, $true, ['y'], {} ] },
	'rows[1] rows[2] rows[3] rows[4]');
takes('10,000 rows', { rows => [ map { "r $_" } 1 .. 10_000 ] }, 10_000);
takes('10,001 rows', { rows => [ map { "r $_" } 1 .. 10_001 ] }, 'rows');
takes('10,001 rows without compression', { rows => [ map { "r $_" } 1 .. 10_001 ],
	logCompression => $false }, 'rows');
takes('9,999 rows and log', { rows => [ map { "r $_" } 1 .. 9_999 ], log => 'x' }, 10_000);
takes('10,000 rows and log', { rows => [ map { "r $_" } 1 .. 10_000 ], log => 'x' }, 'log');
takes('rows and log: log is the last row', { rows => [ 'b', 'a' ], log => 'c',
	logCompression => $false }, [ 'b', 'a', 'c' ]);
takes('log: null alone', { log => $null }, 'rows');
takes('log: null beside rows is absent', { rows => ['x'], log => $null }, 1);
takes("log: $_->[0]", text("\"log\":$_->[0],\"logCompression\":false"), [ $_->[1] ])
  foreach [ '"text"', 'text' ], [ '""', '' ], [ '0', '0' ], [ '-1.5', '-1.5' ],
  [ 'false', 'false' ], [ 'true', 'true' ], [ '[]', '[]' ], [ '{}', '{}' ],
  [ '[1, "a", null]', '[1,"a",null]' ], [ '{"a": {"b": [ ]}}', '{"a":{"b":[]}}' ];

# criteria: decisions 5 to 7
takes('criteria of 4,000 characters of 4 bytes', { rows => ['x'], criteria => $face x 4000 }, 1);
takes('criteria of 4,001 characters of 4 bytes', { rows => ['x'], criteria => $face x 4001 },
	'criteria');
takes('criteria of 4,000 characters written as escapes',
	text('"rows":["x"],"criteria":"' . '\ud83d\ude00' x 4000 . '"'), 1);
takes('criteria of 4,001 characters written as escapes',
	text('"rows":["x"],"criteria":"' . '\ud83d\ude00' x 4001 . '"'), 'criteria');
takes("criteria in a preview: $_->[0]", { rows => ['x'], criteria => $_->[1] }, $_->[2])
  foreach [ 'empty', '', 1 ], [ 'blank', " \n\t", 1 ], [ 'a number', 7, 'criteria' ],
  [ 'null', $null, 'criteria' ], [ 'a list', ['x'], 'criteria' ], [ 'false', $false, 'criteria' ];
takes("criteria of a run: $_->[0]", { rows => ['x'], preview => $false, %{ $_->[1] } }, 'criteria')
  foreach [ 'none', {} ], [ 'empty', { criteria => '' } ], [ 'blank', { criteria => " \n\t\r" } ],
  [ 'blank in another script', { criteria => "\x{a0}\x{3000}\x{2003}" } ],
  [ 'null', { criteria => $null } ], [ 'a number', { criteria => 7 } ],
  [ '4,001', { criteria => 'x' x 4001 } ];
takes('criteria of a run of 4,000 characters', { rows => ['x'], preview => $false,
	criteria => $face x 4000 }, 1, run => 1);

# expectedItems: decisions 6, 14
my %run = (rows => [ 'step a passed', 'step b failed' ], criteria => 'What of each step?',
	preview => $false);
takes('200 items', { %run, expectedItems => [ map { { id => "i$_", description => 'd' } } 1 .. 200 ]
	}, 2, run => [ map { "i$_" } 1 .. 200 ]);
takes('201 items', { %run, expectedItems => [ map { { id => "i$_", description => 'd' } } 1 .. 201 ]
	}, 'expectedItems');
takes('an id of 100, a description of 500 characters',
	{ %run, expectedItems => [ { id => $face x 100, description => $face x 500 } ] }, 2,
		run => [ $face x 100 ]);
takes('an id of 101 characters', { %run,
	expectedItems => [ $item, { id => $face x 101, description => 'd' } ] }, 'expectedItems[1].id');
takes('a description of 501 characters',
	{ %run, expectedItems => [ $item, { id => 'b', description => $face x 501 } ] },
		'expectedItems[1].description');
takes('no items', { %run, expectedItems => [] }, 2, run => 1);
takes("expectedItems: $_->[0]", { %run, expectedItems => $_->[1] }, $_->[2])
  foreach [ 'null', $null, 'expectedItems' ], [ 'an object', $item, 'expectedItems' ],
  [ 'a string', 'a', 'expectedItems' ],
  [ 'of strings', [ 'a', $item ], 'expectedItems[0]' ], [ 'of null', [$null], 'expectedItems[0]' ],
  [ 'of empty objects', [ {} ], 'expectedItems[0].description expectedItems[0].id' ],
  [ 'of numbers', [ { id => 1, description => 2 } ],
  'expectedItems[0].description expectedItems[0].id' ],
  [ 'id null', [ { id => $null, description => 'd' } ], 'expectedItems[0].id' ];
takes('an item twice is one', { %run, expectedItems => [ $item, { id => 'b', description => 'd' },
	$item ] }, 2, run => [ 'a', 'b' ]);
takes('an id with two descriptions', { %run,
	expectedItems => [ $item, { id => 'a', description => 'e' } ] }, 'expectedItems[1].id');
takes('ids that differ in case are two',
	{ %run, expectedItems => [ $item, { id => 'A', description => 'e' } ] }, 2,
		run => [ 'a', 'A' ]);
takes('items are looked at in a preview', { rows => ['x'], expectedItems => [ {} ] },
	'expectedItems[0].description expectedItems[0].id');

# mode, model, flags: decisions 8, 9
takes("mode: $_->[0]", { %run, mode => $_->[1] }, $_->[2], run => 1)
  foreach [ 'test_classification', 'test_classification', 2 ],
  [ 'generic_verdict', 'generic_verdict', 2 ], [ 'unknown', 'other', 'mode' ],
  [ 'in capitals', 'GENERIC_VERDICT', 'mode' ],
  [ 'empty', '', 'mode' ], [ 'null', $null, 'mode' ], [ 'a number', 1, 'mode' ];
takes("model: $_->[0]", { rows => ['x'], model => $_->[1] }, $_->[2], model => $_->[3])
  foreach [ 'none', $null, 1, 'model-haiku-4-5' ],
  [ 'unknown', 'model-haiku-9', 1, 'model-haiku-4-5' ], [ 'empty', '', 1, 'model-haiku-4-5' ],
  [ 'in capitals', 'MODEL-OPUS-4-7', 1, 'model-haiku-4-5' ],
  [ 'opus', 'model-opus-4-7', 1, 'model-opus-4-7' ], [ 'long', 'm' x 5000, 1, 'model-haiku-4-5' ],
  [ 'a number', 4, 'model' ], [ 'true', $true, 'model' ], [ 'a list', ['model-opus-4-7'], 'model' ],
  [ 'an object', {}, 'model' ];
foreach my $flag (qw(preview logCompression citations))
{
	takes("$flag: $_->[0]", { rows => ['x'], criteria => 'c', $flag => $_->[1] }, $flag)
	  foreach [ 'null', $null ], [ 'a string', 'true' ], [ 'a number', 1 ], [ 'a list', [] ];
}

# compressionOptions: decision 10
my %range = (maxTemplates => [ 1, 500 ], maxSamples => [ 0, 5 ], rareThreshold => [ 0, 50 ],
	simThreshold => [ 0, 1 ]);
foreach my $option (sort keys %range)
{
	my ($min, $max) = @{ $range{$option} };
	my $sim = $option eq 'simThreshold';
	my @beyond = $sim ? ('-0.001', '1.001') : ($min - 1, $max + 1);
	foreach my $compress ('true', 'false')
	{
		takes("$option $_, compression $compress",
			text("\"rows\":[\"x\"],\"logCompression\":$compress,\"compressionOptions\":{\"$option\":$_}"), 1)
		  foreach $min, $max, $sim ? ('0.5', '1e-1') : ('1.0', '1e0');
		takes("$option $_, compression $compress",
			text("\"rows\":[\"x\"],\"logCompression\":$compress,\"compressionOptions\":{\"$option\":$_}"), "compressionOptions.$option")
		  foreach @beyond, '1e300', $sim ? () : ('1.5'), 'null', '"1"', 'true', '[]';
	}
}
takes('compressionOptions: {}', { rows => ['x'], compressionOptions => {} }, 1);
takes("compressionOptions: $_", text("\"rows\":[\"x\"],\"compressionOptions\":$_"),
	'compressionOptions') foreach 'null', '[]', '1', '"x"';
takes('all options beyond their ranges',
	{ rows => ['x'], compressionOptions => { maxTemplates => 0, maxSamples => -1,
		rareThreshold => 51, simThreshold => 2 } },
	'compressionOptions.maxSamples compressionOptions.maxTemplates '
		. 'compressionOptions.rareThreshold compressionOptions.simThreshold');

# unknown members: decision 11
takes('unknown members', { rows => ['x'], expectedItem => [], extra => { a => 1 } }, 1,
	ignored => 'expectedItem extra');
takes('unknown options and members of items',
	{ rows => ['x'], compressionOptions => { maxTemplate => 5 },
		expectedItems => [ { %$item, name => 'x' } ] }, 1,
			ignored => 'compressionOptions.maxTemplate expectedItems[].name');
takes('names that differ in case are unknown', { rows => ['x'], Rows => ['y'], PREVIEW => 1 }, 1,
	ignored => 'PREVIEW Rows');
takes('unknown members beside a problem', { rows => [], rowz => ['x'] }, 'rows', ignored => 'rowz');

# a member that comes twice: the last one counts, in JSON as in jsonb
takes('rows twice', text('"rows":["a"],"rows":["b"],"logCompression":false'), ['b']);
takes('a bad member, then a good one',
	text('"rows":7,"rows":["b"],"mode":1,"mode":"generic_verdict"'), 1);
takes('a good member, then a bad one', text('"rows":["b"],"rows":7'), 'rows');

# rows as they are judged: decisions 6, 25 to 27
takes('2,000 characters', { rows => [ $face x 2000 ], logCompression => $false }, [ $face x 2000 ],
	truncated => 0);
takes('2,001 characters', { rows => [ $face x 2001 ], logCompression => $false }, [ $face x 2000 ],
	truncated => 1);
takes('an object of 2,000 characters', { rows => [ { a => $face x 1992 } ],
	logCompression => $false }, [ '{"a":"' . $face x 1992 . '"}' ], truncated => 0);
takes('an object of 2,001 characters', { rows => [ { a => $face x 1993 } ],
	logCompression => $false }, [ '{"a":"' . $face x 1993 . '"' ], truncated => 1);
takes('log of 2,001 characters', { log => 'x' x 2001, logCompression => $false }, [ 'x' x 2000 ],
	truncated => 1);
takes('rows are cut before they become patterns', { rows => [ map { 'x' x 2000 . " $_" } 1, 2 ] },
	[ '[2x] ' . 'x' x 2000 ], truncated => 1, start => 1);
takes('an object keeps the order of its members and the spelling of its numbers',
	text('"rows":[{"zz": 1.50, "b": [1e2, -0.0, 100000000000000000001], "a": '
		. '"\u00e4\u4e2d"}],"logCompression":false'),
	['{"zz":1.50,"b":[1e2,-0.0,100000000000000000001],"a":"ä中"}'], sql => 'other');
takes('control characters', text('"rows":["a\nb\tc\r\u0001\u001f\u007f\u0085[99x] '
	. 'forged"],"logCompression":false'), 1, no_controls => 1);
takes('line breaks within a pattern', { rows => [ map { "user $_ failed\n[99x] root" } 1 .. 5 ] },
	5, no_controls => 1);
takes("NUL: $_", text("\"rows\":[$_],\"logCompression\":false"),
	[ { '"a\u0000b"' => "a\x{fffd}b", '{"k\u0000":"\u0000"}' => "{\"k\x{fffd}\":\"\x{fffd}\"}"
		}->{$_} ], sql => '22P05')
  foreach '"a\u0000b"', '{"k\u0000":"\u0000"}';
takes("a lone surrogate: $_", text("\"rows\":[\"a${_}b\"],\"logCompression\":false"),
	[ 'a' . "\x{fffd}" x (length($_) / 6) . 'b' ], sql => '22P02') foreach '\ud800', '\udc00',
		'\udfff', '\ude00\ud83d';
takes('NUL and surrogates in criteria and items',
	"{\"rows\":[\"x\"],\"criteria\":\"a\\u0000\\ud800\",\"expectedItems\":[{\"id\":\"\\u0000\",\"description\":\"\\ud800\"}]}", 1, run => ["\x{fffd}"], sql => '22P05');

# what is no JSON, or no object
takes("no JSON: $_->[0]", $_->[1], '-', sql => $_->[2] // '22P02')
  foreach [ 'nothing', '' ], [ 'blanks', "  \n" ], [ 'a word', 'rows' ],
  [ 'cut off', '{"rows":["x"],"preview":true' ],
  [ 'a comma too much', '{"rows":["x",],"preview":true}' ],
  [ 'two values', '{"rows":["x"],"preview":true} {}' ],
  [ 'single quotes', "{'rows':['x'],'preview':true}" ],
  [ 'a line break in a string', "{\"rows\":[\"a\nb\"],\"preview\":true}" ],
  [ 'NaN', '{"rows":["x"],"preview":true,"compressionOptions":{"maxSamples":NaN}}' ],
  [ 'a leading zero', '{"rows":["x"],"preview":true,"compressionOptions":{"maxSamples":01}}' ],
  [ 'a bad escape', '{"rows":["\\x"],"preview":true}' ];
takes("no object: $_", $_, '-', sql => 'LS001') foreach '[]', '"rows"', '7', 'true',
	'[{"rows":["x"],"preview":true}]';
takes('no object: null', 'null', '-', sql => 'LS001');
takes("no UTF-8: $_->[0]", "{\"rows\":[\"a$_->[1]b\"],\"preview\":true}", '-', sql => 'not sent')
  foreach [ 'FF', "\xff" ], [ 'cut off', "\xe4" ], [ 'longer than it must be', "\xc0\x80" ],
  [ 'a surrogate', "\xed\xa0\x80" ], [ 'beyond Unicode', "\xf4\x90\x80\x80" ],
  [ 'Latin-1', "caf\xe9" ];
takes('no UTF-8 in a name', "{\"rows\":[\"x\"],\"preview\":true,\"\xff\":1}", '-',
	sql => 'not sent');
takes('no UTF-8 in an unknown member', "{\"rows\":[\"x\"],\"preview\":true,\"z\":[\"\xff\"]}", '-',
	sql => 'not sent');
takes('nested 64 deep, the body included', text('"logCompression":false,"log":' . '[' x 63
	. ']' x 63), [ '[' x 63 . ']' x 63 ]);
takes('nested 65 deep', text("\"$_\":" . '[' x 64 . ']' x 64), '-') foreach 'log', 'unknown';
takes('nested 200,000 deep', text("\"$_\":" . '[' x 200_000 . ']' x 200_000), '-', sql => '54001')
	foreach 'log', 'unknown';
takes('nested 200,000 deep and never closed', '{"log":' . '{"a":' x 200_000, '-', sql => '54001');

foreach my $case (@cases)
{
	my ($name, $expected) = @{$case}{qw(name expected)};
	my $r = post($case->{body});
	my $data = $r->{json}{data};
	$case->{answer} = $r;
	is($r->{headers}{'x-ignored-fields'} // '', join(', ', split / /, $case->{ignored} // ''),
		"$name: X-Ignored-Fields")
	  if $case->{ignored} || $r->{headers}{'x-ignored-fields'};
	if (!ref $expected && $expected !~ /^\d+$/)
	{
		my @details = @{ $r->{json}{details} // [] };
		my $places = join ' ', sort map { length $_->{path} ? $_->{path} : '-' } @details;
		is(told($r) . " $places", "400 VALIDATION_ERROR $expected", $name)
			or diag substr $r->{content}, 0, 500;
		is(scalar(grep { join(' ', sort keys %$_) ne 'code message path' || !length $_->{code}
			|| !length $_->{message} } @details), 0, "$name: details have path, code, message")
		  if @details;
		next;
	}
	is($r->{status}, 200, $name) or diag substr $r->{content}, 0, 500;
	is($data->{inputRowCount}, ref $expected ? scalar @$expected : $expected,
		"$name: inputRowCount") unless $case->{start};
	is_deeply([ map { $case->{start} ? substr $_, 0, length $expected->[0] : $_ }
		@{ $data->{lines} } ], $expected, "$name: lines") if ref $expected;
	is($data->{truncated} ? 1 : 0, $case->{truncated}, "$name: truncated")
		if exists $case->{truncated};
	is($data->{creditEstimate}{model}, $case->{model}, "$name: priced as") if $case->{model};
	ok(!grep({ /[\x00-\x1f\x7f-\x9f\x{2028}\x{2029}]/ } @{ $data->{lines} }),
		"$name: one row is one line") if $case->{no_controls};
	if ($case->{run})
	{
		is_deeply([ map { $_->{id} } @{ $data->{verdict} } ], $case->{run},
			"$name: one finding for each item") if ref $case->{run};
		ok(@{ $data->{verdict} } && !grep({ !$_->{status} || !length $_->{explanation} }
			@{ $data->{verdict} }), "$name: a verdict");
	}
}

# The same bodies in SQL.
my $dir = PostgreSQL::Test::Utils::tempdir();
my $n = 0;
open my $script, '>', "$dir/bodies.sql" or die;
print $script <<'END';
SET client_min_messages = error;
CREATE FUNCTION pg_temp.try(body text) RETURNS jsonb LANGUAGE plpgsql AS $f$
DECLARE state text; details text;
BEGIN
  RETURN jsonb_build_object('state', '', 'data', logsvc.run_adhoc(body::jsonb));
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, details = PG_EXCEPTION_DETAIL;
  RETURN jsonb_build_object('state', state, 'details', details);
END $f$;
END
print $script "SELECT 1 FROM logsvc.use_token('$org->{token}');\n";
my @sql = grep { ($_->{sql} // '') ne 'not sent' } @cases;
print $script "SELECT pg_temp.try(\$bb\$$_->{body}\$bb\$);\n" foreach @sql;
close $script;
my $out = run_command_output('psql', '-X', '-A', '-t', '-q', '-v', 'ON_ERROR_STOP=1', '-d',
	$t->node->connstr('postgres'), '-f', "$dir/bodies.sql");
my @lines = grep { /^\{/ } split /\n/, $out;
is(scalar @lines, scalar @sql, 'every body was tried in SQL');
sub run_command_output { my ($stdout, $stderr) = run_command([@_]); diag $stderr if $stderr;
	return $stdout; }
# jsonb writes other blanks, so bytes of the text are counted otherwise.
sub details_of { my ($list) = @_; return join "\n", sort map { join '|', $_->{path}, $_->{code},
	$_->{message} =~ s/ \(byte \d+\)//r } @{ $list // [] }; }
foreach my $case (@sql)
{
	my $in_sql = json_decode($lines[ $n++ ]);
	my $json = $case->{answer}{json};
	my $want = $case->{sql} // '';
	if ($want && $want ne 'other') { is($in_sql->{state}, $want, "SQL: $case->{name}"); next; }
	is($in_sql->{state}, { 200 => '', 400 => 'LS001' }->{ $case->{answer}{status} },
		"SQL: $case->{name}") or next;
	if ($in_sql->{state}) { is(details_of(eval { JSON::PP->new->decode($in_sql->{details}) }),
		details_of($json->{details}), "SQL: $case->{name}: the same details"); }
	elsif (!$want) { is_deeply($in_sql->{data}, $json->{data},
		"SQL: $case->{name}: the same answer"); }
}

# ---- the numbers of a preview: decisions 24, 28 to 33 ----

sub preview { my (%member) = @_; my $r = post(body(%member)); is($r->{status}, 200, 'a preview')
	or diag $r->{content}; return $r->{json}{data}; }
sub numbers { my ($d) = @_; return join ' ',
	(map { $d->{$_} } qw(inputRowCount uniqueTemplates droppedTemplates rareLineCount)),
		$d->{truncated} ? 1 : 0; }

# 30 + 20 + 2 + 1 + 1 rows of five kinds.
my @kinds = ((map { "user u$_ logged in from 10.0.0.$_" } 1 .. 30),
	(map { "GET /orders answered 200 in $_ ms" } 1 .. 20), ('disk sda is full') x 2, 'kernel panic',
		'certificate renewed');
my $p = preview(rows => \@kinds);
is(numbers($p), '54 5 0 2 0', 'rows, templates, dropped, rare, truncated');
is(join(' ', map { /^\[(\d+)x\]/ } @{ $p->{lines} }), '30 20 2 1 1', 'highest count first');
ok(!grep({ !/^\[\d+x\] \S/ } @{ $p->{lines} }), 'the form of a line');
is(join('|', sort grep { /^\[1x\]/ } @{ $p->{lines} }),
	'[1x] certificate renewed|[1x] kernel panic', 'one-off lines verbatim');
my @reversed = reverse @kinds;
is(numbers(preview(rows => \@reversed)), numbers($p), 'whatever the order of the rows');
foreach my $case ([ 5, 0 ], [ 4, 1 ], [ 3, 2 ], [ 1, 4 ])
{
	my ($max, $dropped) = @$case;
	my $d = preview(rows => \@kinds, compressionOptions => { maxTemplates => $max });
	is("$d->{inputRowCount} $d->{uniqueTemplates} $d->{droppedTemplates} " . @{ $d->{lines} }
		. ($d->{truncated} ? ' truncated' : ''), "54 5 $dropped $max", "maxTemplates $max");
	is_deeply($d->{lines}, [ @{ $p->{lines} }[ 0 .. $max - 1 ] ],
		"maxTemplates $max: the most frequent are kept");
}
foreach my $samples (0 .. 5)
{
	my ($line) = @{ preview(rows => \@kinds,
		compressionOptions => { maxSamples => $samples })->{lines} };
	my ($shown) = $line =~ /  e\.g\. (.*)$/;
	my @shown = split / \| /, $shown // '';
	my %is_row = map { $_ => 1 } @kinds;
	is(@shown . ' ' . grep({ !$is_row{$_} } @shown), "$samples 0",
		"maxSamples $samples: so many rows after e.g.");
}
my $rare = preview(rows => \@kinds, compressionOptions => { rareThreshold => 2 });
is(join('|', grep { /disk/ } @{ $rare->{lines} }), '[2x] disk sda is full',
	'rareThreshold 2: two rows that are one line');
cmp_ok($rare->{rareLineCount}, '>', $p->{rareLineCount}, 'rareThreshold 2: more is rare');
is(preview(rows => \@kinds, compressionOptions => { rareThreshold => 0 })->{rareLineCount}, 0,
	'rareThreshold 0: nothing is rare');
my @unlike = map { "a$_ b" . $_ % 3 . ' c d e' } 1 .. 30;
cmp_ok(preview(rows => \@unlike, compressionOptions => { simThreshold => 1 })->{uniqueTemplates},
	'>=',
	preview(rows => \@unlike, compressionOptions => { simThreshold => 0 })->{uniqueTemplates},
		'a higher simThreshold merges less');

sub letters { my ($n) = @_; my $word = ''; for (; $n; $n = int($n / 26))
	{ $word .= chr(97 + $n % 26); } return "w$word"; }

# 1 token of haiku is 0.0001 credits; an estimate of tokens is max(bytes / 3.5, words).
sub tokens_between
{
	my ($credits, $texts, $name) = @_;
	my ($least, $most) = (0, 0);
	foreach my $text (@$texts)
	{
		utf8::encode(my $bytes = $text);
		my $tokens = (length($bytes) + 1) / 3.5;
		my $words = () = $text =~ /\S+/g;
		$least += $tokens > $words ? $tokens : $words;
		$most += ($tokens > $words ? $tokens : $words) + 1;
	}
	ok($credits * 10_000 > $least - 1 && $credits * 10_000 < $most + 1, $name)
		or diag "$credits: $least to $most tokens";
	return;
}
tokens_between($p->{creditEstimate}{uncompressed}, \@kinds,
	'creditEstimate.uncompressed: all rows');
tokens_between($p->{creditEstimate}{compressed}, $p->{lines},
	'creditEstimate.compressed: the lines');
my $raw = preview(rows => \@kinds, logCompression => $false);
is_deeply($raw->{lines}, \@kinds, 'without compression: the rows as they are');
is(numbers($raw), numbers($p), 'and the numbers of the patterns');
is_deeply($raw->{creditEstimate}, $p->{creditEstimate}, 'and both prices');
foreach my $model ([ 'model-sonnet-4-6', 3 ], [ 'model-opus-4-7', 15 ])
{
	my $d = preview(rows => \@kinds, model => $model->[0])->{creditEstimate};
	foreach my $kind (qw(compressed uncompressed))
	{
		cmp_ok(abs($d->{$kind} - $p->{creditEstimate}{$kind} * $model->[1]), '<=', 0.00011,
			"$model->[0]: $kind: $model->[1] times haiku");
	}
}
is(numbers(preview(rows => [ map { "row $_" } 1 .. 200 ], logCompression => $false)) =~ s/ .* / /r,
	'200 0', 'without compression: 200 rows');
is(numbers(preview(rows => [ map { "row $_" } 1 .. 201 ], logCompression => $false)) =~ s/ .* / /r,
	'200 1', 'without compression: of 201 rows 200, and it is said');
my $long = preview(rows => [ map { my $r = $_; join ' ', map { letters($r * 1000 + $_) } 1 .. 200 }
	1 .. 2000 ], compressionOptions => { maxTemplates => 500, simThreshold => 1 });
is("$long->{inputRowCount} " . ($long->{truncated} ? 1 : 0), '2000 1',
	'beyond the input budget: truncated, and all rows were considered');
cmp_ok($long->{creditEstimate}{compressed} * 10_000, '<', 50_000, 'within 50,000 tokens');
# Items of 480,000 bytes leave nothing of the budget: the rows get 10,000 tokens all the same.
my $crowded = preview(rows => [ map { my $r = $_; join ' ', map { letters($r * 1000 + $_) } 1 .. 200
	} 1 .. 200 ], logCompression => $false,
	criteria => $face x 4000, expectedItems =>
		[ map { { id => sprintf('%03d', $_) . $face x 97, description => $face x 500 } } 1 .. 200
			]);
my $bytes = 0;
$bytes += length($_) + 1 foreach @{ $crowded->{lines} };
ok($bytes / 3.5 > 9_000 && $bytes / 3.5 <= 10_000,
	'beside the largest items and criteria the rows get 10,000 tokens') or diag $bytes;
is("$crowded->{inputRowCount} " . ($crowded->{truncated} ? 1 : 0), @{ $crowded->{lines} } . ' 1',
	'and inputRowCount is the rows that fitted');

# ---- a verdict: each status ----

my $r = post(json_encode({ criteria => 'Judge the outcome of each test.',
	rows => [ 'ok 1 - login works', 'not ok 2 - logout works',
		'ok 3 - upload works # SKIP no disk' ],
	expectedItems => [ map { { id => $_, description => "$_ works" } } qw(logout upload
		payment login) ] }));
is(join(' ', map { "$_->{id}=$_->{status}" } @{ $r->{json}{data}{verdict} }),
	'logout=failed upload=skipped payment=not_found login=passed',
		'every status, in the order of the items');
is(scalar(grep { length $_->{explanation} > 300 || $_->{confidence} < 0 || $_->{confidence} > 1 }
	@{ $r->{json}{data}{verdict} }), 0, 'explanations and confidence');

# ---- the order of the checks ----

sub revoked { my ($token) = @_; $t->sql("SELECT logsvc.revoke_token('$token->{id}')");
	return $token->{token}; }
sub token { my ($slug, $email, $scopes, @more) = @_;
	return $t->sql_json("SELECT logsvc.create_token('$slug', '$email', 'more', ARRAY[$scopes]"
		. join('', map { ", $_" } @more) . ')'); }
sub member { my ($slug, $email, $role) = @_;
	$t->sql("SELECT logsvc.create_user('$email') WHERE NOT EXISTS "
		. "(SELECT FROM logsvc_internal.user_account WHERE email = '$email'); SELECT "
			. "logsvc.add_member('$slug', '$email', '$role')");
				return token($slug, $email, "'evaluations:run'")->{token}; }

my $limit = 10 * 1024 * 1024;
my $huge = 'x' x ($limit + 1);
my %text = ('Content-Type' => 'text/plain');
my $no_scope = token('acme', $org->{email}, "'logs:read'")->{token};
my $viewer_token = member('acme', 'viewer@example.org', 'member');
$t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.set_member_role('acme', "
	. "'viewer\@example.org', 'viewer')");
my $poor = $t->organization('poor', plan => 'free');
$t->sql("SELECT logsvc.adjust_ai_credits('poor', -1000000, 'test')");
my $bad = '{"rows":[]}';
my $good = '{"rows":["x"],"criteria":"c"}';
my %headers;    # of the answers, by status and code
my $counted = join '|', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset';

sub check
{
	my ($name, $want, $r, %opt) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $h = $r->{headers};
	is(told($r), $want, $name) or diag substr $r->{content}, 0, 300;
	like($h->{'x-request-id'} // '', qr/^\S+$/, "$name: X-Request-Id");
	like($h->{'www-authenticate'} // '', $r->{status} == 401 ? qr/^Bearer/ : qr/^$/,
		"$name: WWW-Authenticate on 401 only");
	my $limited = join ' ', map { exists $h->{"x-ratelimit-$_"} ? 1 : 0 } qw(limit remaining reset);
	is($limited, $r->{status} =~ /^40[145]$/ ? '0 0 0' : '1 1 1',
		"$name: rate headers once it is known who asks");
	like($h->{'retry-after'} // '', $opt{retry} // qr/^$/, "$name: Retry-After");
	is(join(' ', grep { !/^(?:details|statusCode|message)$/ } sort keys %{ $r->{json} }),
		$opt{members} // 'code error', "$name: the envelope") if $r->{status} >= 400;
	return $r;
}

sub at { my (%opt) = @_; return $t->http(POST => $opt{path} // $path, body => $bad, %opt); }

check('another path, without a credential', '404 NOT_FOUND', at(path => "${path}s"));
check('a path below', '404 NOT_FOUND', at(path => "$path/1"));
foreach my $method (qw(GET PUT DELETE PATCH))
{
	$r = check("$method, without a credential", '405 METHOD_NOT_ALLOWED',
		$t->http($method => $path));
	like($r->{headers}{allow} // '', qr/\bPOST\b/, "$method: Allow");
}
my %any = (body => $huge, headers => \%text);
check('no credential, whatever the body', '401 UNAUTHORIZED', at(%any));
check('a malformed header', '401 UNAUTHORIZED', at(headers => { Authorization => $_ }))
	foreach 'Bearer', "Basic $org->{token}", $org->{token}, 'Bearer a b';
check('a token in the address', '401 UNAUTHORIZED', at(path => "$path?access_token=$org->{token}"));
check('the scheme in small letters', '400 VALIDATION_ERROR',
	at(headers => { Authorization => "bearer $org->{token}" }));
check('an unknown token', '401 INVALID_PAT', at(%any, token => 'pat_' . '0' x 40));
check('a token that is not whole', '401 INVALID_PAT',
	at(%any, token => substr $org->{token}, 0, -1));
check("an API key: $_", '401 INVALID_PAT', at(%any, token => $org->{$_}))
	foreach qw(full_key ingest_key read_key);
check('an unknown API key', '401 INVALID_PAT', at(%any, token => 'ing_live_' . '0' x 40));
my $test_key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'test', 'full-access', 'test')");
check('a test key', '401 INVALID_PAT', at(%any, token => $test_key->{key}));
$t->sql("SELECT logsvc.act_as('acme'); SELECT logsvc.revoke_api_key('$test_key->{id}')");
check('a revoked API key', '401 INVALID_PAT', at(%any, token => $test_key->{key}));
check('a token, and another credential beside it', '401 UNAUTHORIZED',
	at(token => $org->{token}, headers => { 'X-API-Key' => $org->{full_key} }));
check('a revoked token', '401 PAT_REVOKED',
	at(%any, token => revoked(token('acme', $org->{email}, "'evaluations:run'"))));
my $expired = token('acme', $org->{email}, "'evaluations:run'", "now() + interval '1 hour'");
$t->sql("UPDATE logsvc_internal.access_token SET expires_at = now() - interval '1 second' WHERE "
	. "expires_at IS NOT NULL");
check('an expired token', '401 PAT_EXPIRED', at(%any, token => $expired->{token}));
check('a token without the scope', '403 INSUFFICIENT_SCOPE', at(%any, token => $no_scope));
check('a query without the scope to search', '403 INSUFFICIENT_SCOPE',
	at(body => '{"query":"x","criteria":"c"}', token => token('acme', $org->{email},
		"'evaluations:run'")->{token}));
check('a token of one who became a viewer', '403 FORBIDDEN', at(%any, token => $viewer_token));
check('a body over 10 MB', '413 FST_ERR_CTP_BODY_TOO_LARGE',
	at(body => $huge, token => $org->{token}));
check('text/plain, bad', '415 UNSUPPORTED_MEDIA_TYPE',
	at(headers => \%text, token => $org->{token}));
$r = check('a bad body, without credits', '400 VALIDATION_ERROR', at(token => $poor->{token}));
is(join(' ', map { $_->{path} } @{ $r->{json}{details} }), 'rows criteria', 'all that is wrong');
$t->set('logsvc.model_region', '');
$r = check('no credits, no region', '429 AI_CREDITS_EXHAUSTED',
	at(body => $good, token => $poor->{token}), members => 'code error limit remaining resetsAt');
like($r->{json}{resetsAt}, qr/^\d{4}-\d\d-01T00:00:00(?:\.000)?Z$/, 'resetsAt');
is("$r->{json}{limit} $r->{json}{remaining}", '100 0', 'limit and remaining');
$r = check('no region', '503 AI_PROVIDER_NOT_EU', at(body => $good, token => $org->{token}),
	retry => qr/^30$/);
is(join(' ', map { "$_->{path}:$_->{code}" } @{ $r->{json}{details} }), ':region', 'details');
check('a preview needs neither', '200 ', at(body => body(rows => ['x']), token => $poor->{token}));
$t->set('logsvc.model_region', 'eu-central-1');
check('a run', '200 ', at(body => $good, token => $org->{token}));
$r = at(body => $good, token => $org->{token}, headers => { 'X-Request-Id' => 'build-4711' });
is($r->{headers}{'x-request-id'}, 'build-4711', 'X-Request-Id of the client');
like($r->{headers}{'content-type'}, qr{^application/json}, 'Content-Type');

my $described = $t->http(GET => '/api/v1/openapi.json')->{json}{paths}{$path}{post}{responses};
is(join(' ', grep { !$described->{$_} } qw(200 400 401 403 413 415 429 502 503)), '',
	'the API description names every status');

# ---- sizes: 10 MB with a length and in chunks ----

foreach my $chunked (0, 1)
{
	my $way = $chunked ? 'in chunks' : 'with a length';
	foreach my $over (0, 1)
	{
		my $body = body(rows => ['x']);
		$body .= ' ' x ($limit + $over - length $body);
		my $sent = 0;
		my $give = sub { my $part = substr $body, $sent, 1 << 16; $sent += length $part;
			return $part; };
		$r = post($chunked ? $give : $body, client => "$way$over");
		is(told($r), $over ? '413 FST_ERR_CTP_BODY_TOO_LARGE' : '200 ',
			($over ? 'one byte more than 10 MB ' : '10 MB ') . $way);
	}
}

# ---- whose requests count: decisions 38, 39 ----

set_rate(4);
$t->organization('east');
$t->organization('west');
my %of = map { my $slug = $_; my $first = member($slug, 'ann@example.org', 'member');
	$slug => [ $first, token($slug, 'ann@example.org', "'evaluations:run'")->{token} ] }
		qw(east west);
my $bob = member('east', 'bob@example.org', 'admin');
my $ann_no_scope = token('east', 'ann@example.org', "'logs:read'")->{token};
my $ann_revoked = revoked(token('east', 'ann@example.org', "'evaluations:run'"));
my $remaining = sub { my ($r) = @_; return told($r) . ' '
	. ($r->{headers}{'x-ratelimit-remaining'} // '-'); };
is($remaining->(at(token => $ann_revoked)), '401 PAT_REVOKED -', 'a 401 does not count');
is($remaining->(at(token => $ann_no_scope)), '403 INSUFFICIENT_SCOPE 4',
	'a 403 does not count, and says what is left');
is($remaining->(at(token => $of{east}[0])), '400 VALIDATION_ERROR 3', 'a 400 counts');
is($remaining->(at(token => $of{east}[1], body => body(rows => ['x']))), '200  2',
	'a preview with another token counts too');
is($remaining->(at(token => $of{east}[0], headers => \%text)), '415 UNSUPPORTED_MEDIA_TYPE 1',
	'a 415 counts');
is($remaining->(at(token => $of{east}[1], body => $good)), '200  0', 'the last one of the minute');
foreach my $token (@{ $of{east} })
{
	$r = check('one more', '429 RATE_LIMIT_EXCEEDED', at(%any, token => $token),
		retry => qr/^(?:[1-9]|[1-5]\d|60)$/);
	is("$r->{headers}{'x-ratelimit-limit'} $r->{headers}{'x-ratelimit-remaining'}", '4 0',
		'limit and remaining');
	cmp_ok(abs($r->{headers}{'x-ratelimit-reset'} - time - $r->{headers}{'retry-after'}), '<=', 2,
		'X-RateLimit-Reset is the time of Retry-After, in seconds since 1970');
}
is(told(at(token => $ann_no_scope)), '403 INSUFFICIENT_SCOPE',
	'the scope is checked before the rate');
is($remaining->(at(token => $bob)), '400 VALIDATION_ERROR 3', 'another user of the organization');
is($remaining->(at(token => $of{west}[0])), '400 VALIDATION_ERROR 3',
	'the same user in another organization');
$t->sql("SELECT logsvc.act_as('west'); SELECT logsvc.remove_member('west', 'ann\@example.org')");
is(told(at(token => $_)), '401 PAT_REVOKED', 'a token of one who is no member any more')
	foreach @{ $of{west} };

$t->stop;
done_testing;
