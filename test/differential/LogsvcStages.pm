# LogsvcStages: the stages of the search language, by the book (docs/language.md).
#
# Rows of events are hashes: event, f (built-in fields), a (attributes); rows of
# tables are lists of JSON texts.  A null and a missing value are the same here.
package LogsvcStages;

use strict;
use warnings;
use utf8;

use LogsvcReference qw(quote value number fold lookup is_builtin field_name parse_time);
use Math::BigFloat;
use Math::BigInt;
use POSIX ();

my $two_63 = Math::BigInt->new(2)->bpow(63);

# ---- values ----

# A field of a row; null is missing.
sub get
{
	my ($state, $row, $field) = @_;
	my $found;
	if ($state->{columns})
	{
		my $name = field_name($field);
		foreach my $i (0 .. $#{ $state->{columns} })
		{
			next unless $state->{columns}[$i] eq $name;
			$found = defined $row->[$i] ? value($row->[$i]) : undef;
			last;
		}
	}
	else
	{
		$found = is_builtin($field) ? $row->{f}{ $field->{parts}[0] }
			: lookup($row->{a}, @{ $field->{parts} });
	}
	return defined $found && $found->[0] ne 'z' ? $found : undef;
}

# A field with a null that was sent.
sub stored
{
	my ($state, $row, $field) = @_;
	return is_builtin($field) ? $row->{f}{ $field->{parts}[0] }
		: lookup($row->{a}, @{ $field->{parts} });
}

sub raw { return defined $_[0] ? $_[0][2] : undef; }
sub string { return [ 's', $_[0], quote($_[0]) ]; }
sub boolean { return $_[0] ? [ 'b', 'true', 'true' ] : [ 'b', 'false', 'false' ]; }
sub is_true { return defined $_[0] && $_[0][1] eq 'true' && $_[0][0] =~ /[bs]/; }

sub double { return unpack 'd', pack 'd', $_[0]; }

# A number as it is shown.
sub number_text
{
	my ($n) = @_;
	return "$n" if LogsvcReference::is_integer($n);
	# Next to zero a double has fewer digits than 15.
	foreach my $digits ((abs($n) < 2.3e-308 ? 1 : 15) .. 17)
	{
		my $text = sprintf "%.${digits}g", $n;
		return $text if POSIX::strtod($text) == $n;
	}
}

# What cannot be a number is null.
sub number_value
{
	my ($d) = @_;
	return undef if $d != $d || abs($d) == 9**9**9;
	my $text = number_text(LogsvcReference::is_integer($d) ? $d : LogsvcReference::normal($d));
	return [ 'n', $text, $text ];
}

# A sum is exact; one of more characters than a number can have is a double, at most the largest.
sub sum_text
{
	my ($text) = @_;
	my $largest = 1.7976931348623157e308;
	my ($sum) = POSIX::strtod($text);

	return $text if length $text <= 300;
	return number_text($sum > $largest ? $largest : $sum < -$largest ? -$largest : $sum);
}

# The number of a value, or of a text that looks like one.
sub numeric
{
	my ($v) = @_;
	return undef unless defined $v && ($v->[0] eq 'n' || $v->[0] eq 's');
	return number($v->[1]);
}

# ... in arithmetic also the seconds of a time.
sub operand
{
	my ($v) = @_;
	my $n = numeric($v);
	return $n if defined $n || !defined $v || $v->[0] ne 's'
		|| $v->[1] !~ /\A\d{4}-\d\d-\d\d[T]\d\d:\d\d/;
	my $micros = parse_time($v->[1]) // return undef;
	return LogsvcReference::normal(double($micros / 1_000_000));
}

sub big { return Math::BigInt->new("$_[0]"); }
sub fits { return $_[0] < $two_63 && $_[0] >= -$two_63; }

sub arithmetic
{
	my ($op, $x, $y) = @_;
	$x = operand($x) // return undef;
	$y = operand($y) // return undef;
	return undef if $op =~ m{[/%]} && $y == 0;
	if (LogsvcReference::is_integer($x) && LogsvcReference::is_integer($y))
	{
		my ($bx, $by) = (big($x), big($y));
		my $exact = $op eq '+' ? $bx + $by : $op eq '-' ? $bx - $by : $op eq '*' ? $bx * $by
		  : $op eq '%' ? $bx->copy->btmod($by) : $bx->copy->btmod($by) == 0
		  ? $bx->copy->btdiv($by) : undef;
		return [ 'n', "$exact", "$exact" ] if defined $exact && fits($exact);
	}
	($x, $y) = (double($x), double($y));
	return number_value(POSIX::fmod($x, $y)) if $op eq '%';
	return number_value(double($op eq '+' ? $x + $y : $op eq '-' ? $x - $y : $op eq '*'
		? $x * $y : $x / $y));
}

my %holds = (
	'=' => sub { $_[0] == 0 }, '!=' => sub { $_[0] != 0 }, '<' => sub { $_[0] < 0 },
	'<=' => sub { $_[0] <= 0 }, '>' => sub { $_[0] > 0 }, '>=' => sub { $_[0] >= 0 });

# What is known of an expression before any row is seen.
sub type_of
{
	my ($e) = @_;
	my $kind = $e->[0];
	return 'text' if $kind eq 'str';
	return 'number' if $kind =~ /^(?:num|neg|arith)$/;
	return 'null' if $kind eq 'null';
	return 'any' if $kind eq 'field';
	return 'condition' if $kind ne 'call';
	return 'text' if $e->[1] =~ /^(?:lower|upper|trim|substr|replace|concat|tostring)$/;
	return 'number' if $e->[1] =~ /^(?:len|round|floor|ceil|abs|tonumber)$/;
	return 'condition' if $e->[1] =~ /^(?:like|isnull|isnotnull)$/;
	if ($e->[1] eq 'case')
	{
		my @args = @$e[ 2 .. $#$e ];
		my %types = map { type_of($args[$_]) => 1 } grep { $_ % 2 || $_ == $#args } 0 .. $#args;
		return keys %types == 1 ? (keys %types)[0] : 'any';
	}
	return type_of($e->[3]) if $e->[1] eq 'if' && @$e == 5 && type_of($e->[3]) eq type_of($e->[4]);
	return 'any';
}

my @levels = qw(trace debug info warn error fatal);
my %rank = map { $levels[$_] => $_ } 0 .. $#levels;

sub is_builtin_field
{
	my ($e, @names) = @_;
	return $e->[0] eq 'field' && !$e->[1]{prefix} && @{ $e->[1]{parts} } == 1
		&& grep { $e->[1]{parts}[0] eq $_ } @names;
}

sub is_level { return is_builtin_field($_[0], 'level'); }

# A time, whatever the rows have.
sub is_time
{
	my ($e) = @_;
	return is_builtin_field($e, qw(timestamp ingested_at)) ? 1 : 0 if $e->[0] eq 'field';
	return 0 unless $e->[0] eq 'arith' && $e->[1] =~ /[-+]/;
	my ($x, $y) = map { is_time($_) } @$e[ 2, 3 ];
	return $e->[1] eq '+' ? $x ^ $y : $x && !$y ? 1 : 0;
}

# In microseconds.
sub time_value
{
	my ($v) = @_;
	my $time = $v->[0] eq 's' ? LogsvcReference::parse_time($v->[1]) : undef;
	return $time if defined $time;
	my $number = numeric($v) // return undef;
	foreach (1 .. 3) { $number /= 1000 if abs $number >= 1e11; }
	return abs $number < 1e12 ? POSIX::floor($number * 1e6 + 0.5) : undef;
}

# level = "ERROR" is also level = "error".
sub compare
{
	my ($op, $left, $x, $right, $y) = @_;
	return compare({ '<' => '>', '<=' => '>=', '>' => '<', '>=' => '<=' }->{$op} // $op, $right, $y, $left, $x)
		if is_level($right) && $left->[0] eq 'str';
	if (is_level($left) && $right->[0] eq 'str' && defined $x)
	{
		my $level = LogsvcReference::level_name($right->[1]);
		if (defined $level && $op =~ /^!?=$/)
		{
			my $equal = $x->[1] eq $right->[1] || $x->[1] eq $level;
			return $op eq '=' ? $equal : !$equal;
		}
		my $is = $rank{ LogsvcReference::level_name($x->[1]) // '' };
		return defined $is && $holds{$op}->($is <=> $rank{$level}) if defined $level;
	}
	if ((is_time($left) || is_time($right)) && defined $x && defined $y && ($x->[0] eq 's' || $y->[0] eq 's'))
	{
		my ($p, $q) = (time_value($x), time_value($y));
		if (defined $p && defined $q)
		{
			if ($p % 1000 == 0) { $q -= $q % 1000; }
			elsif ($q % 1000 == 0) { $p -= $p % 1000; }
			return $holds{$op}->($p <=> $q);
		}
	}
	if ($left->[0] eq 'null' || $right->[0] eq 'null')
	{
		my $both = !defined $x && !defined $y;
		return $op eq '=' ? $both : $op eq '!=' && !$both;
	}
	return 0 unless defined $x && defined $y;
	my $texts = type_of($left) eq 'text' || type_of($right) eq 'text';
	if (!$texts && ($x->[0] eq 'n' || $y->[0] eq 'n'))
	{
		my ($p, $q) = (numeric($x), numeric($y));
		return $op eq '!=' unless defined $p && defined $q;
		return $holds{$op}->(LogsvcReference::compare_numbers($p, $q));
	}
	return $holds{$op}->($x->[1] cmp $y->[1]);
}

# % is any text, _ one character.
sub like
{
	my ($text, $pattern) = @_;
	my $re = join '', map { $_ eq '%' ? '.*' : $_ eq '_' ? '.' : quotemeta } split //, $pattern;
	return $text =~ /\A$re\z/s;
}

my %functions = (
	isnull => sub { boolean(!defined $_[0]) },
	isnotnull => sub { boolean(defined $_[0]) },
	like => sub { defined $_[0] && defined $_[1] ? boolean(like($_[0][1], $_[1][1])) : undef },
	lower => sub { defined $_[0] ? string($_[0][1] =~ tr/A-Z/a-z/r) : undef },
	upper => sub { defined $_[0] ? string($_[0][1] =~ tr/a-z/A-Z/r) : undef },
	trim => sub { defined $_[0] ? string($_[0][1] =~ s/\A[ \t-\r]+//r =~ s/[ \t-\r]+\z//r)
		: undef },
	len => sub { defined $_[0] ? number_value(length $_[0][1]) : undef },
	concat => sub { string(join '', map { defined $_ ? $_->[1] : '' } @_) },
	tostring => sub { defined $_[0] ? string($_[0][1]) : undef },
	tonumber => sub { my $n = operand($_[0]); defined $n ? number_value($n) : undef },
	replace => sub {
		my ($text, $old, $new) = @_;
		return undef unless defined $text;
		return string($text->[1]) if !defined $old || $old->[1] eq '';
		my $with = defined $new ? $new->[1] : '';
		return string($text->[1] =~ s/\Q$old->[1]\E/$with/gr);
	},
	substr => sub {
		my ($text, $start, $count) = @_;
		return undef unless defined $text;
		$start = numeric($start) // return undef;
		my $length = length $text->[1];
		my $from = int($start) < 0 ? $length + int $start : int($start) - 1;
		my $end = $length;
		if (@_ > 2)
		{
			$count = numeric($count) // return undef;
			$end = $from + int $count if $from + int $count < $length;
		}
		$from = 0 if $from < 0;
		return string($from < $end ? substr $text->[1], $from, $end - $from : '');
	},
	floor => sub { my $n = operand($_[0]) // return undef;
		number_value(LogsvcReference::is_integer($n) ? $n : POSIX::floor($n)) },
	ceil => sub { my $n = operand($_[0]) // return undef;
		number_value(LogsvcReference::is_integer($n) ? $n : POSIX::ceil($n)) },
	abs => sub {
		my $n = operand($_[0]) // return undef;
		return number_value(abs $n) unless LogsvcReference::is_integer($n);
		my $abs = abs big($n);
		return fits($abs) ? [ 'n', "$abs", "$abs" ] : number_value(9223372036854775808.0);
	},
	round => sub {
		my ($of, $digits) = @_;
		my $n = operand($of) // return undef;
		my $places = 0;
		$places = int(numeric($digits) // return undef) if @_ > 1;
		return number_value($n) if abs($n) == 9**9**9 || LogsvcReference::is_integer($n)
			&& $places >= 0;
		my $rounded = Math::BigFloat->new(number_text($n))->bfround(-$places, 'common');
		# bfround(0) rounds to whole numbers with another meaning.
		$rounded = Math::BigFloat->new(number_text($n))->bmul(2)->badd($n < 0 ? -1
			: 1)->bdiv(2)->bint if $places == 0;
		$rounded = _round_left($n, -$places) if $places < 0;
		return $rounded->is_int && fits($rounded) ? do { my $t = $rounded->as_int;
			[ 'n', "$t", "$t" ] } : number_value(POSIX::strtod($rounded->bstr));
	},
	now => sub { string('now') },
);

sub _round_left
{
	my ($n, $zeros) = @_;
	my $scale = Math::BigFloat->new(10)->bpow($zeros);
	my $scaled = Math::BigFloat->new(number_text($n))->bdiv($scale, 60);
	return $scaled->badd($n < 0 ? -0.5 : 0.5)->bint->bmul($scale);
}

# A sub that evaluates an expression for a row.
sub compile
{
	my ($state, $e) = @_;
	my ($kind, @args) = @$e;

	if ($kind eq 'field') { my $f = $args[0]; return sub { get($state, $_[0], $f) }; }
	if ($kind eq 'num') { my $v = number_value(number($args[0])); return sub { $v }; }
	if ($kind eq 'str') { my $v = string($args[0]); return sub { $v }; }
	if ($kind eq 'bool') { my $v = boolean($args[0] eq 'true'); return sub { $v }; }
	if ($kind eq 'null') { return sub { undef }; }
	if ($kind eq 'neg') { my $x = compile($state, $args[0]);
		return sub { arithmetic('-', [ 'n', '0' ], $x->($_[0])) }; }
	if ($kind eq 'arith')
	{
		my ($op, $x, $y) = ($args[0], map { compile($state, $_) } @args[ 1, 2 ]);
		return sub { arithmetic($op, $x->($_[0]), $y->($_[0])) };
	}
	if ($kind eq 'cmp')
	{
		my ($op, $left, $right) = @args;
		my ($x, $y) = map { compile($state, $_) } $left, $right;
		return sub { boolean(compare($op, $left, $x->($_[0]), $right, $y->($_[0]))) };
	}
	if ($kind eq 'and' || $kind eq 'or')
	{
		my @all = map { compile($state, $_) } @args;
		return $kind eq 'and'
		  ? sub { foreach my $a (@all) { return boolean(0)
		  unless is_true($a->($_[0])) } boolean(1) }
		  : sub { foreach my $a (@all) { return boolean(1) if is_true($a->($_[0])) } boolean(0) };
	}
	if ($kind eq 'not') { my $x = compile($state, $args[0]);
		return sub { boolean(!is_true($x->($_[0]))) }; }
	if ($kind eq 'in')
	{
		my ($negated, $left, @items) = @args;
		my $x = compile($state, $left);
		my @subs = map { compile($state, $_) } @items;
		return sub {
			my $value = $x->($_[0]) // return boolean(0);
			foreach my $i (0 .. $#items)
			{
				my $item = $subs[$i]->($_[0]) // next;
				return boolean(!$negated) if compare('=', $left, $value, $items[$i], $item);
			}
			return boolean($negated);
		};
	}
	if ($kind eq 'contains')
	{
		my ($negated, $x, $y) = ($args[0], map { compile($state, $_) } @args[ 1, 2 ]);
		return sub {
			my ($p, $q) = ($x->($_[0]), $y->($_[0]));
			return boolean(0) unless defined $p && defined $q;
			return boolean((index(fold($p->[1]), fold($q->[1])) >= 0) != $negated);
		};
	}
	if ($kind eq 'matches')
	{
		my ($negated, $x, $re) = ($args[0], compile($state, $args[1]),
			LogsvcReference::regex($args[2][1]));
		return sub {
			my $p = $x->($_[0]) // return boolean(0);
			return boolean(($p->[1] =~ $re ? 1 : 0) != $negated);
		};
	}
	my ($name, @list) = @args;
	my @subs = map { compile($state, $_) } @list;
	if ($name eq 'if') { return sub { is_true($subs[0]->($_[0])) ? $subs[1]->($_[0]) : $subs[2]
		? $subs[2]->($_[0]) : undef }; }
	if ($name eq 'case')
	{
		return sub {
			my $i = 0;
			for (; $i < $#subs; $i += 2)
				{ return $subs[ $i + 1 ]->($_[0]) if is_true($subs[$i]->($_[0])); }
			return $i == $#subs ? $subs[$i]->($_[0]) : undef;
		};
	}
	if ($name eq 'coalesce') { return sub { foreach my $s (@subs) { my $v = $s->($_[0]); return $v
		if defined $v } undef }; }
	my $function = $functions{$name};
	return sub { my $row = $_[0]; $function->(map { scalar $_->($row) } @subs) };
}

# ---- order ----

# Numbers before texts, missing last; -1 turns numbers and texts around.
sub order_of
{
	my ($x, $y, $direction) = @_;
	my @n = map { defined $_ ? do { my $n = numeric($_); defined $n && abs($n) != 9**9**9 ? $n
		: undef } : undef } $x, $y;
	if (defined $n[0] || defined $n[1])
	{
		return -1 unless defined $n[1];
		return 1 unless defined $n[0];
		my $order = LogsvcReference::compare_numbers(@n) || $x->[1] cmp $y->[1];
		return $direction * $order;
	}
	return (defined $y) <=> (defined $x) unless defined $x && defined $y;
	return $direction * ($x->[1] cmp $y->[1]);
}

# Of groups: the same, and of equal texts the one that is a string first.
sub group_order
{
	my ($p, $q) = @_;
	foreach my $i (0 .. $#$p)
	{
		my ($x, $y) = map { defined $_ ? value($_) : undef } $p->[$i], $q->[$i];
		my $order = order_of($x, $y, 1) || ($p->[$i] // '') cmp ($q->[$i] // '');
		return $order if $order;
	}
	return 0;
}

# ---- stages ----

# Rows of a row's group: [keys, rows] in order of first appearance.
sub groups
{
	my ($state, $rows, @fields) = @_;
	my (%index, @groups);
	foreach my $row (@$rows)
	{
		my @keys = map { raw(get($state, $row, $_)) } @fields;
		my $key = join "\0", map { $_ // 'null' } @keys;
		push @groups, $index{$key} = [ \@keys, [] ] unless $index{$key};
		push @{ $index{$key}[1] }, $row;
	}
	push @groups, [ [], [] ] if !@fields && !@groups;
	return @groups;
}

my $zero = Math::BigFloat->new(0);

sub aggregate
{
	my ($state, $aggregate, $rows) = @_;
	my ($name, $arg) = @{$aggregate}{qw(name arg)};
	return scalar @$rows unless $arg;
	my $value = compile($state, $arg);
	my @known = grep { defined } map { scalar $value->($_) } @$rows;
	return scalar @known if $name eq 'count';
	if ($name eq 'dc')
	{
		my %seen = map { $_->[2] => 1 } @known;
		return scalar keys %seen;
	}
	if ($name eq 'values')
	{
		my @sorted = sort { group_order([ $a ], [ $b ]) }
			LogsvcStages::unique(map { $_->[2] } @known);
		# The list has a limit (docs/language.md).
		splice @sorted, 1000 if @sorted > 1000;
		return @sorted ? '[' . join(',', @sorted) . ']' : undef;
	}
	return @known ? $known[0][2] : undef if $name eq 'first';
	return @known ? $known[-1][2] : undef if $name eq 'last';
	my @numbers = grep { my $n = numeric($_); defined $n && abs($n) != 9**9**9 } @known;
	if ($name eq 'min' || $name eq 'max')
	{
		my $turn = $name eq 'min' ? 1 : -1;
		if (@numbers)
		{
			my ($best) = sort { $turn * LogsvcReference::compare_numbers($a, $b) } map
				{ numeric($_) } @numbers;
			return number_text($best);
		}
		my ($best) = sort { $turn * ($a cmp $b) } map { $_->[1] } @known;
		return defined $best ? quote($best) : undef;
	}
	return undef unless @numbers;
	if ($name eq 'sum' || $name eq 'avg')
	{
		my $sum = $zero->copy;
		foreach (@numbers)
		{
			my $n = numeric($_);
			$sum->badd(LogsvcReference::is_integer($n) ? $n : $_->[1]);
		}
		return sum_text($sum->bstr) if $name eq 'sum';
		my ($avg) = POSIX::strtod($sum->bdiv(scalar @numbers, 40)->bstr);
		return number_text(LogsvcReference::normal($avg));
	}
	my ($percent) = $name =~ /^p(\d+)$/;
	my @sorted = sort { $a <=> $b } map { double(numeric($_)) } @numbers;
	my $at = $percent / 100 * $#sorted;
	my $low = POSIX::floor($at);
	my $high = POSIX::ceil($at);
	return number_text(LogsvcReference::normal($sorted[$low] + ($at - $low) *
		($sorted[$high] - $sorted[$low])));
}

sub aggregate_name { my ($a) = @_; return $a->{as} // ($a->{arg} ? "$a->{name}($a->{text})"
	: $a->{name}); }

sub table
{
	my ($state, $columns, $rows) = @_;
	return { columns => $columns, rows => $rows, kind => 'table' };
}

sub changed
{
	my ($row) = @_;
	return { %$row, f => { %{ $row->{f} } }, a => { %{ $row->{a} } },
		hidden => { %{ $row->{hidden} // {} } }, changed => 1 };
}

# Sets a field of a row (a copy); undef: it has none any more.
sub assign
{
	my ($state, $row, $field, $value) = @_;
	my $name = field_name($field);
	if ($state->{columns})
	{
		my ($at) = grep { $state->{columns}[$_] eq $name } 0 .. $#{ $state->{columns} };
		$row->[$at] = raw($value);
		return;
	}
	if (is_builtin($field)) { $row->{f}{$name} = $value; }
	else
	{
		LogsvcReference::remove($row->{a}, @{ $field->{parts} });
		$row->{a}{$name} = $value if defined $value;
		delete $row->{hidden}{$name};
	}
	return;
}

sub add_column
{
	my ($state, $field) = @_;
	my $name = field_name($field);
	return if !$state->{columns} || grep { $_ eq $name } @{ $state->{columns} };
	$state->{columns} = [ @{ $state->{columns} }, $name ];
	return;
}

sub copies { my ($state) = @_; return map { $state->{columns} ? [@$_] : changed($_) }
	@{ $state->{rows} }; }

my %stage;
%stage = (
	where => sub {
		my ($state, $s) = @_;
		my $test = compile($state, $s->{condition});
		return { %$state, rows => [ grep { is_true($test->($_)) } @{ $state->{rows} } ] };
	},
	head => sub {
		my ($state, $s) = @_;
		my @rows = @{ $state->{rows} };
		splice @rows, $s->{count} // 10 if @rows > ($s->{count} // 10);
		return { %$state, rows => \@rows };
	},
	sort => sub {
		my ($state, $s) = @_;
		my @rows = @{ $state->{rows} };
		my @values = map { my $row = $_;
			[ map { scalar get($state, $row, $_->{field}) } @{ $s->{keys} } ] } @rows;
		my @order = sort {
			my $order = 0;
			foreach my $i (0 .. $#{ $s->{keys} })
			{
				my $key = $s->{keys}[$i];
				my $direction = $key->{descending} ? -1 : 1;
				my ($x, $y) = ($values[$a][$i], $values[$b][$i]);
				$order = defined $x && defined $y && defined $x->[3] && defined $y->[3]
					&& !ref $x->[3]
				  ? $direction * ($x->[3] <=> $y->[3]) : order_of($x, $y, $direction);
				last if $order;
			}
			$order || $a <=> $b;
		} 0 .. $#rows;
		splice @order, $s->{count} // 10000 if @order > ($s->{count} // 10000);
		return { %$state, rows => [ @rows[@order] ] };
	},
	dedup => sub {
		my ($state, $s) = @_;
		my %seen;
		my @rows = grep {
			my $row = $_;
			my @keys = map { raw(get($state, $row, $_)) } @{ $s->{fields} };
			(grep { !defined } @keys) ? $s->{keep_empty} : $seen{ join "\0", @keys }++
				< ($s->{count} // 1);
		} @{ $state->{rows} };
		return { %$state, rows => \@rows };
	},
	eval => sub {
		my ($state, $s) = @_;
		$state = { %$state, rows => [ copies($state) ] };
		foreach (@{ $s->{assigns} })
		{
			my ($to, $expression) = @$_;
			my $value = compile($state, $expression);
			my @values = map { scalar $value->($_) } @{ $state->{rows} };
			add_column($state, $to);
			assign($state, $state->{rows}[$_], $to, $values[$_]) foreach 0 .. $#values;
		}
		return $state;
	},
	rename => sub {
		my ($state, $s) = @_;
		my @pairs = @{ $s->{renames} };
		if ($state->{columns})
		{
			my %to = map { field_name($_->[0]) => field_name($_->[1]) } @pairs;
			my %has = map { $_ => 1 } @{ $state->{columns} };
			my %taken = map { $to{$_} => 1 } grep { $has{$_} } keys %to;
			my @keep = grep { my $n = $state->{columns}[$_]; $to{$n} || !$taken{$n} } 0 ..
				$#{ $state->{columns} };
			return { %$state, columns =>
				[ map { $to{ $state->{columns}[$_] } // $state->{columns}[$_] } @keep ],
				rows => [ map { [ @{$_}[@keep] ] } @{ $state->{rows} } ] };
		}
		my @rows = copies($state);
		foreach my $row (@rows)
		{
			my @values = map { is_builtin($_->[0]) ? $row->{f}{ $_->[0]{parts}[0] }
				: lookup($row->{a}, @{ $_->[0]{parts} }) } @pairs;
			assign($state, $row, $_->[0], undef) foreach @pairs;
			assign($state, $row, $pairs[$_][1], $values[$_]) foreach 0 .. $#pairs;
		}
		return { %$state, rows => \@rows };
	},
	rex => sub {
		my ($state, $s) = @_;
		my $re = LogsvcReference::regex($s->{pattern});
		my $from = $s->{field} // { parts => ['event'], prefix => 0 };
		$state = { %$state, rows => [ copies($state) ] };
		my @texts = map { scalar get($state, $_, $from) } @{ $state->{rows} };
		my @fields = map { { parts => [$_], prefix => 0 } } @{ $s->{groups} };
		add_column($state, $_) foreach @fields;
		foreach my $i (0 .. $#texts)
		{
			next unless defined $texts[$i] && $texts[$i][1] =~ $re;
			my %found = %+;
			assign($state, $state->{rows}[$i], $_, string($found{ $_->{parts}[0] }))
				foreach grep { defined $found{ $_->{parts}[0] } } @fields;
		}
		return $state;
	},
	fields => sub {
		my ($state, $s) = @_;
		my %named = map { field_name($_) => 1 } @{ $s->{fields} };
		if ($state->{columns})
		{
			my @columns = @{ $state->{columns} };
			my @names = $s->{exclude} ? grep { !$named{$_} } @columns
				: LogsvcStages::unique(map { field_name($_) } @{ $s->{fields} });
			my @at = map { my $n = $_; my ($i) = grep { $columns[$_] eq $n } 0 .. $#columns;
				$i } @names;
			return { %$state, columns => \@names,
				rows => [ map { my $r = $_; [ map { defined $_ ? $r->[$_] : undef } @at ] }
					@{ $state->{rows} } ] };
		}
		my @rows = copies($state);
		foreach my $row (@rows)
		{
			if ($s->{exclude})
			{
				foreach my $field (@{ $s->{fields} })
				{
					if (!@{ $field->{parts} })
						{ $row->{hidden} = { map { $_ => 1 } keys %{ $row->{a} } }; next; }
					assign($state, $row, $field, undef);
				}
				next;
			}
			my %f = map { my $n = field_name($_); is_builtin($_) && defined $row->{f}{$n}
				? ($n => $row->{f}{$n}) : () } @{ $s->{fields} };
			unless ($named{attributes})
			{
				$row->{a} = { map { my $v = is_builtin($_)
					? undef : lookup($row->{a}, @{ $_->{parts} }); defined $v
						? (field_name($_) => $v) : () } @{ $s->{fields} } };
			}
			$row->{f} = \%f;
		}
		return { %$state, rows => \@rows };
	},
	stats => sub {
		my ($state, $s) = @_;
		my @by = @{ $s->{by} // [] };
		my @rows = map { my $g = $_; [ @{ $g->[0] },
			map { aggregate($state, $_, $g->[1]) } @{ $s->{aggregates} } ] }
		  sort { group_order($a->[0], $b->[0]) } groups($state, $state->{rows}, @by);
		return table($state, [ (map { field_name($_) } @by),
			map { aggregate_name($_) } @{ $s->{aggregates} } ], \@rows);
	},
	tail => sub {
		my ($state, $s) = @_;
		my @rows = @{ $state->{rows} };
		splice @rows, 0, @rows - ($s->{count} // 10) if @rows > ($s->{count} // 10);
		return { %$state, rows => \@rows };
	},
	table => sub {
		my ($state, $s) = @_;
		my @fields = @{ $s->{fields} };
		my %seen;
		return $stage{fields}->($state, { %$s, exclude => 0 }) if $state->{columns};
		@fields = grep { !$seen{ field_name($_) }++ } @fields;
		my @rows = map { my $row = $_;
			[ map { raw(LogsvcStages::stored($state, $row, $_)) } @fields ] } @{ $state->{rows} };
		return table($state, [ map { field_name($_) } @fields ], \@rows);
	},
	fillnull => sub {
		my ($state, $s) = @_;
		$state = { %$state, rows => [ copies($state) ] };
		my @fields = $s->{fields} ? @{ $s->{fields} }
			: map { { parts => [$_], prefix => 0 } } @{ $state->{columns} };
		add_column($state, $_) foreach @fields;
		foreach my $field (@fields)
		{
			defined get($state, $_, $field) || assign($state, $_, $field, value($s->{value}))
				foreach @{ $state->{rows} };
			next if $state->{columns};
			# What was inside of another field is a field of its own.
			assign($state, $_, $field, get($state, $_, $field)) foreach @{ $state->{rows} };
		}
		return $state;
	},
	eventstats => sub {
		my ($state, $s) = @_;
		my @rows = copies($state);
		my @by = @{ $s->{by} // [] };
		my @values = map { my $a = $_;
			my %of = map { my $g = $_; my $v = aggregate($state, $a, $g->[1]);
				map { ($_ => $v) } @{ $g->[1] } } groups($state, \@rows, @by);
			\%of } @{ $s->{aggregates} };
		$state = { %$state, rows => [ copies({ %$state, rows => \@rows }) ] };
		foreach my $i (0 .. $#values)
		{
			my $field = { parts => [ aggregate_name($s->{aggregates}[$i]) ], prefix => 0 };
			add_column($state, $field);
			foreach my $r (0 .. $#rows)
			{
				my $v = $values[$i]{ $rows[$r] };
				assign($state, $state->{rows}[$r], $field, defined $v ? value("$v") : undef);
			}
		}
		return $state;
	},
	top => \&top,
	rare => \&top,
	timechart => \&timechart,
);

sub unique { my %seen; return grep { !$seen{$_}++ } @_; }

sub top
{
	my ($state, $s) = @_;
	my @by = @{ $s->{by} // [] };
	my @fields = @{ $s->{fields} };
	my $turn = $s->{stage} eq 'top' ? -1 : 1;
	my @counted = grep { my $row = $_; !grep { !defined get($state, $row, $_) } @fields }
		@{ $state->{rows} };
	my @rows;

	foreach my $group (sort { group_order($a->[0], $b->[0]) } groups($state, \@counted, @by))
	{
		my @inner = @{ $group->[1] } ? groups($state, $group->[1], @fields) : ();
		my $all = @{ $group->[1] };
		@inner = sort { $turn * (@{ $a->[1] } <=> @{ $b->[1] })
			|| group_order($a->[0], $b->[0]) } @inner;
		splice @inner, $s->{count} // 10 if @inner > ($s->{count} // 10);
		foreach (@inner)
		{
			my $n = @{ $_->[1] };
			my $percent = int((2_000_000 * $n + $all) / (2 * $all)) / 10_000;
			push @rows, [ @{ $group->[0] }, @{ $_->[0] }, $n,
				number_text(LogsvcReference::normal($percent)) ];
		}
	}
	return table($state, [ (map { field_name($_) } @by, @fields), 'count', 'percent' ], \@rows);
}

# Points in time come from the calendar of the server's own SQL.
sub timechart
{
	my ($state, $s) = @_;
	my @times = @{ $state->{times} };
	my @by = @{ $s->{by} // [] };
	my @at;
	my %place;

	foreach my $row (@{ $state->{rows} })
	{
		my ($low, $high) = (0, scalar @times);
		while ($high - $low > 1)
		{
			my $middle = int(($low + $high) / 2);
			if ($times[$middle] <= $row->{event}{time}) { $low = $middle; } else
				{ $high = $middle; }
		}
		push @at, $low;
	}
	my @series = ([ [], [ 0 .. $#{ $state->{rows} } ] ]);
	if (@by)
	{
		my $numbered = 0;
		my %number = map { $_ => $numbered++ } @{ $state->{rows} };
		my @groups = map { [ $_->[0], [ map { $number{$_} } @{ $_->[1] } ] ] } groups($state,
			$state->{rows}, @by);
		@groups = () unless @{ $state->{rows} };
		@groups = sort { @{ $b->[1] } <=> @{ $a->[1] } || group_order($a->[0], $b->[0]) } @groups;
		my $limit = $s->{limit} // 10;
		@series = splice @groups, 0, $limit;
		push @series, [ [ map { '"OTHER"' } @by ],
			[ sort { $a <=> $b } map { @{ $_->[1] } } @groups ] ] if @groups;
	}
	my @rows;
	foreach my $i (0 .. $#times)
	{
		my $time = quote(LogsvcReference::iso_of($times[$i]));
		foreach my $one (@series)
		{
			my $in = $one->[2] //= do { my %in; push @{ $in{ $at[$_] } }, $state->{rows}[$_]
				foreach @{ $one->[1] }; \%in };
			push @rows, [ $time, @{ $one->[0] }, map { aggregate($state, $_, $in->{$i} // []) }
				@{ $s->{aggregates} } ];
		}
	}
	my $table = table($state, [ 'time', (map { field_name($_) } @by),
		map { aggregate_name($_) } @{ $s->{aggregates} } ], \@rows);
	return { %$table, kind => 'series' };
}

# The answer to a query whose head found these events: {kind, columns, rows}, rows
# as JSON; `times` are the points of a timechart.
sub answer
{
	my ($events, $stages, $times) = @_;
	my $state = { kind => 'events', times => $times,
		rows => [ map { { event => $_, f => $_->{fields}, a => $_->{by_key} } } @$events ] };

	$state = $stage{ $_->{stage} }->($state, $_) foreach @$stages;
	return { kind => 'events', rows => [ map { LogsvcReference::row_json($_) }
		@{ $state->{rows} } ],
		changed => scalar grep { $_->{changed} } @{ $state->{rows} } } unless $state->{columns};
	my $last = $#{ $state->{columns} };
	return { kind => $state->{kind}, columns => $state->{columns},
		rows => [ map { my $r = $_; '[' . join(',', map { $r->[$_] // 'null' } 0 .. $last) . ']' }
			@{ $state->{rows} } ] };
}

1;
