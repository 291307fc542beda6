# LogsvcGenerator: random events, and random queries as trees and as text.
#
# What it makes is made to collide: few words, few keys, values that look alike
# ("500", 500, 500.0), times that are equal or on a border.
package LogsvcGenerator;

use strict;
use warnings;
use utf8;

use LogsvcReference qw(quote value is_builtin iso_of parse_time);
use POSIX ();

sub pick { return $_[ rand @_ ]; }
sub chance { return rand() < $_[0]; }
sub between { return $_[0] + int rand($_[1] - $_[0] + 1); }

# ---- events ----

my @words = (qw(error ERROR Error timeout request REQUEST done user login failed connection reset
	by peer
	GET POST api v1 carts order task disk mask Kelvin last_one x42 a b null true 500 404 1e3 007
	straße STRASSE
	Ärger ärger ÄRGER naïve Ωmega ωmega 日本語 日本 emoji😀 İstanbul ǅ), "\x{212a}elvin", "re\x{17f}et", "ta\x{17f}\x{212a}");
my @separators = ((' ') x 12, ': ', '=', '-', '.', ', ', '/', '  ', "\t", "\n", ' "', '" ', ' (',
	') ', '\\', ' [', '] ', '*', '|', "\x{1}", '…', ' ');
my @levels = qw(error error ERROR err warn warning info info info debug trace fatal Critical
	custom Küche);
my @sources = qw(api API worker nginx Ärger ärger sshd);
my @services = ('checkout', 'cart api', 'Checkout', 'auth', 'a*b');
our @indexes = qw(main web edge-eu edge-us);
my @numbers =
	qw(0 1 2 3 5 7 42 100 200 204 404 499 500 500 500 503 501 1000 -1 -5 -500 0.0 -0 -0.0 0.1
	0.5 1.0 1.5 1.50
	2.50 2.675 1.005 99.9 500.0 5e2 5E+2 50e1 0.5e3 1e-3 1e21 1e22 1e300 -1e300 1e308 1e-320 1e400
	9007199254740991 9007199254740992
	9007199254740993 -9007199254740993 9007199254740993.0 9223372036854775806 9223372036854775807
	9223372036854775808
	-9223372036854775807 -9223372036854775808 -9223372036854775809 18446744073709551616
	123456789012345678901234567890
	4611686018427387904 3037000500 0.1234567890123456789 1234567.891);
my @texts = ('', ' ', '500', ' 500', '500 ', '0500', '5e2', '5E2', '500.0', '-0', '+5', '.5', '5.',
	'0x10', 'NaN', 'Infinity', '1e400', '9007199254740993',
	'9223372036854775808', 'null', 'true', 'false', 'abc', 'ABC', 'aBc', 'a*c', 'a.c', 'a\\c',
		'a"c', "a\nc", "a'c", 'a|c', 'ok', 'OK', '10', '9',
	'GET', 'POST', '/api/v1/a', '/api/v1/b', '/api/v2/a', '/health', 'Straße', 'strasse',
		"\x{212a}", 'K', 'k', '日本', '😀', "\x{e000}", "\x{7f}", "\x{1}", 'evt_',
			'2026-01-31T00:00:00Z', '2026-01-31T00:00:00.000Z',
	'2026-10-25', '{"a":1}', '[1]', '[]', 'z' x 40);

sub words
{
	my ($n) = @_;
	my $text = '';
	foreach my $i (1 .. $n)
	{
		$text .= pick(@separators) if $i > 1 || chance(0.05);
		$text .= chance(0.12) ? number_word() : pick(@words);
	}
	return $text;
}

sub number_word
{
	my $kind = int rand 5;
	return between(0, 20) if $kind == 0;
	return join '.', map { between(0, 3) } 1 .. 4 if $kind == 1;
	return sprintf '%08x-%04x', between(0, 3), between(0, 3) if $kind == 2;
	return between(0, 9) . '.' . between(0, 9) if $kind == 3;
	return '-' . between(0, 9);
}

sub event_text
{
	my $kind = rand;
	return pick('request done in ', 'request failed after ') . between(0, 300) . ' ms for user='
		. pick(qw(alice bob bobby carol)) if $kind < 0.25;
	return pick('login failed', 'Login ok') . ' from 10.0.' . between(0, 1) . '.' . between(1, 9)
		if $kind < 0.4;
	return words(between(300, 900)) if $kind < 0.41;
	return words(between(1, 12));
}

sub number_value { return chance(0.5) ? between(-3, 12) : pick(@numbers); }

# A value as compact JSON.
sub json_value
{
	my ($depth) = @_;
	my $kind = rand;
	return number_value() if $kind < 0.4;
	return quote(pick(@texts)) if $kind < 0.72;
	return pick(qw(true false)) if $kind < 0.8;
	return 'null' if $kind < 0.86;
	return quote(words(between(1, 4))) if $kind < 0.9 || $depth > 2;
	return '[' . join(',', map { json_value($depth + 1) } 1 .. between(0, 3)) . ']' if $kind < 0.94;
	my %seen;
	return '{' . join(',', map { quote($_) . ':' . json_value($depth + 1) }
		  grep { !$seen{$_}++ } map { pick(qw(a b c id name b.c x-y), 'q"r', '') } 1 ..
		  between(0, 3)) . '}';
}

# Key -> what makes its values; undef: anything.
my %keys = (
	status => sub { pick(qw(200 204 404 500 500 503 500.0 5e2 null true), '"500"',
		'"ok"', '"200"') },
	duration_ms => sub { chance(0.7) ? between(0, 3000) : pick(qw(0.5 1.25 12.5 99.95 1e3 2500.0),
		'"30"', '"slow"') },
	user => sub { chance(0.8) ? '{"id":' . between(40, 45) . ',"name":'
		. quote(pick(qw(alice bob), 'Ärger')) . '}' : json_value(0) },
	'user.id' => sub { pick(40 .. 45) },
	request_id => sub { quote(sprintf '%08x%08x', between(0, 9), between(0, 30)) },
	path => sub { quote(pick('/api/v1/', '/api/v2/', '/', '') . pick(qw(a b carts), '*')) },
	method => sub { quote(pick(qw(GET POST PUT get))) },
	host => sub { quote(pick(qw(h1 h2 h3 H1))) },
	ip => sub { quote(join '.', 10, 0, between(0, 1), between(0, 9)) },
	ok => sub { pick(qw(true false null), '"true"', '1') },
	level => sub { quote(pick(@levels)) },
	event => sub { quote(words(2)) },
	a => undef, b => undef, c => undef, 'a.b' => undef, 'a.b.c' => undef, 'x-y' => undef,
		'odd key' => undef,
	'Ärger' => undef, 'A' => undef, big => sub { pick(@numbers) },
		tags => sub { json_value(3) }, '' => undef,
);
my @keys = sort keys %keys;
our %times;

# The times that events of one run have: many share one, some are on borders.
sub make_times
{
	my ($now) = @_;    # seconds
	my $day = $now - $now % 86400;
	my @seconds = map { $now - 600 - int rand 3600 } 1 .. 20;
	push @seconds, map { $now - int rand 86400 * 2 } 1 .. 20;
	push @seconds, map { $now - int rand 86400 * 60 } 1 .. 20;
	push @seconds, map { my $d = $_; map { $day - 86400 * $d + $_ } 0, 1, -1, 3600, -3600, 1800,
		5.5 * 3600, 5 * 3600, 4 * 3600, 13 * 3600 } 0 .. 2;
	my @micros = map { $_ * 1_000_000 + pick(0, 0, 0, 1, 999, 1000, 999_999, 500_000,
		int rand 1_000_000) } grep { $_ < $now - 300 } @seconds;
	return \@micros;
}

# The JSON of a value as it is kept: the only number beyond a double becomes the given text.
sub keep_wide
{
	my ($json, $text) = @_;
	$json =~ s/("(?:[^"\\]|\\.)*")|\b1e400\b/$1 \/\/ $text/ge;
	return $json;
}

sub level_of
{
	my ($name) = @_;
	return { err => 'error', warning => 'warn', Critical => 'fatal', ERROR => 'error' }->{$name} // $name;
}

# One event: its JSON as it is sent, and what is expected of it.
sub make_event
{
	my ($n, $times) = @_;
	my $time = $times->[ chance(0.7) ? int rand 20 : int rand @$times ];
	my %event = (n => $n, time => $time);
	my @sent;
	my %fields = (event => event_text());

	push @sent, [ event => quote($fields{event}) ];
	if (chance(0.9))
	{
		my $level = pick(@levels);
		push @sent, [ level => quote($level) ];
		$fields{level} = level_of($level);
	}
	foreach ([ source => \@sources, 0.8 ], [ service => \@services, 0.6 ])
	{
		my ($name, $from, $often) = @$_;
		next unless chance($often);
		$fields{$name} = pick(@$from);
		push @sent, [ $name => quote($fields{$name}) ];
	}
	$fields{index} = pick(@indexes, 'main', 'main');
	push @sent, [ index => quote($fields{index}) ] if $fields{index} ne 'main' || chance(0.5);
	if (chance(0.2))
	{
		$fields{trace_id} = sprintf '%032x', between(1, 5);
		$fields{span_id} = sprintf '%016x', between(1, 5) if chance(0.7);
		push @sent, [ traceId => quote($fields{trace_id}) ];
		push @sent, [ spanId => quote($fields{span_id}) ] if defined $fields{span_id};
	}
	my $seconds = LogsvcReference::iso_of($time);
	$seconds =~ s/\.\d+Z$//;
	push @sent, [ timestamp => quote(sprintf '%s.%06dZ', $seconds,
		$time - POSIX::floor($time / 1_000_000) * 1_000_000) ];

	my @attributes = ([ n => $n ]);
	my %seen = (n => 1);
	foreach my $i (1 .. pick(0, 1, 2, 3, 4, 6, 8))
	{
		my $key = pick(@keys);
		next if $seen{$key}++;
		push @attributes, [ $key, $keys{$key} ? $keys{$key}->() : json_value(0) ];
	}
	# A level that the event lacks is that of its attribute, if it is one of the known ones.
	my ($level) = map { $_->[0] eq 'level' ? $_->[1] =~ /"([a-z]+)"/i : () } @attributes;
	$fields{level} //= level_of($level) if defined $level && $level ne 'custom';
	push @sent, [ attributes => '{' . join(',', map { quote($_->[0]) . ':' . $_->[1] } @attributes)
		. '}' ];
	$event{sent_attributes} = \@attributes;
	$event{attributes} = [ map { [ $_->[0], keep_wide($_->[1], '"1e400"') ] } @attributes ];
	$event{by_key} = { map { $_->[0] => value($_->[1]) } @{ $event{attributes} } };
	$event{fields} = { map { $_ => value(quote($fields{$_})) } keys %fields };
	my $iso = iso_of($time);
	$event{fields}{timestamp} = [ 's', $iso, qq("$iso"), $time ];
	$event{json} = '{' . join(',', map { "\"$_->[0]\":$_->[1]" } @sent) . '}';
	return \%event;
}

# ---- fields and constants of queries ----

sub field { return { parts => [@_], prefix => 0 }; }

my @builtins = qw(event level level source service trace_id span_id index timestamp ingested_at id);

sub make_field
{
	my ($events) = @_;
	my $kind = rand;
	return field(pick(@builtins)) if $kind < 0.25;
	return field('nothing') if $kind < 0.28;
	my $key = pick(grep { $_ ne '' } @keys);
	my @parts = chance(0.5) ? split(/\./, $key) : ($key);
	push @parts, pick(qw(a b c id name)) if chance(0.25);
	my $field = { parts => \@parts, prefix => 0 };
	$field->{prefix} = 1 if chance(0.1) || is_builtin($field);
	return $field;
}

# A value that some event has in the field, or one like it; undef when none has.
sub seen_value
{
	my ($events, $field) = @_;
	my $get = LogsvcReference::getter($field);
	foreach (1 .. 10)
	{
		my $value = $get->(pick(@$events));
		return $value if defined $value;
	}
	return undef;
}

my $number = qr/\A-?[0-9]+(?:\.[0-9]+)?\z/;
my $word = qr/\A[A-Za-z0-9_.:\/@%+*#\$&~^\x{a1}-\x{1fff}\x{2100}-\x{2fff}\x{3001}-\x{d7ff}\x{e000}-\x{fefe}\x{ff00}-\x{10ffff}-]+\z/;
my $keyword = qr/\A(?:AND|OR|NOT|IN|CONTAINS|MATCHES)\z/;

sub is_word { return $_[0] =~ $word && $_[0] !~ $keyword; }

# A constant of the head: number, word (maybe with wildcards) or string.
sub constant
{
	my ($text, $wildcards) = @_;
	if ($wildcards && length $text && chance(0.3))
	{
		my $from = int rand length $text;
		my $cut = between(1, 3);
		my $changed = substr($text, 0, $from) . '*'
			. ($from + $cut < length $text ? substr($text, $from + $cut) : '');
		return { kind => 'word', text => $changed } if is_word($changed) && $changed !~ /\A\*+\z/;
	}
	return { kind => 'number', text => $text } if $text =~ $number && length $text < 300
		&& chance(0.7);
	return { kind => 'word', text => $text } if is_word($text) && $text !~ $number && $text !~ /\*/
		&& chance(0.6);
	return { kind => 'string', text => $text };
}

sub constant_for
{
	my ($events, $field, $wildcards) = @_;
	my $name = is_builtin($field) ? $field->{parts}[0] : '';
	my $seen = chance(0.8) ? seen_value($events, $field) : undef;
	my $text = defined $seen ? $seen->[1] : chance(0.5) ? pick(@texts) : pick(@numbers);

	if ($name eq 'timestamp' && chance(0.7))
	{
		my $time = pick(@$events)->{time} + pick(0, 0, 1, -1, 1000, -1000);
		my $iso = iso_of($time);
		return { kind => 'number', text => int($time / 1000) } if chance(0.3);
		return { kind => 'number', text => int($time / 1_000_000) } if chance(0.2);
		$iso =~ s/Z$/sprintf '%03dZ', $time % 1000/e if chance(0.5);
		$text = $iso;
	}
	$text = uc $text if chance(0.1);
	$text = substr $text, 0, 200;
	return constant($text, $wildcards);
}

# ---- the head ----

my @regexes = ('user=(alice|bob)\b', 'in \d+ ms', '^request', 'ms$', '(?i)error', '[0-9]{3}',
	'\bfrom 10\.0\.', 'a.c', '^$', '\d+\.\d+\.\d+\.\d+', '(?i)ärger',
	'[[:upper:]]{3}', '^[^ ]+ [^ ]+$', '\s\S+\s', 'a|b|c', '(?:re){1,2}', '"', '\\\\', '日', '.',
		'^\d+$', '(?s)^.*$', '\w+-\w+', '5(?=00)', '^(.).*\1$');

sub make_text
{
	my ($events) = @_;
	my $text = pick(@$events)->{fields}{event}[1];
	my @parts = $text =~ /[A-Za-z0-9_\x{80}-\x{10ffff}]+/g;
	my $kind = rand;
	if (@parts && $kind < 0.3)
	{
		my $from = int rand @parts;
		my $to = $from + int rand 4;
		$to = $#parts if $to > $#parts;
		return { kind => 'string', text => join pick(' ', ' ', '.', ', '), @parts[ $from .. $to ] };
	}
	my $some = @parts && $kind < 0.8 ? pick(@parts) : pick(@words);
	$some = uc $some if chance(0.1);
	$some = lc $some if chance(0.1);
	$some .= pick('.', '-', ':', '/') . pick(@parts) if @parts && chance(0.1);
	my $constant = constant($some, 1);
	$constant = { kind => 'string', text => $some }
		if $constant->{text} !~ /[A-Za-z0-9_\x{80}-\x{10ffff}]/;
	return $constant;
}

sub make_leaf
{
	my ($events) = @_;
	my $kind = rand;
	return [ 'text', make_text($events) ] if $kind < 0.25;
	return ['all'] if $kind < 0.27;
	my $field = make_field($events);
	return [ 'exists', $field ] if $kind < 0.33;
	if ($kind < 0.7)
	{
		my $op = pick(qw(= = = = != != < <= > >=));
		# Only known levels have an order.
		return [ 'compare', $field, $op,
			{ kind => pick(qw(word string)), text => pick(grep { !/custom|K/ } @levels) } ]
			if $op !~ /^!?=$/ && $field->{parts}[0] eq 'level' && !$field->{prefix};
		my $constant = constant_for($events, $field, $op =~ /^!?=$/);
		# Only times are compared with a time: plain numbers, ISO times and, as texts, wildcards.
		$constant = { kind => 'string', text => iso_of(pick(@$events)->{time}) }
		  if is_builtin($field) && $field->{parts}[0] =~ /^(?:timestamp|ingested_at)$/
		  && !($constant->{kind} eq 'number' && $constant->{text} =~ /^-?\d+(?:\.\d+)?$/)
		  && !defined parse_time($constant->{text})
		  && !($op =~ /^!?=$/ && $constant->{kind} eq 'word' && $constant->{text} =~ /\*/);
		return [ 'compare', $field, $op, $constant ];
	}
	if ($kind < 0.82)
	{
		return [ 'in', $field, chance(0.3) ? 1 : 0,
			[ map { constant_for($events, $field, 1) } 1 .. between(1, 4) ] ];
	}
	$field = field('event') if chance(0.5);
	my $negated = chance(0.25) ? 1 : 0;
	if ($kind < 0.92)
	{
		my $seen = seen_value($events, $field);
		my $text = defined $seen && length $seen->[1] ? $seen->[1] : pick(@texts);
		$text = length $text ? substr($text, int rand length $text, between(1, 12)) : '';
		$text = uc $text if chance(0.3);
		return [ 'contains', $field, $negated, $text ];
	}
	return [ 'matches', $field, $negated, pick(@regexes) ];
}

sub make_filter
{
	my ($events, $depth) = @_;
	my $kind = rand;
	return make_leaf($events) if $depth <= 0 || $kind < 0.5;
	return [ 'not', make_filter($events, $depth - 1) ] if $kind < 0.62;
	return [ $kind < 0.82 ? 'and' : 'or', map { make_filter($events, $depth - 1) } 1 ..
		between(2, 3) ];
}

sub some_regex { return pick(@regexes); }

sub some_text
{
	my ($events) = @_;
	my @words = tokens_of(pick(@$events)->{fields}{event}[1]);
	return @words && chance(0.5) ? pick(@words) : pick(@texts);
}

sub tokens_of { return $_[0] =~ /[A-Za-z0-9_\x{80}-\x{10ffff}]+/g; }

# ---- trees as text ----

sub string_text
{
	my ($text) = @_;
	$text =~ s/([\\"])/\\$1/g;
	return qq("$text");
}

sub regex_text
{
	my ($text) = @_;
	$text =~ s/"/\\"/g;
	return qq("$text");
}

sub constant_text
{
	my ($constant) = @_;
	return $constant->{kind} eq 'string' ? string_text($constant->{text}) : $constant->{text};
}

# A field in the head: words with dots, or one name in backticks.
sub head_field
{
	my ($field) = @_;
	my $name = join '.', ($field->{prefix} ? 'attributes' : ()), @{ $field->{parts} };
	my $plain = is_word($name) && $name !~ /\*/ && $name !~ $number
		&& !grep { $_ eq '' || /\./ } @{ $field->{parts} };
	return $name if $plain && $name !~ /\A(?:index|earliest|latest)\z/;
	return undef if $field->{prefix} || @{ $field->{parts} } > 1 || $name =~ /`/;
	return "`$name`";
}

sub filter_text
{
	my ($tree, $inside) = @_;
	my ($kind, @args) = @$tree;
	my $text;

	if ($kind eq 'and' || $kind eq 'or')
	{
		my @parts = map { filter_text($_, $kind) } @args;
		return undef if grep { !defined } @parts;
		$text = join $kind eq 'or' ? ' OR ' : pick(' ', ' ', ' AND '), @parts;
		my $weaker = $kind eq 'or' ? $inside ne '' : $inside eq 'not' || $inside eq 'and';
		return $weaker || chance(0.1) ? "($text)" : $text;
	}
	if ($kind eq 'not')
	{
		$text = filter_text($args[0], 'not') // return undef;
		return "NOT $text";
	}
	return '*' if $kind eq 'all';
	return constant_text($args[0]) if $kind eq 'text';
	my $field = head_field($args[0]) // return undef;
	my $not = $args[1] ? 'NOT ' : '';
	$text = "$field=*" if $kind eq 'exists';
	$text = "$field$args[1]" . constant_text($args[2]) if $kind eq 'compare';
	$text = "$field ${not}IN (" . join(', ', map { constant_text($_) } @{ $args[2] }) . ')'
		if $kind eq 'in';
	$text = "$field ${not}CONTAINS " . string_text($args[2]) if $kind eq 'contains';
	$text = "$field ${not}MATCHES " . regex_text($args[2]) if $kind eq 'matches';
	return chance(0.1) ? "($text)" : $text;
}

# ---- scopes ----

my %units = (s => 'second', m => 'minute', h => 'hour', d => 'day', w => 'week',
	mon => 'month', y => 'year');

# A time: {text, and either at (microseconds), local (ISO, in the zone) or
# amount, unit, snap}.
sub make_time
{
	my ($events) = @_;
	my $kind = rand;
	my $at = pick(@$events)->{time} + pick(0, 0, 0, 1, -1, 1_000_000, -1_000_000, 1000);
	if ($kind < 0.35)
	{
		my $text = iso_of($at);
		$text =~ s/\.\d+Z$/sprintf '.%06dZ', $at - POSIX::floor($at \/ 1_000_000) * 1_000_000/e;
		return { text => $text, at => $at };
	}
	my $seconds = POSIX::floor($at / 1_000_000);
	return { text => $seconds, at => $seconds * 1_000_000 } if $kind < 0.45;
	return { text => POSIX::floor($at / 1000), at => POSIX::floor($at / 1000) * 1000 }
		if $kind < 0.55;
	if ($kind < 0.65)
	{
		my $text = iso_of($at);
		$text =~ s/\.\d+Z$//;
		$text =~ s/T.*// if chance(0.4);
		return { text => $text, local => $text };
	}
	my $unit = pick(qw(m h h d d d w mon));
	my $amount = between(1, $unit eq 'm' ? 3000 : $unit eq 'h' ? 72 : 5);
	my $snap = chance(0.7) ? pick(qw(m h d d d w mon y)) : undef;
	return { text => "\@$snap", amount => 0, unit => 'second', snap => $units{$snap} }
		if defined $snap && chance(0.2);
	return { text => "-$amount$unit" . (defined $snap ? "\@$snap" : ''), amount => -$amount,
		unit => $units{$unit}, snap => defined $snap ? $units{$snap} : undef };
}

my $last_day = { text => '-24h', amount => -24, unit => 'hour', snap => undef };
my $now = { text => 'now', amount => 0, unit => 'second', snap => undef };

# ---- queries ----

# {filter, indexes, earliest, latest, in_text (scopes in the text), stages, limit, pages, include
# (histogram and fields are asked for)}
sub make_query
{
	my ($events, $stages) = @_;
	my %query = (stages => [], limit => 10000, pages => 0);

	$query{filter} = make_filter($events, between(0, 3)) if chance(0.93);
	$query{indexes} = [ map { pick('main', 'web', 'WEB', 'edge-eu', 'edge-*', '*eu', '*', 'm*',
		'none*', '_*') } 1 .. between(1, 2) ] if chance(0.25);
	$query{earliest} = chance(0.8) ? make_time($events) : undef;
	$query{latest} = chance(0.35) ? make_time($events) : undef;
	$query{earliest} = { text => '-70d', amount => -70, unit => 'day', snap => undef }
		if chance(0.35);
	$query{in_text} = chance(0.7) ? 1 : 0;
	if (chance(0.35))
	{
		$query{limit} = pick(1, 2, 3, 10, 50, 100);
		$query{pages} = chance(0.6) ? 1 : 0;
	}
	$query{stages} = $stages->($events, \%query) if $stages;
	$query{include} = chance(0.2) && !grep { $_->{stage} eq 'timechart' } @{ $query{stages} };
	return \%query;
}

sub range { return ($_[0]{earliest} // $last_day, $_[0]{latest} // $now); }

# The text of a query, or undef when the language cannot say it.
sub query_text
{
	my ($query) = @_;
	my @scopes;
	my $text = '';

	if ($query->{indexes})
	{
		my @names = @{ $query->{indexes} };
		push @scopes, @names == 1 ? "index=$names[0]" : 'index IN (' . join(', ', @names) . ')';
	}
	if ($query->{in_text})
	{
		push @scopes, "earliest=$query->{earliest}{text}" if $query->{earliest};
		push @scopes, "latest=$query->{latest}{text}" if $query->{latest};
	}
	if ($query->{filter})
	{
		$text = filter_text($query->{filter}, '') // return undef;
	}
	my $at = int rand 3;
	my @first = splice @scopes, 0, $at == 0 ? 0 : $at == 1 ? scalar @scopes : @scopes / 2;
	$text = join ' ', @first, $text, @scopes;
	foreach my $stage (@{ $query->{stages} })
	{
		my $said = LogsvcStageGenerator::text($stage) // return undef;
		$text .= " | $said";
	}
	return $text;
}

# ---- smaller queries that may fail like a given one ----

sub smaller_filters
{
	my ($tree) = @_;
	my ($kind, @args) = @$tree;
	my @smaller;

	if ($kind eq 'and' || $kind eq 'or')
	{
		push @smaller, @args;
		foreach my $i (0 .. $#args)
		{
			my @others = @args;
			splice @others, $i, 1;
			push @smaller, [ $kind, @others ] if @others > 1;
			foreach my $less (smaller_filters($args[$i]))
			{
				my @changed = @args;
				$changed[$i] = $less;
				push @smaller, [ $kind, @changed ];
			}
		}
	}
	elsif ($kind eq 'not')
	{
		push @smaller, $args[0], map { [ 'not', $_ ] } smaller_filters($args[0]);
	}
	elsif ($kind eq 'in' && @{ $args[2] } > 1)
	{
		push @smaller, map { [ 'in', @args[ 0, 1 ], [$_] ] } @{ $args[2] };
	}
	return @smaller;
}

sub smaller_queries
{
	my ($query) = @_;
	my @smaller;

	push @smaller, { %$query, include => 0 } if $query->{include};
	push @smaller, { %$query, pages => 0 } if $query->{pages};
	push @smaller, { %$query, limit => 10000, pages => 0 } if $query->{limit} < 10000;
	foreach my $i (reverse 0 .. $#{ $query->{stages} })
	{
		my @stages = @{ $query->{stages} };
		splice @stages, $i, 1;
		push @smaller, { %$query, stages => \@stages };
	}
	push @smaller, { %$query, filter => undef } if $query->{filter};
	push @smaller, { %$query, indexes => undef } if $query->{indexes};
	push @smaller, { %$query, latest => undef } if $query->{latest};
	push @smaller, map { { %$query, filter => $_ } } smaller_filters($query->{filter})
		if $query->{filter};
	foreach my $i (0 .. $#{ $query->{stages} })
	{
		foreach my $less (LogsvcStageGenerator::smaller($query->{stages}[$i]))
		{
			my @stages = @{ $query->{stages} };
			$stages[$i] = $less;
			push @smaller, { %$query, stages => \@stages };
		}
	}
	return @smaller;
}

# ---- indexes ----

sub unique_indexes
{
	my %seen;
	return grep { !$seen{$_}++ } @indexes;
}

1;
