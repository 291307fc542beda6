# console_build.pl: tools/console-pack, from modules to the files that the gateway serves,
# and how much of the console there is to load.
use strict;
use warnings;

use lib 'tools';

use ConsoleTemplates qw(compile_templates);
use Digest::SHA qw(sha256_hex);
use File::Find qw(find);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use LogsvcBrowser;
use Test::More;

my $tmp = tempdir(CLEANUP => 1);

sub write_file
{
	my ($name, $text) = @_;
	make_path("$tmp/$name" =~ s{/[^/]+$}{}r);
	open my $out, '>:raw', "$tmp/$name" or die "$name: $!";
	print $out $text;
	close $out;
}

sub content
{
	my ($file) = @_;
	open my $in, '<:raw', $file or return undef;
	local $/;
	return scalar <$in>;
}

# All files below a folder with their contents.
sub tree
{
	my ($folder) = @_;
	my %files;
	find({ no_chdir => 1, wanted => sub { $files{ s{^\Q$folder\E/}{}r } = content($_) if -f } }, $folder);
	return \%files;
}

my $page = '<!doctype html><link rel="icon" href="data:image/svg+xml,%3Csvg/%3E">'
  . '<link rel="stylesheet" href="/app.css"><script type="module" src="/main.js"></script>'
  . '<img src="logo.svg" alt="">' . '<p>' x 100;
sub make_source
{
	my ($name, %more) = @_;
	my %files = ('index.html' => $page, 'main.js' => "// main.js\nimport { a } from './ui/a.js';\n"
		  . "import('./later.js').then(m => m.run(a));\n" . "console.log(a);\n" x 50,
		'ui/a.js' => "// a.js\nexport const a = 'a rather long name';\n",
		'later.js' => "// later.js\nexport function run(a) { console.log(a); }\n",
		'app.css' => "\@import './ui/a.css';\nbody { margin: 0 }\n", 'ui/a.css' => "p { margin: 0 }\n",
		'logo.svg' => '<svg xmlns="http://www.w3.org/2000/svg"/>', 'vendor/LICENSES' => "MIT\n" x 100,
		'vendor/SHA256SUMS' => '', 'README.md' => '', %more);
	write_file("$name/$_", $files{$_}) foreach keys %files;
}

# Runs it; what it said.
sub pack_console
{
	my ($source, $to, $esbuild) = @_;
	local $ENV{ESBUILD} = $esbuild;
	return scalar `tools/console-pack $tmp/$source $tmp/$to 2>&1`;
}

my $why_not = LogsvcBrowser::missing('esbuild', 'brotli');
my $esbuild = LogsvcBrowser::program('esbuild');
make_source('one');
make_source('two');
for my $with ('', $esbuild // ())
{
	my $how = $with ? 'bundled' : 'unbundled';
	my $said = pack_console('one', "$how/one", $with);
	is($?, 0, "$how: built") or diag($said);
	is($said, $with ? '' : "console: there is no esbuild: the modules are installed one by one, which "
		  . "loads slower\n", "$how: what is said");
	pack_console('one', "$how/again", $with);
	my $built = tree("$tmp/$how/one");
	is_deeply(tree("$tmp/$how/again"), $built, "$how: the same bytes each time");
	if (!$with)
	{
		pack_console('two', "$how/two", $with);
		is_deeply(tree("$tmp/$how/two"), $built, 'wherever the source is');
	}

	my %listed = ('assets.tsv' => 1);
	for my $line (split /\n/, $built->{'assets.tsv'})
	{
		my ($path, $file, $type, $sum, $class, @variants) = split /\t/, $line;
		is($sum, substr(sha256_hex($built->{$file}), 0, 32), "$how: the checksum of $file");
		is("$path $class", $file eq 'index.html' ? '/ index' : "/$file immutable", 'its path and class');
		$listed{$_} = 1 foreach $file, map { "$file.$_" } @variants;
		my ($name) = $file =~ m{([^/]+)$};
		like($with || $name !~ /\.(js|css)$/ ? $name : $file, qr/^(index\.html|assets\/\w{10}\/.+|[\w-]+\.\w{8}\.\w+)$/,
			'its name has a hash') unless $file eq 'index.html';
		if (grep { $_ eq 'gz' } @variants)
		{
			is(scalar `gzip -dc $tmp/$how/one/$file.gz`, $built->{$file}, 'its gzip');
			cmp_ok(length $built->{"$file.gz"}, '<', length $built->{$file}, 'is smaller');
		}
		is(scalar `brotli -dc $tmp/$how/one/$file.br`, $built->{$file}, 'its brotli') if grep { $_ eq 'br' } @variants;
	}
	is_deeply([ sort keys %listed ], [ sort keys %$built ], "$how: the list names all files and no other");
	like($built->{'assets.tsv'}, qr/^\/\tindex.html\ttext\/html; charset=utf-8\t\w+\tindex\tgz/m, "$how: the page is packed");
	for my $name ($built->{'index.html'} =~ /(?:src|href)="([^"]+)"/g)
	{
		ok($name =~ /^data:/ || $built->{ $name =~ s{^/}{}r }, "$how: the page names $name, which is there");
	}
	like($built->{'assets.tsv'}, qr{^/assets/LICENSES\.\w{8}\.txt\t}m, "$how: the licences are served");
	unlike($built->{'assets.tsv'}, qr/README|SHA256SUMS/, "$how: what is for developers is not");

	# Another content is another name.
	write_file('one/ui/a.js', "// a.js\nexport const a = 'another';\n");
	pack_console('one', "$how/changed", $with);
	my $other = tree("$tmp/$how/changed");
	my ($before) = $built->{'index.html'} =~ /type="module" src="([^"]+)"/;
	ok(!$other->{ $before =~ s{^/}{}r }, "$how: a changed module changes names");
	write_file('one/ui/a.js', "// a.js\nexport const a = 'a rather long name';\n");
}

# What is wrong stops the build, and leaves what was there.
for my $case ([ 'a file that is not there', '<script src="/none.js"></script>', qr/index\.html names none\.js/ ],
	[ 'another host', '<script src="https://cdn.example/x.js"></script>', qr/index\.html names https:/ ],
	[ 'a host without a scheme', '<script src="//cdn.example/x.js"></script>', qr/index\.html names / ])
{
	my ($what, $text, $message) = @$case;
	make_source('wrong', 'index.html' => $text);
	my $before = tree("$tmp/unbundled/one");
	like(pack_console('wrong', 'unbundled/one', ''), $message, "$what in the page");
	isnt($?, 0, 'is an error');
	is_deeply(tree("$tmp/unbundled/one"), $before, 'the last build is still there');
}

# ---- templates become calls ----
my $import = "import { html, useState } from '../view.js';\n";
sub compiled { return compile_templates($import . $_[0], 'x.js') =~ s/^import \{ h as h\$, useState \} from '\.\.\/view\.js';\n//r; }
for my $case ([ 'html`<p>x</p>`', 'h$("p",null,`x`)' ], [ 'html`<br />`', 'h$("br")' ],
	[ 'html`<p class="a b" hidden id=x1>${text}</p>`', 'h$("p",{class:`a b`,hidden:!0,id:"x1"},text)' ],
	[ 'html`<${Box} ...${all} key=${a ? 1 : 2}>one ${f({ a: `}` })} two<//>`', 'h$(Box,{...all,key:(a ? 1 : 2)},`one `,(f({ a: `}` })),` two`)' ],
	[ 'html`<a aria-label="of ${name}!">${x}</a>`', 'h$("a",{"aria-label":`of ${name}!`},x)' ],
	[ "html`<p>\n\t\tone\n\t\ttwo <b>\n\t</b>\n</p>`", 'h$("p",null,`one two `,h$("b"))' ],
	[ "html`<p>\${a} \${b}\n\t\${c}</p>`", 'h$("p",null,a,` `,b,c)' ],
	[ "html`<pre>a\n  b</pre><textarea>c\n  d</textarea>`", "[h\$(\"pre\",null,`a\n  b`),h\$(\"textarea\",null,`c\n  d`)]" ],
	[ 'html`<p><!-- a ` b -->x</p>`' =~ s/ ` / /r, 'h$("p",null,`x`)' ],
	[ 'html`${list.map((one) => html`<li>${one}</li>`)}`', '(list.map((one) => h$("li",null,one)))' ],
	[ 'html`<p>${a // b' . "\n" . '}</p>`', "h\$(\"p\",null,a)" ],
	# What looks like a template and is none.
	[ q{'html`' + "html`" + /html`[/`]/.test(x) + a / b / c + `html ${d}` // html`}, q{'html`' + "html`" + /html`[/`]/.test(x) + a / b / c + `html ${d}`  } ])
{
	my ($from, $expected) = @$case;
	is(compiled($from) =~ s/^\Q$import\E//r, $expected, "template: $from");
}
for my $case ([ 'html`<p>', qr/x\.js:2: <p> is not closed/ ], [ 'html`<p></b>`', qr/<p> is closed as b/ ], [ 'html`<p a=${b}c />`', qr/needs quotes/ ],
	[ 'html`<p>\n</p>`', qr/an escape/ ], [ 'html`${}`', qr/nothing in/ ], [ 'f(html); html`<p />`', qr/html is used otherwise/ ])
{
	my ($from, $message) = @$case;
	ok(!eval { compiled($from); 1 } && $@ =~ $message, "$from is refused") or diag $@;
}

# ---- how much there is to load ----
SKIP: {
	skip($why_not, 1) if $why_not;
	system("ESBUILD=$esbuild tools/console-pack src/console $tmp/console") == 0 or die;
	my $console = tree("$tmp/console");
	my %sent = map { $_ => length($console->{"$_.br"} // $console->{$_}) } grep { !/\.(br|gz)$|^assets\.tsv$/ } keys %$console;

	# What a file imports, and what the page and its first screen need.
	my %first = ('index.html' => 1);
	my ($page_now) = $console->{'index.html'} =~ s{<template.*?</template>}{}sr;
	my @left = $page_now =~ m{(?:src|href)="/(assets/[^"]+)"}g;
	my ($search) = grep { /path:"\/search"/ } map { $console->{$_} } @left;
	my ($load) = $search =~ /path:"\/search",[^}]*?load:\(\)=>(Promise\.resolve\(|import\("[^"]+"\))/;
	ok($load, 'how the search screen is loaded');
	push @left, 'assets/' . $1 if $load =~ /"\.\/(.*)"/;
	while (my $file = pop @left)
	{
		next if $first{$file}++;
		push @left, map { "assets/$_" } $console->{$file} =~ /(?:\bfrom|\bimport)"\.\/([^"]+)"/g if $file =~ /\.js$/;
	}
	my ($now, $all) = (0, 0);
	$now += $sent{$_} foreach keys %first;
	$all += $sent{$_} foreach grep { !/time-series|LICENSES/ } keys %sent;
	cmp_ok($now, '<=', 40_000, "the first load of the search screen: $now bytes of " . join(' ', sort keys %first));
	cmp_ok($all, '<=', 156_000, "everything but uPlot: $all bytes");
	cmp_ok(scalar keys %sent, '<=', 9, 'in few files');
}

done_testing();
