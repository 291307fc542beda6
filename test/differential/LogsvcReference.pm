# LogsvcReference: the search language over events in memory, slowly.
#
# Written from docs/language.md, to compare with what the server answers.  It
# shares nothing with src/: it evaluates the trees that LogsvcGenerator makes, over
# the events that were sent.
#
# A value is undef (missing) or [kind, text, raw]: kind s(tring), n(umber),
# b(oolean), z (null) or j (object, array); text as comparisons see it; raw as
# JSON.  An event is a hash: n, time (microseconds), ingested (milliseconds),
# id, fields (name -> value), attributes (list of [key, raw]), by_key.
package LogsvcReference;

use strict;
use warnings;
use utf8;

use Exporter 'import';
use POSIX ();
use Unicode::UCD 'casefold';

our @EXPORT_OK = qw(quote value number compare_numbers fold parse_time iso_of lookup is_builtin
  field_name tokens);

# ---- JSON ----

my %escape = ('"' => '\"', '\\' => '\\\\', "\n" => '\n', "\r" => '\r', "\t" => '\t',
	"\b" => '\b', "\f" => '\f');

# A text as a JSON string, in the spelling of the server.
sub quote
{
	my ($text) = @_;
	$text =~ s/(["\\\x00-\x1f])/$escape{$1} \/\/ sprintf '\u%04x', ord $1/ge;
	return qq("$text");
}

my %unescape = (n => "\n", r => "\r", t => "\t", b => "\b", f => "\f");

sub unquote
{
	my ($raw) = @_;
	$raw = substr $raw, 1, -1;
	return $raw if index($raw, '\\') < 0;
	$raw =~ s/\\(?:u([0-9a-fA-F]{4})|(.))/defined $1 ? chr hex $1 : $unescape{$2} \/\/ $2/ges;
	return $raw;
}

# A value from compact JSON.
sub value
{
	my ($raw) = @_;
	my $first = substr $raw, 0, 1;

	return [ 's', unquote($raw), $raw ] if $first eq '"';
	return [ 'j', $raw, $raw ] if $first eq '{' || $first eq '[';
	return [ 'b', $raw, $raw ] if $first eq 't' || $first eq 'f';
	return [ 'z', 'null', $raw ] if $first eq 'n';
	# Too long for a number: only a text can be compared with it.
	return [ length $raw > 300 ? 'j' : 'n', $raw, $raw ];
}

# Members of a compact object: [key, raw] in order.
sub members
{
	my ($raw) = @_;
	my @members;

	pos($raw) = 1;
	until ($raw =~ /\G\}/gc)
	{
		$raw =~ /\G,/gc;
		$raw =~ /\G("(?:[^"\\]|\\.)*"):/gcs or die "not an object: $raw";
		my $key = unquote($1);
		my $start = pos $raw;
		my $depth = 0;
		while ($raw =~ /\G(?:("(?:[^"\\]|\\.)*")|([\[{])|([\]}])|(,)|([^"\[\]{},]+))/gcs)
		{
			if (defined $2) { $depth++; }
			elsif (defined $3 || defined $4)
			{
				if ($depth == 0) { pos($raw) = pos($raw) - 1; last; }
				$depth-- if defined $3;
			}
		}
		push @members, [ $key, substr $raw, $start, pos($raw) - $start ];
	}
	return @members;
}

# ---- numbers: 64-bit integers exactly, everything else as a double ----

sub normal
{
	my ($d) = @_;
	return $d if $d != $d || $d >= 9223372036854775808.0 || $d < -9223372036854775808.0;
	return $d == POSIX::floor($d) ? 0 + sprintf '%d', $d : $d;
}

# The number of a text that looks like one, or undef.
sub number
{
	my ($text) = @_;
	return undef if length $text > 300 || $text !~ /\A-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\z/;
	if ($text =~ /\A(-?)0*([0-9]+)\z/ && (length $2 < 19 || length $2 == 19
		&& $2 le '9223372036854775807'))
	{
		return $2 eq '0' ? 0 : int "$1$2";
	}
	return normal(scalar POSIX::strtod($text));
}

# A double is shown with 15 digits, so that one next to a whole number looks like it.
sub is_integer { my ($n) = @_; return "$n" =~ /\A-?\d+\z/ && "$n" == $n; }

# What is no integer of 64 bits is a fraction below 2^53 or beyond all of them.
sub compare_numbers
{
	my ($x, $y) = @_;
	my ($x_beyond, $y_beyond) = map { is_integer($_) || abs($_) < 1e18 ? 0 : $_ > 0 ? 1 : -1 } $x,
		$y;
	return $x_beyond <=> $y_beyond if $x_beyond != $y_beyond;
	return $x <=> $y;
}

# ---- texts ----

my %folded;

# Unicode simple case folding.
sub fold
{
	my ($text) = @_;
	return lc $text if $text !~ /[^\x00-\x7f]/;
	return join '', map {
		$folded{$_} //= do {
			my $known = casefold(ord);
			$known && $known->{simple} ne '' ? chr hex $known->{simple} : $_;
		}
	} split //, $text;
}

# Runs of letters, digits and _, folded.
sub tokens { return fold($_[0]) =~ /[A-Za-z0-9_\x{80}-\x{10ffff}]+/g; }

# A pattern with * for any run of characters, as a regular expression.
sub wildcard
{
	my ($pattern) = @_;
	my $re = join '.*', map { quotemeta } split /\*+/, $pattern, -1;
	return qr/\A$re\z/s;
}

# ---- times ----

my $iso = qr/\A(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|z|[-+]\d\d:?\d\d)?)?\z/;

sub days
{
	my ($y, $m, $d) = @_;
	$y -= $m <= 2;
	my $era = POSIX::floor($y / 400);
	my $yoe = $y - $era * 400;
	my $doy = int((153 * ($m + ($m > 2 ? -3 : 9)) + 2) / 5) + $d - 1;
	return $era * 146097 + $yoe * 365 + int($yoe / 4) - int($yoe / 100) + $doy - 719468;
}

# Microseconds of an ISO time; without a zone it is UTC.
sub parse_time
{
	my ($text) = @_;
	my ($y, $m, $d, $h, $min, $s, $fraction, $zone) = $text =~ $iso or return undef;
	my $micros = substr(($fraction // '') . '000000', 0, 6);
	my $offset = 0;
	$offset = ($1 eq '-' ? -1 : 1) * ($2 * 3600 + $3 * 60)
		if ($zone // '') =~ /([-+])(\d\d):?(\d\d)/;
	return (days($y, $m, $d) * 86400 + ($h // 0) * 3600 + ($min // 0) * 60 + ($s // 0) - $offset) *
		1_000_000
	  + $micros;
}

# As events show it: milliseconds, cut.
sub iso_of
{
	my ($micros) = @_;
	my $millis = POSIX::floor($micros / 1000);
	my $seconds = POSIX::floor($millis / 1000);
	return POSIX::strftime('%Y-%m-%dT%H:%M:%S', gmtime $seconds) . sprintf '.%03dZ',
		$millis - $seconds * 1000;
}

# ---- fields ----

my %builtin = map { $_ => 1 }
  qw(event level source timestamp ingested_at index id service trace_id span_id template_id);

sub is_builtin
{
	my ($field) = @_;
	return !$field->{prefix} && @{ $field->{parts} } == 1 && $builtin{ $field->{parts}[0] };
}

sub field_name { return @{ $_[0]{parts} } ? join('.', @{ $_[0]{parts} }) : 'attributes'; }

# The literal key first, then ever shorter beginnings with the rest inside.
sub lookup
{
	my ($by_key, @parts) = @_;
	for (my $n = @parts; $n > 0; $n--)
	{
		my $found = $by_key->{ join '.', @parts[ 0 .. $n - 1 ] };
		next unless defined $found;
		return $found if $n == @parts;
		next unless $found->[0] eq 'j' && $found->[2] =~ /\A\{/;
		$found->[3] //= { map { $_->[0] => value($_->[1]) } reverse members($found->[2]) };
		my $inside = lookup($found->[3], @parts[ $n .. $#parts ]);
		return $inside if defined $inside;
	}
	return undef;
}

# Takes a path out, wherever it is found.
sub remove
{
	my ($by_key, @parts) = @_;
	for (my $n = @parts; $n > 0; $n--)
	{
		my $key = join '.', @parts[ 0 .. $n - 1 ];
		my $found = $by_key->{$key} // next;
		if ($n == @parts)
		{
			delete $by_key->{$key};
			next;
		}
		next unless $found->[0] eq 'j' && $found->[2] =~ /\A\{/;
		my @members = members($found->[2]);
		my %inside = map { $_->[0] => value($_->[1]) } @members;
		remove(\%inside, @parts[ $n .. $#parts ]);
		$by_key->{$key} = value('{' . join(',', map { quote($_->[0]) . ':' . $inside{ $_->[0] }[2] }
			grep { $inside{ $_->[0] } } @members) . '}');
	}
	return;
}

# A sub that gives the field's value of an event.
sub getter
{
	my ($field) = @_;
	if (is_builtin($field))
	{
		my $name = $field->{parts}[0];
		return sub { $_[0]{fields}{$name} };
	}
	my @parts = @{ $field->{parts} };
	return sub { lookup($_[0]{by_key}, @parts) };
}

# ---- the head ----

my %holds = (
	'=' => sub { $_[0] == 0 }, '!=' => sub { $_[0] != 0 }, '<' => sub { $_[0] < 0 },
	'<=' => sub { $_[0] <= 0 }, '>' => sub { $_[0] > 0 }, '>=' => sub { $_[0] >= 0 });

my %level_alias = ((map { $_ => $_ } qw(info error warn debug trace fatal)), warning => 'warn',
	err => 'error', critical => 'fatal', information => 'info',
	notice => 'info', crit => 'fatal', panic => 'fatal', verbose => 'trace');

my %other_levels = (%level_alias, alert => 'fatal', emerg => 'fatal', emergency => 'fatal', severe => 'error', config => 'debug',
	fine => 'debug', finer => 'trace', finest => 'trace', silly => 'trace', log => 'info', fail => 'error',
	V => 'trace', T => 'trace', D => 'debug', I => 'info', W => 'warn', E => 'error', F => 'fatal', C => 'fatal');

# The standard name of a level; undef: it is none.
sub level_name
{
	my ($text) = @_;
	return $other_levels{ length $text == 1 ? $text : lc $text };
}

# A sub: is the value there in that relation to the constant?
sub comparison
{
	my ($field, $op, $constant) = @_;
	my $name = is_builtin($field) ? $field->{parts}[0] : '';
	my $text = $constant->{text};
	my $holds = $holds{$op};

	if ($constant->{kind} eq 'word' && $text =~ /\*/)
	{
		my $nocase = $name =~ /^(?:level|source|index)$/;
		my $re = wildcard($nocase ? fold($text) : $text);
		my $negate = $op eq '!=';
		return sub { (($nocase ? fold($_[0][1]) : $_[0][1]) =~ $re xor $negate) };
	}
	if ($name eq 'timestamp' || $name eq 'ingested_at')
	{
		my ($low, $high);
		if ($constant->{kind} eq 'number')
		{
			my $size = abs $text;
			my $scale = $size < 1e11 ? 1_000_000 : $size < 1e14 ? 1000 : 1;
			$low = int($text * $scale + ($text < 0 ? -0.5 : 0.5));
		}
		else
		{
			$low = parse_time($text);
		}
		if (defined $low)
		{
			# A constant of whole milliseconds is all of that millisecond.
			$high = $low + ($low % 1000 == 0 ? 999 : 0);
			return sub {
				my $time = $_[0][3];
				$holds->($time < $low ? -1 : $time > $high ? 1 : 0);
			};
		}
	}
	if ($constant->{kind} eq 'number')
	{
		my $number = number($text);
		return sub {
			my ($kind, $of) = @{ $_[0] };
			my $value = $kind eq 'n' || $kind eq 's' ? number($of) : undef;
			return $op eq '!=' unless defined $value;
			return $holds->(compare_numbers($value, $number));
		};
	}
	if ($name eq 'level' && $op !~ /^!?=$/)
	{
		my @order = qw(trace debug info warn error fatal);
		my %rank = map { $order[$_] => $_ } 0 .. $#order;
		my $at = $rank{ $level_alias{ lc $text } };
		return sub { my $is = $rank{ lc $_[0][1] }; defined $is && $holds->($is <=> $at) };
	}
	if ($name eq 'level')
	{
		$text = $level_alias{ lc $text } // $text;
	}
	if ($name =~ /^(?:level|source|index)$/ && $op =~ /^!?=$/)
	{
		my $want = fold($text);
		my $equal = $op eq '=';
		return sub { (fold($_[0][1]) eq $want) == $equal };
	}
	return sub { $holds->($_[0][1] cmp $text) };
}

# A regular expression of PCRE2 as one of Perl.
sub regex
{
	my ($pattern) = @_;
	$pattern =~ s/(?<!\\)\$/\\z/g;
	return qr/$pattern/a;
}

# A sub that says whether an event is in a tree of the head.
sub filter
{
	my ($tree) = @_;
	return sub { 1 } unless defined $tree;
	my ($kind, @args) = @$tree;

	if ($kind eq 'and' || $kind eq 'or')
	{
		my @children = map { filter($_) } @args;
		return $kind eq 'and'
		  ? sub { foreach my $c (@children) { return 0 unless $c->($_[0]) } 1 }
		  : sub { foreach my $c (@children) { return 1 if $c->($_[0]) } 0 };
	}
	if ($kind eq 'not')
	{
		my $child = filter($args[0]);
		return sub { !$child->($_[0]) };
	}
	return sub { 1 } if $kind eq 'all';
	return text_filter($args[0]) if $kind eq 'text';

	my ($field, $negated) = @args;
	my $get = getter($field);
	my $test;
	if ($kind eq 'exists')
	{
		return sub { defined $get->($_[0]) };
	}
	elsif ($kind eq 'compare')
	{
		$test = comparison($field, $args[1], $args[2]);
		$negated = 0;
	}
	elsif ($kind eq 'in')
	{
		my @any = map { comparison($field, '=', $_) } @{ $args[2] };
		$test = sub { foreach my $a (@any) { return 1 if $a->($_[0]) } 0 };
	}
	elsif ($kind eq 'contains')
	{
		my $part = fold($args[2]);
		$test = sub { index(fold($_[0][1]), $part) >= 0 };
	}
	else
	{
		my $re = regex($args[2]);
		$test = sub { $_[0][1] =~ $re };
	}
	return sub {
		my $value = $get->($_[0]);
		return 0 unless defined $value;
		return $test->($value) ? !$negated : $negated;
	};
}

# Whole tokens of the event's text, one after the other.
sub text_filter
{
	my ($constant) = @_;
	my $folded = fold($constant->{text});
	my @want =
	  $constant->{kind} eq 'word'
	  ? map { wildcard($_) } $folded =~ /[A-Za-z0-9_*\x{80}-\x{10ffff}]+/g
	  : map { qr/\A\Q$_\E\z/ } tokens($folded);

	return sub {
		my $have = $_[0]{tokens} //= [ tokens($_[0]{fields}{event}[1]) ];
	  PLACE: foreach my $at (0 .. @$have - @want)
		{
			foreach my $i (0 .. $#want)
			{
				next PLACE unless $have->[ $at + $i ] =~ $want[$i];
			}
			return 1;
		}
		return 0;
	};
}

# ---- what is shown beside the rows ----

# The values of an event's attributes by their names: objects, down to 5 levels, are
# their members; of two values of one name the one of the longer key.
sub flatten
{
	my ($to, $prefix, $level, @members) = @_;
	foreach my $member (sort { $b->[0] =~ tr/.// <=> $a->[0] =~ tr/.// } @members)
	{
		my ($key, $raw) = @$member;
		my $name = $prefix . $key;
		if ($raw =~ /\A\{./ && $raw ne '{}' && $level < 5)
			{ flatten($to, "$name.", $level + 1, members($raw)); }
		else { $to->{$name} //= $raw; }
	}
	return;
}

# The fields of events as JSON texts, the most frequent first: [count, JSON] of each.
sub fields
{
	my ($events) = @_;
	my %found;
	foreach my $event (@$events)
	{
		my %attributes;
		flatten(\%attributes, '', 1, @{ $event->{attributes} });
		$found{"a$_"}{ $attributes{$_} }++
			foreach grep { $attributes{$_} ne 'null' } keys %attributes;
		$found{"b$_"}{ $event->{fields}{$_}[2] }++ foreach grep { $event->{fields}{$_} } qw(index
			level source service trace_id span_id);
	}
	my @fields;
	foreach my $id (keys %found)
	{
		my $values = $found{$id};
		my $count = 0;
		$count += $_ foreach values %$values;
		my @top = sort { $values->{$b} <=> $values->{$a} || $a cmp $b } keys %$values;
		splice @top, 10 if @top > 10;
		my $name = substr $id, 1;
		my $builtin = $id =~ /\Ab/ ? 'true' : 'false';
		push @fields, [ $count, $builtin, $name, '{"name":' . quote($name)
			. qq(,"builtin":$builtin,"count":$count,"complete":true,"top":[)
			  . join(',', map { "[$_,$values->{$_}]" } @top) . ']}' ];
	}
	return map { [ $_->[0], $_->[3] ] } sort { $b->[0] <=> $a->[0] || $b->[1] cmp $a->[1]
		|| $a->[2] cmp $b->[2] } @fields;
}

# [time, events, errors] of each point (microseconds) as JSON.
sub histogram
{
	my ($events, $points) = @_;
	my (@total, @errors);
	my $at = $#$points;
	foreach my $event (@$events)    # the newest first
	{
		$at-- while $points->[$at] > $event->{time};
		$total[$at]++;
		my $level = $event->{fields}{level};
		$errors[$at]++ if $level && $level->[1] =~ /\A(?:error|fatal)\z/i;
	}
	return '[' . join(',', map { '["' . iso_of($points->[$_]) . '",' . ($total[$_] // 0) . ','
		. ($errors[$_] // 0) . ']' } 0 .. $#$points) . ']';
}

# ---- events as answers show them ----

my @members = ([ id => 'id' ], [ timestamp => 'timestamp' ], [ ingested_at => 'ingestedAt' ],
	[ event => 'event' ],
	[ level => 'level' ], [ source => 'source' ], [ service => 'service' ], [ index => 'index' ],
	[ trace_id => 'traceId' ], [ span_id => 'spanId' ]);

# The JSON of an event.
sub event_json
{
	my ($event) = @_;
	my @out;
	foreach (@members)
	{
		my $value = $event->{fields}{ $_->[0] };
		push @out, qq("$_->[1]":$value->[2]) if defined $value;
	}
	push @out, '"attributes":{' . join(',',
		map { quote($_->[0]) . ":$_->[1]" } @{ $event->{attributes} }) . '}'
	  if @{ $event->{attributes} };
	return '{' . join(',', @out) . '}';
}

# The JSON of a row of events: what stages made is in it.
sub row_json
{
	my ($row) = @_;
	return event_json($row->{event}) unless $row->{changed};
	my @out;
	foreach (@members)
	{
		my $value = $row->{f}{ $_->[0] };
		push @out, qq("$_->[1]":$value->[2]) if defined $value;
	}
	my @attributes = map { quote($_) . ':' . $row->{a}{$_}[2] } sort grep { !$row->{hidden}{$_} }
		keys %{ $row->{a} };
	push @out, '"attributes":{' . join(',', @attributes) . '}' if @attributes;
	return '{' . join(',', @out) . '}';
}

1;
