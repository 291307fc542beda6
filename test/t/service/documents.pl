# documents.pl: documents and source say the same: errors, routes, rate classes, SQL functions
# and views; links and routes that documents mention are there.
use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

# ---- errors.def and the codes of docs/api.md ----

# [SQLSTATE, status, code, message] of each line of the table of errors.
sub errors
{
	my ($text) = @_;
	my @errors;
	push @errors, [ $1, $2, $3, $4 ]
	  while $text =~ /^LS_ERROR\(\w+,\s*"(\w+)",\s*(\d+),\s*"(\w+)",\s*"(.*)"\)$/mg;
	return @errors;
}

my $source = join "\n", map { "$_->[2] $_->[1] $_->[0] $_->[3]" }
	errors(slurp_file('src/base/errors.def'));

my ($codes) = slurp_file('docs/api.md') =~ /^## Codes$(.*?)(?=^## |\z)/ms;
my $page = join "\n",
  map { /^\| `(\w+)` \| (\d+) \| `(\w+)` \| (.*) \|$/ ? "$1 $2 $3 $4" : () } split /\n/, $codes;

cmp_ok(scalar(split /\n/, $source), '>', 30, 'errors.def is read');
is($page, $source, 'docs/api.md lists the errors of errors.def');

# ---- actions of the audit log, docs/audit.md and the console ----

# {user => 'created deleted'}, each in order
my %documented;
foreach (slurp_file('docs/audit.md') =~ /^\| (`\w+\.`.*) \|$/mg)
{
	my ($types, $verbs) = split / \| /, $_, 2;
	my %verbs = map { $_ => 1 } map { split ' ' } $verbs =~ /`([\w ]+)`/g;
	my @verbs = keys %verbs;
	$documented{$_} = join ' ', sort @verbs foreach $types =~ /`(\w+)\.`/g;
}
my ($listed) = slurp_file('src/console/audit/filters.js') =~ /actionsByType = \{(.*?)\};/s;
my %offered = $listed =~ /(\w+): '([\w ]+)'/g;
is_deeply({ map { $_ => join ' ', sort split / /, $offered{$_} } keys %offered }, \%documented,
	'the console offers the actions of docs/audit.md') or diag explain \%documented;

# ---- detail_codes.def, the source and docs/api.md ----

my @details = map { [ /^LS_DETAIL_CODE\("(\w+)",\s*"(.*)"\)$/ ? ($1, $2) : () ] } grep { /^LS_DETAIL_CODE/ }
  split /\n/, slurp_file('src/base/detail_codes.def');
my ($described) = slurp_file('docs/api.md') =~ /^### Codes of details$(.*?)(?=^##|\z)/ms;
is_deeply([ map { /^\| `(\w+)` \| (.*) \|$/ ? [ $1, $2 ] : () } split /\n/, $described ], \@details,
	'docs/api.md lists the codes of detail_codes.def');

# Codes that the source writes, where it writes details: by the shape of the calls.
my %written;
foreach my $file (glob 'src/*/*.c sql/api/*.sql')
{
	# What a model is told of its own reply is no answer of ours.
	next if $file =~ m{^src/verdict/verdict};
	my $text = slurp_file($file);
	my $word = qr/[a-z]+(?:_[a-z]+)*/;
	my @patterns = $file =~ /sql$/
	  ? (qr/'code',\s*'($word)'/, qr/'($word)'\s+AS code/, qr/\b(?:invalid|problem)\([^;]*?,\s*'($word)'\s*\)/s, qr/"code":\s*"($word)"/,
		qr/UNION ALL SELECT '[\w.]+', '($word)', '/, qr/(?:THEN|ELSE) '($word)' (?:ELSE '$word' )?END, coalesce/, qr/ELSE '($word)' END, coalesce/)
	  : (qr/\\"code\\":\s*\\"($word)\\"/, qr/\bproblem\(\w+, (?:[^(),"]|\([^()]*\))+,\s*"($word)"/, qr/\breport\(\w+, "($word)"/,
		qr/\breport\(\w+, [^;"]*\? "$word" : "($word)"/, qr/\bdetail\(\w+, [^,]+, "($word)"/,
		qr/\bls_validation_add\([^,]+,\s*[^,]+,\s*"($word)"/, qr/\b(?:fail_region|unavailable)\(\w+, "($word)"/,
		$file =~ m{^src/evaluation/} ? qr/reason = [^;]*?"($word)"/ : ());
	foreach my $pattern (@patterns)
	{
		$written{$1} = $file while $text =~ /$pattern/g;
	}
}
my %listed = map { $_->[0] => 1 } @details;
is_deeply([ map { "$_ ($written{$_})" } grep { !$listed{$_} } sort keys %written ], [], 'each code of a detail in the source is listed');
is_deeply([ grep { !$written{$_} } sort keys %listed ], [], 'and each that is listed is in the source');

# ---- routes.def and the routes of docs/api.md ----

my %credential = (T => 'token', S => 'session', U => 'user session', I => 'ingest key',
	R => 'read key', F => 'full key');

# { method, path, class, row: the line of docs/api.md } of each route that clients can ask.
sub routes
{
	my ($text) = @_;
	my @routes;
	my $string = qr/"([^"]*)"/;
	while ($text =~
		/^LS_ROUTE\(\w+,\s*$string,\s*$string,\s*$string,\s*$string,\s*$string,\s*$string,\s*\w+,\s*$string,\s*(\d+),\s*$string\)$/mg)
	{
		my ($method, $path, $credentials, $permission, $scope, $class, $status, $summary) = ($1, $2,
			$3, $4, $5, $6, $8, $9);
		next if $path eq '';
		my $who = join(', ', map { $credential{$_} // () } split //, $credentials) || 'none';
		my @columns = ("`$method $path`", $who, (map { length ? "`$_`" : '' } $permission, $scope,
			$class), $status, $summary);
		push @routes, { method => $method, path => $path, class => $class, row => '| '
			. join(' | ', @columns) . ' |' };
	}
	return @routes;
}

my $routes_def = slurp_file('src/gateway/routes.def');
my @routes = routes($routes_def);
my ($all_routes) = slurp_file('docs/api.md') =~ /^## All routes$(.*?)(?=^## |\z)/ms;
my $listed = join "\n", grep { /^\| `/ } split /\n/, $all_routes // '';

is(scalar(@routes), scalar(() = $routes_def =~ /^LS_ROUTE\(\w+, "\w+", "\//mg),
	'every route of routes.def is read');
cmp_ok(scalar(@routes), '>', 100, 'they are many');
is($listed, join("\n", map { s/ +\|/ |/gr } map { $_->{row} } @routes),
	'docs/api.md lists the routes of routes.def');

my @guides = (sort(glob('docs/*.md')), 'README.md');
my %is_route = map { my $path = $_->{path} =~ s/\{\w+\}/{}/gr;
	("$_->{method} $path" => 1) } @routes;
foreach my $file (grep { !m{/(builtin-evaluator|decisions)\.md$} } @guides)
{
	my @unknown;
	my $text = slurp_file($file);
	while ($text =~ /`(GET|POST|PUT|PATCH|DELETE) (\/[^\s`?]*)/g)
	{
		my ($method, $path) = ($1, $2);
		my $template = $path =~ s/\{\w+\}/{}/gr;
		# Documents of one area leave /api/v1 out.
		push @unknown, "$method $path" unless $template =~ /\.\.\.$/
			|| $is_route{"$method $template"} || $is_route{"$method /api/v1$template"};
	}
	is("@unknown", '', "$file: routes that it names are there");
}

# ---- permissions.def and the table of roles ----

my @permissions = map { s/\s+//gr }
  slurp_file('src/access/permissions.def') =~ /^LS_PERMISSION\(\w+,(.*)\)$/mg;
cmp_ok(scalar(@permissions), '>', 15, 'permissions.def is read');

# A line of it from the row of a table: | text | `permission` | yes or nothing, of each role | scope | keys |
my %letter = ('ingest-only' => 'I', 'read-only' => 'R', 'full-access' => 'F');
sub permission_of
{
	my (undef, undef, $permission, @cells) = split /\s*\|\s*/, $_[0], -1;
	my $roles = join '', map { $cells[$_] eq 'yes' ? substr('OAMV', $_, 1) : '' } 0 .. 3;
	my $keys = join '', map { $letter{$_} } split /, /, $cells[5] // '';
	return join ',', map { qq("$_") } map { tr/`//dr } $permission, $roles, $cells[4], $keys;
}
my ($roles_page) = slurp_file('docs/management.md') =~ /^## Roles$(.*?)(?=^## |\z)/ms;
my @roles_listed = map { permission_of($_) } grep { /^\| [^|]+ \| `/ } split /\n/, $roles_page;
# Test keys are not in it.
is(join("\n", @roles_listed), join("\n", map { s/t"$/"/r } @permissions),
	'docs/management.md says what roles may do');

# ---- tables ----

# What renderers make a table of begins with a head and a line of dashes, and each of its rows has
# as many cells; a bar in code is a border, too, unless it is written as \|.
foreach my $file (@guides, glob('src/*/README.md test/*/README.md'), 'CONTRIBUTING.md',
	'test/README.md')
{
	my (@broken, $cells, $fenced, $before);
	my $number = 0;
	foreach my $line (split /\n/, slurp_file($file))
	{
		$number++;
		$fenced = !$fenced if $line =~ /^\s*```/;
		if ($fenced || $line !~ /^ {0,3}\|/)
		{
			($cells, $before) = ();
			next;
		}
		my $count = () = $line =~ /(?<!\\)\|/g;
		if (!defined $cells)
		{
			# The second line decides whether it is one.
			push @broken, "$number has no head"
				if defined $before && $line !~ /^[\s|:-]+$/;
			($before, $cells) = defined $before ? (undef, $before) : ($count, undef);
		}
		push @broken, "$number has $count bars, not $cells" if defined $cells && $count != $cells;
		push @broken, "$number does not end" if $line !~ /\|\s*$/;
	}
	is(join('; ', @broken), '', "$file: its tables are whole");
}

# ---- rate classes and docs/quotas.md ----

my %class = map { $_->{class} => 1 } grep { length $_->{class} } @routes;
my ($rates) = slurp_file('docs/quotas.md') =~ /^## Rate limits$(.*?)(?=^## |\z)/ms;
my %class_listed = map { s/,//gr } $rates =~ /^\| `(\w+)` \| .*? \| ([\d,]+) \|/mg;
is(join(' ', grep { !$class_listed{$_} } sort keys %class), '',
	'docs/quotas.md has each rate class of routes.def');

# ---- functions and views of schema logsvc, and docs/sql.md ----

my $t = LogsvcTest->new(ready => 0, limits => 1, conf => "logsvc.model_region = 'eu'");
my $sql_page = slurp_file('docs/sql.md');

# Arguments as `name type, ...` of each function; the same name may be there with several.
my %function;
foreach (split /\n/, $t->sql(q{
	SELECT p.proname || '|' || coalesce((SELECT string_agg(a.name || ' ' || format_type(a.type, NULL), ', ' ORDER BY a.i)
		FROM unnest(p.proargnames, p.proargtypes::oid[]) WITH ORDINALITY AS a(name, type, i) WHERE a.type IS NOT NULL), '')
	FROM pg_proc p WHERE p.pronamespace = 'logsvc'::regnamespace}))
{
	my ($name, $arguments) = split /\|/, $_, 2;
	push @{ $function{$name} }, $arguments // '';
}
my %view = map { $_ => 1 } split /\n/, $t->sql("SELECT relname FROM pg_class WHERE relnamespace = "
	. "'logsvc'::regnamespace AND relkind = 'v'");
my $limits = $t->sql("SELECT string_agg(class || ' ' || per_minute, E'\\n' ORDER BY class COLLATE "
	. "\"C\") FROM logsvc_internal.rate_limit");

# ---- docs/help.md and logsvc.help ----

my $help_page = slurp_file('docs/help.md');
my @topics = $help_page =~ /^## ([a-z]+): /mg;
cmp_ok(scalar(@topics), '>', 5, 'docs/help.md has topics');
is(scalar(() = $help_page =~ /^## /mg), scalar(@topics), 'each with a title');
is($t->sql('SELECT logsvc.help()') =~ s/^SELECT logsvc\.help\('(\w+)'\);.*$/$1/gmr,
	join("\n", @topics), 'logsvc.help() lists them');
my %setting = map { $_ => 1 } split /\n/, $t->sql("SELECT name FROM pg_settings WHERE name LIKE "
	. "'logsvc.%'");
$t->sql(q{
	CREATE ROLE app LOGIN IN ROLE logsvc_tenant;
	SELECT logsvc.create_organization('acme', 'enterprise', owner => 'ann@acme.example')});
my $token = $t->sql(q{SELECT logsvc.create_token('acme', 'ann@acme.example', 'help',
	'{logs:read,logs:write,evaluations:run,keys:write}') ->> 'token'});
foreach my $topic (@topics)
{
	my ($section) = $help_page =~ /^## $topic: [^\n]*\n+(.*?)\n*(?=^## |\z)/ms;
	is($t->sql("SELECT logsvc.help('$topic')", user => 'app'), $section, "help of $topic");
	is(join(' ', grep { length > 110 } split /\n/, $section), '', "$topic: fits into a window");
	cmp_ok(scalar(split /\n/, $section), '<', 40, "$topic: on one screen");
	is(join(' ', grep { !$setting{$_} && !$function{ s/logsvc\.//r } && !$view{ s/logsvc\.//r } }
		$section =~ /\b(logsvc\.[a-z_]+)\b(?!')/g), '', "$topic: what it names is there");

	# Its statements work, in one session, as a superuser acting for the organization.
	my @statements = grep { !/CREATE EXTENSION|create_organization/ }
	  join("\n", $section =~ /^ {4}((?:SELECT|UPDATE| ).*)$/mg) =~ /((?:SELECT|UPDATE)[^;]*;)/g;
	my $run = join "\n", "SELECT logsvc.act_as('acme') IS NULL;", @statements;
	$run =~ s/pat_\.\.\./$token/g;
	my (undef, $state, $said) = $t->sql_error($run);
	is($state, '', "$topic: its " . @statements . ' statements work') or diag $said;
}
is(($t->sql_error("SELECT logsvc.help('nonsense')", user => 'app'))[1], 'LS001',
	'another topic is refused');
$t->stop;

cmp_ok(scalar(keys %function), '>', 50, 'functions are read');
is(join("\n", map { "$_ $class_listed{$_}" } sort keys %class_listed), $limits,
	'docs/quotas.md has the classes and limits of table rate_limit');

# Signatures in tables; of the functions that are listed by name only, the names.
my (%documented, @wrong);
while ($sql_page =~ /^\| (`logsvc\.[^|]*)\|/mg)
{
	foreach my $entry ($1 =~ /`logsvc\.([^`]*)`/g)
	{
		my ($name, $arguments) = $entry =~ /^(\w+)(?:\((.*)\))?$/ or die "what is $entry?";
		$documented{$name} = 1;
		next if !defined $arguments && $view{$name};
		$arguments //= '';
		# Names, and types where the page gives them.
		my @given = map { /^"?(\w+)"?(?:(?: =>)? (?!DEFAULT)(.+?))?(?: DEFAULT .*)?$/ ? [ $1, $2 ]
			: [ $_, '' ] } split /, /, $arguments;
		my $match = 0;
		foreach my $signature (@{ $function{$name} // [] })
		{
			my @has = map { [ split / /, $_, 2 ] } split /, /, $signature;
			next if @has != @given;
			$match ||= !grep {
				my ($given, $has) = ($given[$_], $has[$_]);
				my $type = ($given->[1] // $has->[1]) =~ s/^int$/integer/r
					=~ s/^timestamptz$/timestamp with time zone/r;
				$given->[0] ne $has->[0] || $type ne $has->[1];
			} 0 .. $#has;
		}
		push @wrong, "$entry: there is "
			. join(' or ', map { "($_)" } @{ $function{$name} // ['nothing'] }) unless $match;
	}
}
is(join("\n", @wrong), '', 'docs/sql.md: signatures are those of the catalog');
my ($twins) = $sql_page =~ /^(The routes of \[management\.md\].*?)\n\n/ms;
my @twins = $twins =~ /`(\w+)`(?=[,.])/g;
is(join(' ', grep { !$function{$_} } @twins), '', 'docs/sql.md: functions that it lists are there');
$documented{$_} = 1 foreach @twins;
is(join(' ', grep { !$documented{$_} } sort(keys %function, keys %view)), '',
	'docs/sql.md has every function and view');
foreach my $file (@guides)
{
	my %called = map { $_ => 1 } slurp_file($file) =~ /\blogsvc\.(\w+)\(/g;
	is(join(' ', grep { !$function{$_} } sort keys %called), '',
		"$file: functions that it calls are there");
}

# ---- links between documents ----

foreach my $file
	(sort(glob('docs/*.md src/*/README.md test/README.md test/*/README.md test/data/*/README.md')),
		'sql/README.md', 'README.md',
	'CONTRIBUTING.md', 'CHANGELOG.md')
{
	my $text = slurp_file($file);
	my ($folder) = $file =~ m{^(.*/)};
	my @broken;

	while ($text =~ /\]\(((?:[^)#:\s]+\.md)?)(?:#([\w-]+))?\)/g)
	{
		my ($target, $anchor) = (length $1 ? ($folder // '') . $1 : $file, $2);
		push @broken, $target unless -e $target;
		push @broken, "$target#$anchor"
		  if -e $target && defined $anchor && !grep { $_ eq $anchor } anchors(slurp_file($target));
	}
	is("@broken", '', "$file: links lead somewhere");
}

# The anchors of the headings, as they are made from them, and those that are written out.
sub anchors
{
	my ($text) = @_;
	return $text =~ /<a id="([\w-]+)">/g,
	  map { my $a = lc; $a =~ s/[^\w\- ]//g; $a =~ tr/ /-/; $a } $text =~ /^#+ (.+)$/mg;
}

done_testing;
