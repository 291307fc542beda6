#!/usr/bin/perl
# make lint: the laws of the source layout (docs/architecture.md).
use strict;
use warnings;

use Digest::SHA;

my @order = qw(base server ipc pattern part engine verdict judge model gateway decode pipeline identity access scan store ingest query evaluation notify
  workspace api workers);
# Rooms without PostgreSQL; in the others a file says "(pure" in its first lines.
my %pure_room = map { $_ => 1 } qw(base pattern part engine verdict judge model gateway decode pipeline identity);
my %rank;
@rank{@order} = (0 .. $#order);

# The public headers of a folder: what other folders may include.
my %public = (
	base => [qw(pure.h json_document.h json_schema.h hash_table.h errors.def parameter.h listener.h sigv4.h measure.h)],
	server => [qw(server.h compat.h curl.h metrics.h)],
	ipc => [qw(ipc.h frame.h)],
	pattern => [qw(pattern.h)],
	identity => [qw(breach.h browser.h id_token.h)],
	access => [qw(access.h)],
	part => [qw(part.h filter.h filter_eval.h match.h event_id.h day_filter.h)],
	engine => [qw(engine.h text.h times.h)],
	verdict => [qw(evaluation_core.h request_reader.h verdict_reader.h)],
	judge => [qw(judge.h)],
	model => [qw(protocol.h protocol_internal.h)],
	scan => [qw(scan.h part_scan.h part_body.h engine_host.h)],
	store => [qw(store.h)],
	decode => [qw(decode.h wire_format.h)],
	pipeline => [qw(pipeline.h)],
	ingest => [qw(ingest.h)],
	query => [qw(query.h ast.h bind.h)],
	evaluation => [qw(evaluation.h)],
	notify => [qw(mail.h mail_message.h deliveries.h uploads.h)],
	workspace => [qw(workspace.h)],
	gateway => [qw(gateway.h http_choice.h framing.h)],
	api => [qw(http.h evaluation_route.h mcp_route.h)],
	workers => [qw(workers.h)]);

# One library, one place.
my @libraries = (
	[qr/<curl\//, qr/^src\/server\/curl\.c$/, 'libcurl'],
	[qr/<jansson/, qr/^src\/base\/json_document\.c$/, 'jansson'],
	# Small and rare JSON only (src/base/README.md).
	[qr/"src\/base\/json_document\.h"/, qr/^src\/(base\/json_(document|schema)\.[ch]|query\/translate_elastic\.c|identity\/id_token\.h|model\/protocol_internal\.h|gateway\/(openapi\.c|schemas\.c|gateway\.h)|workspace\/document\.c|pipeline\/pipeline_compile\.c|api\/oauth_routes\.c)$/, 'jansson'],
	[qr/<openssl\//, qr/^src\/(server\/crypto|base\/digest|gateway\/gateway_tls)\.c$/, 'OpenSSL'],
	[qr/<(zstd|lz4\w*)\.h>/, qr/^src\/part\/part_codec\.c$/, 'zstd and lz4'],
	[qr/<snappy[\w-]*\.h>/, qr/^src\/decode\/snappy_decode\.c$/, 'snappy'],
	[qr/<zlib\.h>/, qr/^src\/decode\/gunzip\.c$/, 'zlib'],
	[qr/<pcre2\.h>/, qr/^src\/part\/regex\.c$/, 'PCRE2']);

my @problems;
sub problem { push @problems, join ': ', @_ }

sub read_lines
{
	my ($file) = @_;
	open my $in, '<', $file or return;
	chomp(my @lines = <$in>);
	return @lines;
}

# Of a pure room, or its opening comment says so.
sub is_pure
{
	my ($file) = @_;
	return 1 if $file =~ m{^src/(\w+)/} && $pure_room{$1};
	return join("\n", grep { defined } (read_lines($file))[0 .. 11]) =~ /\(pure/;
}

my @files = grep { !/src\/query\/(parser|lexer)\.[ch]$/ } split /\n/, `git ls-files --cached --others --exclude-standard 'src/*.c' 'src/*.h' 'src/*.y' 'src/*.l' 'test/debug/*.c'`;
my %known_name = map { m{([^/]+)$} ? ($1 => 1) : () } split /\n/, `git ls-files --cached --others --exclude-standard`;
for my $file (grep { -e } @files)
{
	open my $in, '<', $file or die "$file: $!\n";
	my @lines = <$in>;
	my $text = join '', @lines;
	my ($folder) = $file =~ m{^src/(\w+)/};
	my $pure = is_pure($file);

	problem($file, scalar(@lines) . ' lines, more than 1,000') if @lines > 1000;
	# What is longer is a table of cases: names of members, letters of formats, settings.
	while ($text =~ /^([a-z_]\w*)\([^;{}]*\)\n\{\n(.*?)^\}$/gms)
	{
		my ($name, $lines) = ($1, $2 =~ tr/\n//);
		problem($file, "$name has $lines lines, more than 80") if $lines > 80 && $name !~ /^(slot_of|ls_time_print|ls_guc_register)$/;
	}
	problem($file, 'not ASCII') if $text =~ /[^\x00-\x7f]/;
	problem($file, 'space at the end of a line') if $text =~ /[ \t]$/m;
	problem($file, 'advisory locks are for everybody who may run SQL') if $text =~ /pg_\w*advisory/;
	for my $i (0 .. $#lines)
	{
		my $line = $lines[$i];
		my $at = "$file:" . ($i + 1);

		if ($line =~ /^\s*#\s*include\s+"src\/(\w+)\/([\w.]+)"/)
		{
			my ($other, $header) = ($1, $2);
			if (defined $folder && $other ne $folder)
			{
				problem($at, "$folder must not include $other") if $rank{$other} > $rank{$folder};
				problem($at, "$header is not a public header of $other")
					unless grep { $_ eq $header } @{ $public{$other} };
			}
			problem($at, "a pure file includes $header, which is not") if $pure && $header =~ /\.h$/ && !is_pure("src/$other/$header") && $header ne 'parser.h';
		}
		problem($at, 'a pure file includes the server')
			if $pure && $line =~ /#\s*include\s+["<](postgres|fmgr|utils\/|miscadmin|storage\/)/;
		for my $library (@libraries)
		{
			problem($at, "$library->[2] is used in another place")
				if $line =~ /#\s*include\s+$library->[0]/ && $file !~ $library->[1];
		}
		problem($at, 'PG_VERSION_NUM outside of server/compat.h')
			if $line =~ /\bPG_VERSION_NUM\b/ && $file ne 'src/server/compat.h';
		problem($at, 'a transaction outside of server/tx.c')
			if $line =~ /\b(Start|Commit)TransactionCommand\s*\(/ && $file ne 'src/server/tx.c';
		problem($at, 'a route is compared by its text: LS_ROUTE_NAME')
			if $line =~ /str\w*cmp\([^;]*(ls_routes\[|route[-.>]+(name|path|handler))/ && $file !~ m{/(routes|openapi)\.c$};
		problem($at, 'abort, exit or printing')
			if $line =~ /(?<![\w.>])(abort|exit|printf|fprintf|strcpy|strcat|sprintf|gets)\s*\(/
			&& $line !~ /^\s*(\*|\/\*)/;
		problem($at, 'ereport without errcode or an error of ours')
			if $line =~ /ereport\(ERROR,\s*errmsg/;
	}
	# Comments name files that are there.
	for my $i (0 .. $#lines)
	{
		next unless $lines[$i] =~ m{^\s*/?\*};
		while ($lines[$i] =~ m{(?<![\w*./>-])([a-z][a-z0-9_]*\.(?:c|def))\b}g)
		{
			problem("$file:" . ($i + 1), "there is no file $1") unless $known_name{$1} || $1 =~ /^(parser|lexer)\.c$/;
		}
	}
	problem($file, 'does not say its role in its first lines')
		if $file =~ /\.[chyl]$/ && $lines[0] !~ /^(\/\*|%\{)/ && $lines[1] !~ /^\/\*/;
}

{
	my %seen;
	for my $file (grep { -e } @files)
	{
		my ($name) = $file =~ m{([^/]+)$};
		problem($file, "has the name of $seen{$name}") if $seen{$name};
		$seen{$name} = $file;
	}
}

# Files call one way: none is called, through whichever others, by one that it calls.  Calls are the names of
# functions that another file defines; those through a pointer are not seen.
{
	my (%text, %defined_in, %calls, %number, %lowest, %waiting, @stack);
	my $count = 0;
	for my $file (grep { -e && /^src\/.*\.[cyl]$/ } @files)
	{
		my $text = join "\n", read_lines($file);
		$text =~ s{/\*.*?\*/}{}gs;
		$text =~ s{"(?:\\.|[^"\\\n])*"}{""}g;
		$text{$file} = $text;
		while ($text =~ /^(\w[^\n;{}()]*)\n([a-z_]\w*)\([^;{}]*\)\s*\{/mg)
		{
			my ($type, $name) = ($1, $2);
			$defined_in{$name} = $file unless $type =~ /\bstatic\b/;
		}
	}
	for my $file (keys %text)
	{
		for my $name ($text{$file} =~ /\b([a-z_]\w*)\b/g)
		{
			my $other = $defined_in{$name};
			$calls{$file}{$other} = $name if defined $other && $other ne $file;
		}
	}
	# Tarjan's strongly connected components.
	my $visit;
	$visit = sub {
		my ($file) = @_;
		$number{$file} = $lowest{$file} = ++$count;
		push @stack, $file;
		$waiting{$file} = 1;
		for my $other (sort keys %{ $calls{$file} })
		{
			$visit->($other) unless $number{$other};
			$lowest{$file} = $lowest{$other} if $waiting{$other} && $lowest{$other} < $lowest{$file};
		}
		return if $lowest{$file} != $number{$file};
		my @circle;
		do { push @circle, pop @stack; delete $waiting{ $circle[-1] } } until $circle[-1] eq $file;
		return if @circle == 1;
		my %in = map { $_ => 1 } @circle;
		for my $from (sort @circle)
		{
			problem($from, 'is in a circle of calls', "$calls{$from}{$_} of $_") for grep { $in{$_} } sort keys %{ $calls{$from} };
		}
	};
	$visit->($_) for grep { !$number{$_} } sort keys %text;
	problem('test/lint.pl', 'finds no functions') if keys %defined_in < 1000;
	undef $visit;
}

for my $folder (@order)
{
	problem("src/$folder", 'has no README.md')
		if (() = glob("src/$folder/*.c")) && !-e "src/$folder/README.md";
}

# A code or an SQLSTATE says which error it is.
{
	my %seen;
	foreach (map { /^LS_ERROR\((\w+),\s*"(\w+)"/ ? ($1, $2) : () } read_lines('src/base/errors.def'))
	{
		problem('src/base/errors.def', "$_ is there twice") if $seen{$_}++;
	}
}

# The tables of a folder's README name its files, all and no others, in lines of `FILE`, `FILE` | role.
# (The console has a rule of its own: each of its files says its role itself.)
for my $readme (grep { -e && $_ ne 'src/console/README.md' } glob 'src/*/README.md')
{
	my ($folder) = $readme =~ m{^(.*/)};
	my %named = map { $_ => 1 } map { /^\| (`[^|]*?) \|/ ? $1 =~ /`([\w]+\.\w+)`/g : () } read_lines($readme);
	my %there = map { s{.*/}{}r => 1 } grep { -e && $_ ne $readme && !m{query/(parser|lexer)\.[ch]$} }
	  split /\n/, `git ls-files --cached --others --exclude-standard '$folder'`;
	problem($readme, "does not say the role of $_") foreach grep { !$named{$_} } sort keys %there;
	problem($readme, "names $_, which is not in this folder") foreach grep { !$there{$_} } sort keys %named;
}

# Tests in test/t are in a room; their names are those of their clusters and logs, so each is there once.
{
	my %seen;
	for my $file (split /\n/, `git ls-files --cached --others --exclude-standard test/t`)
	{
		next unless -e $file;
		my ($name) = $file =~ m{^test/t/\w+/(\w+\.pl)$};
		if (!defined $name) { problem($file, 'is not test/t/ROOM/NAME.pl (modules are in test/lib)'); next; }
		problem($file, "has the name of $seen{$name}") if $seen{$name};
		$seen{$name} = $file;
	}
}

# Code of tests has at most 100 columns: a line without its texts, regular expressions and SQL.
for my $file (grep { -e && !m{^test/(mutation|corpus|data|npm|upgrade|lint\.pl)} }
	split /\n/, `git ls-files --cached --others --exclude-standard 'test/*.pl' 'test/*.pm' 'test/*.sql' 'test/*.[ch]'`)
{
	my $n = 0;
	for my $line (read_lines($file))
	{
		$n++;
		utf8::decode($line);
		1 while $line =~ s/^([^\t]*)\t/$1 . ' ' x (4 - length($1) % 4)/e;
		next if length $line <= 100;
		$line =~ s/(["'`])(?:\\.|(?!\1).)*\1/$1$1/g;
		$line =~ s/\b(?:qr|qq?|m|s)\{[^{}]*\}|(?:\b(?:qr|m|s)|^\s*)\/(?:\\.|[^\/])*\/|^\s*m\{.*//g;
		$line =~ s/(?:["'`]|\bqq?\{).*// unless $line =~ m{^\s*(?:#|--|\*|/\*)};
		problem("$file:$n", 'has more than 100 columns')
			if length $line > 100 && $line !~ /\b(?:SELECT|INSERT|CREATE|FROM|WHERE|AND|VALUES|DEFAULT)\b/;
	}
}

# The web console: small modules, of which nothing turns text into markup or code, and which speak with
# this server only.
for my $file (grep { -e && !m{^src/console/vendor/} } split /\n/, `git ls-files --cached --others --exclude-standard src/console`)
{
	my @lines = read_lines($file);
	my $is_page = $file =~ /\.html$/;
	my @forbidden = (
		[qr/\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|srcdoc)\b|\bdocument\.write/, 'text becomes markup'],
		[qr/\beval\s*\(|\bnew\s+Function\b|\bset(?:Timeout|Interval)\s*\(\s*["'`]/, 'text becomes code'],
		[qr/\bstyle\s*=\s*["'`]|\bstyle=\$\{\s*`|setAttribute\(\s*["'`]style\b/, 'an inline style'],
		[qr{\b(?:https?|wss?)://(?!www\.w3\.org/|[.`'"\$]|\.\.\.)}, 'the name of a host'],
		[qr/^ +\S/, 'indented with spaces'],
		[qr/[ \t]$/, 'space at the end of a line']);

	next unless $file =~ /\.(?:js|css|html|svg)$/;
	push @forbidden, [qr/\bon\w+\s*=\s*["']|<script(?![^>]*\bsrc=)|<style\b/, 'an inline script or style'] if $is_page;
	push @forbidden, [qr/\bfetch\s*\(|\bnew\s+(?:EventSource|XMLHttpRequest|WebSocket)\b/, 'a call outside of api.js']
		if $file =~ /\.js$/ && $file ne 'src/console/api.js';
	problem($file, scalar(@lines) . ' lines, more than 400') if @lines > 400;
	my ($name) = $file =~ m{([^/]+)$};
	my $text = join "\n", @lines;
	problem($file, "does not begin with a comment '$name: ' and its role") if $file =~ /\.(?:js|css)$/ && $text !~ m{^/(?:/|\*\s+\*) \Q$name\E: };
	for my $list ($text =~ /^import \{([^}]*)\}/mg)
	{
		for my $import ($list =~ /(\w+)\s*(?:,|$)/g)
		{
			my $uses = () = $text =~ /\b$import\b/g;
			problem($file, "imports $import and does not use it") if $uses < 2;
		}
	}
	for my $i (0 .. $#lines)
	{
		# Continued comments are indented by one space more than tabs.
		my $line = $lines[$i] =~ s/^(\t*) \*/$1*/r;
		problem("$file:" . ($i + 1), $_->[1]) foreach grep { $line =~ $_->[0] } @forbidden;
	}
}
if (-e 'src/console/vendor')
{
	problem('src/console/vendor', $_) foreach split /\n/, `tools/console-vendor-check 2>&1`;
}

# Exported symbols.
if (-e 'logsvc.so')
{
	for (split /\n/, `nm -D --defined-only logsvc.so`)
	{
		my ($symbol) = /\s(\w+)$/ or next;
		problem('logsvc.so', "exports $symbol")
			unless $symbol =~ /^(ls_|logsvc_|pg_finfo_logsvc_|Pg_magic_func$|_PG_init$)/;
	}
}
else { problem('logsvc.so', 'is not built') }

# What only tests and benchmarks call is not in it: in a debug build, what a release build would have.
if (-e 'logsvc.so' && `nm logsvc.so` !~ /\bls_stop_point\b/)
{
	problem($_) foreach split /\n/, `test/release-library logsvc.so 2>&1`;
}
{
	my $sql = join '', map { join "\n", read_lines($_) } glob 'sql/schema/*.sql sql/api/*.sql sql/released/*.sql';
	for my $file (grep { m{^src/.*\.c$} && -e } @files)
	{
		my $text = join("\n", read_lines($file)) =~ s/^#ifdef LS_STOP_POINTS.*?^#(?:endif|else)//msgr;
		problem($file, "$_ is for tests or benchmarks: test/debug, test/bench") foreach grep { $sql !~ /'$_'/ } $text =~ /^PG_FUNCTION_INFO_V1\((\w+)\)/mg;
	}
}

# Format.
my @c = grep { /\.[ch]$/ && -e } @files;
my $unformatted = `clang-format --dry-run @c 2>&1 | grep -o '^src/[^:]*' | sort -u`;
problem($_, 'is not formatted (clang-format -i)') for split /\n/, $unformatted;

# Locks that everybody may take keep nobody waiting.
problem($_, 'advisory locks are for everybody who may run SQL') for split /\n/, `grep -nE 'pg_[a-z_]*advisory' sql/schema/*.sql sql/api/*.sql`;

# A body that is a text is read with the caller's standard_conforming_strings.
foreach my $file (glob 'sql/schema/*.sql sql/api/*.sql')
{
	my $text = join "\n", read_lines($file);
	while ($text =~ /--[^\n]*|"[^"]*"|\bE'(?:[^'\\]|''|\\.)*'|('(?:[^']|'')*')/gs)
	{
		problem($file, "write E$1 with each backslash twice") if ($1 // '') =~ /\\/;
	}
}

# Each part of the SQL is loaded once, and a change of tables has its step of an upgrade.
{
	my @listed = grep { /^[^#]/ } read_lines('sql/load_order');
	my %listed;
	$listed{"sql/$_"}++ foreach @listed;
	my @parts = sort glob 'sql/schema/*.sql sql/api/*.sql';
	problem('sql/load_order', "$_ is listed " . ($listed{$_} // 0) . ' times') foreach grep { ($listed{$_} // 0) != 1 } @parts;
	problem('sql/load_order', "$_ is not there") foreach grep { !-e } sort keys %listed;
	my ($version) = join('', read_lines('logsvc.control')) =~ /default_version = '(.*?)'/;
	my ($step) = glob "sql/upgrade/*--$version.sql";
	my $sum = Digest::SHA->new(256);
	$sum->addfile($_) foreach grep { m{/schema/} } @parts;
	my $expected = '-- schema ' . substr($sum->hexdigest, 0, 16);
	if (!defined $step) { problem('sql/upgrade', "no step to $version"); }
	elsif ((read_lines($step))[0] ne $expected)
	{
		problem($step, "sql/schema has changed: write the change here, and the first line '$expected'");
	}
}

# The SQL of a release calls this library until ALTER EXTENSION logsvc UPDATE: a C function that takes or
# returns other types than there would read what was not passed, so it has another name.
{
	my $types_of = sub {
		my ($sql, %types) = @_;
		while ($sql =~ /CREATE (?:OR REPLACE )?FUNCTION [\w.]+\s*\(([^;]*?)\)\s*RETURNS\s([^;]*?)AS 'MODULE_PATHNAME', '(\w+)'/gi)
		{
			my ($arguments, $returns, $name) = ($1, $2, $3);
			$arguments =~ s/\s+DEFAULT [^,]*//gi;
			$returns =~ s/\b(?:LANGUAGE|VOLATILE|STABLE|IMMUTABLE|STRICT|PARALLEL|SECURITY|COST|ROWS|SET)\b.*//s;
			$types{$name}{ "($arguments) $returns" =~ s/\s+/ /gr =~ s/ $//r =~ s/(^\( ?|, ?)(?:"\w+"|\w+) (?=\w)/$1/gr } = 1;
		}
		return \%types;
	};
	my $text_of = sub { return join "\n", map { read_lines($_) } @_ };
	my $now = $types_of->($text_of->(glob 'sql/api/*.sql sql/schema/*.sql'));
	problem('sql/api', 'no C function is found') if keys %$now < 100;
	for my $file (glob 'sql/released/*.sql')
	{
		my $then = $types_of->($text_of->($file));
		problem($file, 'no C function is found') if keys %$then < 80;
		for my $name (grep { exists $now->{$_} } sort keys %$then)
		{
			my ($is, $was) = map { join ' | ', sort keys %{ $_->{$name} } } $now, $then;
			problem('sql/api', "$name takes $is, and in $file $was: call it ${name}_VERSION, and put $name into src/server/former_functions.c") if $is ne $was;
		}
	}
}

# References lead somewhere: decisions are in docs/decisions.md, the specification is not here.
{
	my %decided;
	for (read_lines('docs/decisions.md'))
	{
		my ($numbers) = /^\| (\d+(?:, \d+)*) \|/ or next;
		$decided{$_} = 1 foreach split /, /, $numbers;
	}
	for my $line (split /\n/, `git grep -nE '(decisions? [0-9]|pecification [0-9])' -- ':!docs/decisions.md' ':!sql/released' ':!test/lint.pl'`)
	{
		problem($line, 'cites the specification, which readers do not have') if $line =~ /pecification \d/;
		while ($line =~ /decisions? (\d+(?:(?:, | and | to |-)\d+)*)/g)
		{
			my $numbers = $1;
			problem($line, "there is no decision $_") foreach grep { !$decided{$_} } $numbers =~ /\d+/g;
		}
	}
}

# make help names every target that somebody may want, and no other.
{
	my (%explained, %declared);
	for my $file (qw(Makefile test/test.mk test/unit/unit.mk))
	{
		for (read_lines($file))
		{
			$explained{$1} = $file if /^## make ([\w-]+) /;
			next unless /^\.PHONY: (.*)/ && !/# internal$/;
			$declared{$_} = $file foreach split ' ', $1;
		}
	}
	problem($declared{$_}, "no line '## make $_ ...' for make help") foreach grep { !$explained{$_} } sort keys %declared;
	my %pgxs = map { $_ => 1 } qw(install clean installcheck);
	problem($explained{$_}, "make help has $_, which is no .PHONY target") foreach grep { !$declared{$_} && !$pgxs{$_} } sort keys %explained;
}

# Nothing of one machine, no registry.
for (split /\n/, `git grep -nE '(^|[^a-zA-Z0-9_.])/(work|home|root)/' -- ':!test/lint.pl' 2>/dev/null`)
{
	problem($_, 'a path of one machine');
}

# Mutations whose text and tests are still there.
problem($_) for split /\n/, `$^X test/mutation/access.pl --stale`;

my @sizes = sort { $a <=> $b } map { my $n = () = do { local (@ARGV, $/) = $_; <> } =~ /\n/g; $n } grep { /\.c$/ && -e } @files;
printf "lint: %d files, median %d lines, largest %d\n", scalar(@sizes), $sizes[$#sizes / 2], $sizes[-1];
print "$_\n" for @problems;
print @problems ? scalar(@problems) . " problems\n" : "lint: clean\n";
exit(@problems ? 1 : 0);
