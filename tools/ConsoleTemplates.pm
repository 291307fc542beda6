# ConsoleTemplates.pm: the templates of the console's modules as calls.
#
# html`<p class="x">${text}</p>` becomes h$("p",{class:"x"},text), as htm would
# read it in the browser.  That is smaller, and is read once, when the console is built.
# Comments go.  What this does not know is an error: the build stops.
package ConsoleTemplates;
use strict;
use warnings;

use Exporter qw(import);
our @EXPORT_OK = qw(compile_templates);

# After these words a slash begins a regular expression.
my $before_regex = qr/^(?:return|typeof|case|in|of|do|else|void|delete|await|yield|instanceof|new|throw)$/;
# In these elements every space is shown.
my %keeps_space = map { $_ => 1 } qw(pre textarea);
our ($file, $named);

# compile_templates(TEXT, NAME): the module's text with calls in the place of templates.
# h$ is what the module has imported as html.  NAME is for errors.
sub compile_templates
{
	local $_ = $_[0];
	local $file = $_[1];

	local $named = 0;

	pos = 0;
	my $compiled = code('');
	return $compiled unless $compiled =~ /\bh\$\(/;
	$compiled =~ s/^(import \{[^}]*?)\bhtml\b([^}]*\} from '[^']*view\.js';)/$1h as h\$$2/m or die "$file: html is not imported from view.js\n";
	die "$file: html is used otherwise than before a template\n" if $named > 1;
	return $compiled;
}

sub wrong
{
	my ($what) = @_;
	my $line = 1 + (substr($_, 0, pos // 0) =~ tr/\n//);
	die "$file:$line: $what\n";
}

# Does this come next?  (A match of nothing with /g would hide another one at its place.)
sub next_is
{
	my ($what) = @_;
	return substr($_, pos // 0, 1000) =~ /\A$what/;
}

# Code up to $end ('' or '}'), which is read too.
sub code
{
	my ($end) = @_;
	my $made = '';
	my $depth = 0;
	my $last = '';              # the last token, which says whether a slash divides

	until (/\G\z/gc)
	{
		# esbuild reads notes such as @__PURE__.
		if (/\G(\s+|\/\*\s*@.*?\*\/)/gcs) { $made .= $1; next; }
		if (/\G(?:\/\/[^\n]*|\/\*.*?\*\/)/gcs) { $made .= ' '; next; }
		if (/\G('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/gcs) { $made .= $last = $1; next; }
		if (/\Ghtml`/gc) { $made .= template(); $last = ')'; next; }
		if (/\G`/gc) { $made .= string(); $last = ')'; next; }
		if (/\G([\w\$]+|\?\.)/gc)
		{
			$named++ if $1 eq 'html' && $last !~ /\.$/;
			$made .= $last = $1;
			next;
		}
		if ($last =~ /^(?:|[^\w\$\)\]\}'"].*)$|$before_regex/ && /\G(\/(?:[^\/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*)/gc)
		{
			$made .= $1;
			$last = ')';
			next;
		}
		/\G(.)/gcs;
		return $made if $1 eq $end && $depth == 0;
		$depth++ if $1 eq '{';
		$depth-- if $1 eq '}';
		$made .= $last = $1;
	}
	wrong('the code ends within ${') if $end ne '';
	return $made;
}

# A template literal that is no template of elements, after its first `.
sub string
{
	my $made = '`';
	until (/\G`/gc)
	{
		if (/\G((?:[^`\\\$]|\\.|\$(?!\{))+)/gcs) { $made .= $1; }
		elsif (/\G\$\{/gc) { $made .= '${' . code('}') . '}'; }
		else { wrong('a string without an end'); }
	}
	return "$made`";
}

# A template after html`, to its end: the call, or the list of several.
sub template
{
	my @made = children('');
	/\G`/gc or wrong('a template without an end');
	return @made == 1 ? $made[0] : @made ? '[' . join(',', @made) . ']' : 'undefined';
}

# What is between tags, up to the closing one (which is read) or the end of the template.
sub children
{
	my ($element) = @_;
	my @made;
	while (!next_is(qr/`|\z/))
	{
		if (/\G<!--.*?-->/gcs) { }
		elsif (/\G<\/(\w*)(?:\$\{\w+\})?>|\G<\/\/>/gc)
		{
			wrong("<$element> is closed as " . ($1 // '')) if $element eq '' || (length($1 // '') && $1 ne $element);
			return @made;
		}
		elsif (/\G</gc) { push @made, element(); }
		elsif (/\G\$\{/gc) { push @made, hole(); }
		elsif (/\G((?:[^<`\\\$]|\\[`\$]|\$(?!\{))+)/gc)
		{
			my $text = $1;
			$text =~ s/^\s*\n\s*|\s*\n\s*\z//g;
			$text =~ s/\s*\n\s*/ /g unless $keeps_space{$element};
			push @made, "`$text`" if $text ne '';
		}
		else { wrong('an escape in a template'); }
	}
	wrong("<$element> is not closed") if $element ne '';
	return @made;
}

# An expression after ${.
sub hole
{
	my $made = code('}') =~ s/^\s+|\s+\z//gr;
	wrong('nothing in ${}') if $made eq '';
	# One that a comma would take apart.
	return $made =~ /^[\w.]+\z/ ? $made : "($made)";
}

# A tag after <, with what is in it.
sub element
{
	my $type = /\G\$\{/gc ? hole() : /\G([a-zA-Z]\w*)/gc ? "\"$1\"" : wrong('a tag without a name');
	my @properties;
	while (!next_is(qr/\s*\/?>/))
	{
		/\G\s+/gc or wrong("no space between properties of $type");
		if (/\G\.\.\.\$\{/gc) { push @properties, '...' . hole(); }
		elsif (/\G([\w:-]+)=/gc)
		{
			push @properties, name($1) . ':' . value();
		}
		elsif (/\G([\w:-]+)(?=[\s\/>])/gc) { push @properties, name($1) . ':!0'; }
		else { wrong("a property of $type"); }
	}
	/\G\s+/gc;
	my @inside = /\G\/>/gc ? () : /\G>/gc ? children($type =~ /^"(.*)"$/ ? $1 : $type) : wrong("<$type> has no end");
	return 'h$(' . join(',', $type, @properties ? '{' . join(',', @properties) . '}' : @inside ? 'null' : (), @inside) . ')';
}

# A name of a property, quoted where it has to be.
sub name
{
	my ($name) = @_;
	return $name =~ /\W/ ? "\"$name\"" : $name;
}

# The value of a property, after its =.
sub value
{
	if (/\G\$\{/gc)
	{
		my $made = hole();
		wrong('a value of several parts needs quotes') unless next_is(qr/[\s\/>]/);
		return $made;
	}
	return "\"$1\"" if /\G([\w.:#-]+)(?=[\s\/>])/gc;
	/\G(["'])/gc or wrong('the value of a property');
	my $quote = $1;
	my $made = '';
	until (/\G$quote/gc)
	{
		if (/\G\$\{/gc) { $made .= '${' . code('}') . '}'; }
		elsif (/\G((?:(?!$quote)[^`\\\$]|\\[`\$]|\$(?!\{))+)/gc) { $made .= $1; }
		else { wrong('an escape in a property'); }
	}
	return "`$made`";
}

1;
