# LogsvcStageGenerator: random stages, as trees and as text.
package LogsvcStageGenerator;

use strict;
use warnings;
use utf8;

use LogsvcGenerator;
use LogsvcReference qw(field_name is_builtin);

sub pick { return $_[ rand @_ ]; }
sub chance { return rand() < $_[0]; }
sub between { return $_[0] + int rand($_[1] - $_[0] + 1); }

# ---- fields ----

# Attributes, some of them in objects; names that stages make are among them.
my @names = (qw(status status duration_ms duration_ms host host method path ip ok big a b c A
	request_id user user.id user.name a.id a.b a.b.c n made slow x-y),
	'odd key', 'Ärger', 'attributes.level', 'made.id', '`user.id`', '`a.b`');

sub stage_field
{
	my ($state) = @_;
	return { parts => [ pick(@{ $state->{columns} }) ], prefix => 0 } if $state->{columns}
		&& chance(0.95);
	return { parts => [ pick(qw(event level source service index timestamp id)) ], prefix => 0 }
		if chance(0.25);
	return field_of(pick(@names));
}

# A dotted name in backticks is one key.
sub field_of
{
	my ($name) = @_;
	return { parts => ['level'], prefix => 1 } if $name eq 'attributes.level';
	return { parts => [$1], prefix => 0 } if $name =~ /\A`(.*)`\z/;
	return { parts => [ split /\./, $name ], prefix => 0 };
}

# A field that groups: not many values.
sub group_field
{
	my ($state) = @_;
	return stage_field($state) if $state->{columns} || chance(0.3);
	my $name = pick(qw(level source service index status host method ok user.id path));
	return { parts => [ split /\./, $name ], prefix => 0 };
}

sub different_fields
{
	my ($state, $n, $from) = @_;
	my %seen;
	return grep { !$seen{ field_name($_) }++ } map { $from->($state) } 1 .. $n;
}

# Fields that have none of these names.
sub not_named
{
	my ($fields, @names) = @_;
	my %taken = map { $_ => 1 } @names;
	return grep { !$taken{ field_name($_) } } @$fields;
}

my %reserved = map { $_ => 1 } qw(by as true false null AND OR NOT IN CONTAINS MATCHES);

sub field_text
{
	my ($field) = @_;
	my @parts = map {
		/`/ || $_ eq '' ? return undef : /\A[A-Za-z_\x{a1}-\x{1fff}][A-Za-z0-9_\x{a1}-\x{1fff}]*\z/
			&& !$reserved{$_} ? $_ : "`$_`"
	} @{ $field->{parts} };
	return join '.', ($field->{prefix} ? 'attributes' : ()), @parts;
}

# ---- expressions ----

my @operators = qw(= = != < <= > >=);

sub number_expression
{
	my ($events, $state, $depth) = @_;
	my $kind = rand;
	return [ 'field', stage_field($state) ] if $depth <= 0 ? $kind < 0.7 : $kind < 0.3;
	return [ 'num', pick(0, 1, 2, 3, 10, 100, 500, 1000, '0.5', '1.5', '2.50', '1e3',
		'9007199254740993', '9223372036854775807', '0.1', '3') ] if $depth <= 0 || $kind < 0.4;
	return [ 'neg', number_expression($events, $state, $depth - 1) ] if $kind < 0.45;
	return [ 'arith', pick(qw(+ - * / %)), map { number_expression($events, $state, $depth - 1) } 1,
		2 ] if $kind < 0.75;
	my $name = pick(qw(round round floor ceil abs tonumber len));
	return [ 'call', 'len', text_expression($events, $state, $depth - 1) ] if $name eq 'len';
	return [ 'call', 'tonumber', any_expression($events, $state, $depth - 1) ]
		if $name eq 'tonumber';
	return [ 'call', $name, number_expression($events, $state, $depth - 1), $name eq 'round'
		&& chance(0.5) ? [ 'num', between(0, 3) ] : () ];
}

sub text_literal { my ($events) = @_; return [ 'str', substr LogsvcGenerator::some_text($events), 0,
	30 ]; }

sub text_expression
{
	my ($events, $state, $depth) = @_;
	my $kind = rand;
	return [ 'field', chance(0.3) && !$state->{columns} ? { parts => ['event'], prefix => 0 }
		: stage_field($state) ] if $kind < 0.4;
	return text_literal($events) if $depth <= 0 || $kind < 0.5;
	my $name = pick(qw(lower upper trim substr replace concat tostring coalesce if));
	my $inner = sub { text_expression($events, $state, $depth - 1) };
	return [ 'call', 'substr', $inner->(), [ 'num', between(0, 5) ], chance(0.6)
		? [ 'num', between(0, 6) ] : () ] if $name eq 'substr' && chance(0.7);
	return [ 'call', 'substr', $inner->(), [ 'neg', [ 'num', between(1, 5) ] ], chance(0.5)
		? [ 'num', between(0, 4) ] : () ] if $name eq 'substr';
	return [ 'call', 'replace', $inner->(), text_literal($events), text_literal($events) ]
		if $name eq 'replace';
	return [ 'call', $name, map { any_expression($events, $state, $depth - 1) } 1 .. between(1, 3) ]
		if $name =~ /^(?:concat|coalesce)$/;
	return [ 'call', 'case',
		(map { condition($events, $state, $depth - 1), $inner->() } 1 .. between(1, 2)),
		chance(0.5) ? $inner->() : () ] if $name eq 'if' && chance(0.3);
	return [ 'call', 'if', condition($events, $state, $depth - 1), $inner->(), chance(0.7)
		? $inner->() : () ] if $name eq 'if';
	return [ 'call', $name, any_expression($events, $state, $depth - 1) ];
}

sub any_expression
{
	my ($events, $state, $depth) = @_;
	my $kind = rand;
	return [ 'bool', pick(qw(true false)) ] if $kind < 0.04;
	return ['null'] if $kind < 0.06;
	return [ 'field', stage_field($state) ] if $kind < 0.3;
	return $kind < 0.65 ? number_expression($events, $state, $depth)
		: text_expression($events, $state, $depth);
}

sub condition
{
	my ($events, $state, $depth) = @_;
	my $kind = rand;
	return [ pick(qw(and or)), map { condition($events, $state, $depth - 1) } 1 .. between(2, 3) ]
		if $depth > 0 && $kind < 0.2;
	return [ 'not', condition($events, $state, $depth - 1) ] if $depth > 0 && $kind < 0.3;
	return [ 'field', { parts => ['ok'], prefix => 0 } ] if $kind < 0.33 && !$state->{columns};
	if ($kind < 0.75)
	{
		my ($x, $y) = (any_expression($events, $state, $depth - 1),
			any_expression($events, $state, $depth - 1));
		if (chance(0.5))
		{
			my $field = stage_field($state);
			my $seen = $state->{columns} ? undef : LogsvcGenerator::seen_value($events, $field);
			$x = [ 'field', $field ];
			$y = $seen && $seen->[0] eq 'n' && $seen->[1] =~ /\A[0-9.]+(?:[eE][-+]?\d{1,2})?\z/
				&& chance(0.8) ? [ 'num', $seen->[1] ] : $seen ? [ 'str', substr $seen->[1], 0, 40 ]
					: $y;
		}
		my $op = pick(@operators);
		# In an order, levels are compared with levels only.
		foreach ([ $x, \$y ], [ $y, \$x ])
		{
			my ($field, $other) = @$_;
			$$other = [ 'str', pick(qw(debug info WARN warning error Critical)) ]
				if $field->[0] eq 'field' && LogsvcStages::is_level($field) && $$other->[0] eq 'str'
				&& $op !~ /^!?=$/;
		}
		return [ 'cmp', $op, $x, $y ];
	}
	return [ 'in', chance(0.3) ? 1 : 0, any_expression($events, $state, 0),
		map { any_expression($events, $state, 0) } 1 .. between(1, 3) ] if $kind < 0.85;
	return [ 'contains', chance(0.3) ? 1 : 0, text_expression($events, $state, 0), chance(0.8)
		? text_literal($events) : [ 'field', stage_field($state) ] ] if $kind < 0.93;
	return [ 'call', pick(qw(isnull isnotnull)), any_expression($events, $state, 0) ] if $kind < 0.95;
	return [ 'call', 'like', text_expression($events, $state, 0),
		[ 'str', pick('', '%') . pick('e', 'ti', '0', '_', 'user') . pick('%', '_%', '') ] ]
		if $kind < 0.965;
	return [ 'matches', chance(0.3) ? 1 : 0, text_expression($events, $state, 0),
		[ 're', LogsvcGenerator::some_regex() ] ];
}

my %strength = (or => 1, and => 2, not => 3, cmp => 4, in => 4, contains => 4, matches => 4,
	arith => 5, neg => 8);

sub strength
{
	my ($e) = @_;
	return $e->[1] =~ m{[*/%]} ? 6 : 5 if $e->[0] eq 'arith';
	return $strength{ $e->[0] } // 9;
}

# The text; parentheses where what is inside binds weaker than $need.
sub expression_text
{
	my ($e, $need) = @_;
	my ($kind, @args) = @$e;
	my $own = strength($e);
	my $inside = sub { expression_text($_[0], $_[1]) // die "no text\n" };
	my $text =
	    $kind eq 'field' ? field_text($args[0])
	  : $kind eq 'num' ? $args[0]
	  : $kind eq 'str' ? LogsvcGenerator::string_text($args[0])
	  : $kind eq 're' ? LogsvcGenerator::regex_text($args[0])
	  : $kind eq 'bool' ? $args[0]
	  : $kind eq 'null' ? 'null'
	  : $kind eq 'neg' ? '- ' . $inside->($args[0], 8)
	  : $kind eq 'arith' ? $inside->($args[1], $own) . " $args[0] " . $inside->($args[2], $own + 1)
	  : $kind eq 'cmp' ? $inside->($args[1], 5) . " $args[0] " . $inside->($args[2], 5)
	  : $kind eq 'in' ? $inside->($args[1], 5) . ($args[0] ? ' NOT' : '') . ' IN ('
	  . join(', ', map { $inside->($_, 5) } @args[ 2 .. $#args ]) . ')'
	  : $kind eq 'contains' || $kind eq 'matches' ? $inside->($args[1], 5)
	  . ($args[0] ? ' NOT ' : ' ') . uc($kind) . ' ' . $inside->($args[2], 5)
	  : $kind eq 'not' ? 'NOT ' . $inside->($args[0], 3)
	  : $kind eq 'and' ? join ' AND ', map { $inside->($_, 3) } @args
	  : $kind eq 'or' ? join ' OR ', map { $inside->($_, 2) } @args
	  : "$args[0](" . join(', ', map { $inside->($_, 1) } @args[ 1 .. $#args ]) . ')';
	return undef unless defined $text;
	return $own < $need || chance(0.05) && $kind !~ /^(?:re|str)$/ ? "($text)" : $text;
}

# ---- stages ----

sub make_aggregates
{
	my ($events, $state) = @_;
	my %seen;
	my @aggregates;
	foreach my $i (1 .. between(1, 3))
	{
		my $name = pick(qw(count count count dc sum avg min max p50 p95 p99 p0 p1 first last
			values));
		my %aggregate = (name => $name);
		if ($name ne 'count' || chance(0.3))
		{
			my $numeric = $name =~ /^(?:sum|avg|p\d+|min|max)$/ && !$state->{columns}
				&& chance(0.7);
			$aggregate{arg} = [ 'field', $numeric
				? { parts => [ pick(qw(duration_ms status n big)) ], prefix => 0 }
					: stage_field($state) ];
			$aggregate{arg} = number_expression($events, $state, 1) if chance(0.15);
		}
		$aggregate{as} = "m$i" if $aggregate{arg} || $seen{$name}++ || chance(0.2);
		push @aggregates, \%aggregate;
	}
	return \@aggregates;
}

my @rexes = (
	[ 'user=(?<who>\w+)', ['who'] ], [ '(?<w1>\w+) (?<w2>\w+)', [ 'w1', 'w2' ] ],
		[ '(?<num>\d+)(?: (?<unit>ms|s))?', [ 'num', 'unit' ] ],
	[ 'from (?<ip>\d+\.\d+\.\d+\.\d+)', ['ip'] ], [ '^(?<first>[^ ]*)', ['first'] ],
		[ '(?<level>error|failed)', ['level'] ], [ '(?i)(?<status>timeout|ok)', ['status'] ]);

# Another stage for rows of that state ({columns} or events); changes the state.
sub make_stage
{
	my ($events, $state) = @_;
	my $kind = rand;

	if ($kind < 0.18) { return { stage => 'where', condition => condition($events, $state, 2) }; }
	if ($kind < 0.20) { return { stage => 'tail', chance(0.8) ? (count => between(1, 30)) : () }; }
	if ($kind < 0.22)
	{
		my @fields = different_fields($state, between(1, 3), \&stage_field);
		foreach my $field ($state->{columns} ? @fields : ())
		{
			push @{ $state->{columns} }, field_name($field)
				unless grep { $_ eq field_name($field) } @{ $state->{columns} };
		}
		return { stage => 'fillnull', value => pick('0', '-1.5', '"none"', '"a b"'),
			$state->{columns} && chance(0.4) ? () : (fields => \@fields) };
	}
	if ($kind < 0.27) { return { stage => 'head', chance(0.8) ? (count => between(1, 30)) : () }; }
	if ($kind < 0.36)
	{
		return { stage => 'sort', chance(0.3) ? (count => between(1, 50)) : (),
			keys => [ map { { field => $_, descending => chance(0.5) ? 1 : 0 } }
				different_fields($state, between(1, 3), \&stage_field) ] };
	}
	if ($kind < 0.46)
	{
		return { stage => 'dedup', chance(0.3) ? (count => between(1, 3)) : (),
			keep_empty => chance(0.6) ? 1 : 0,
			fields => [ different_fields($state, between(1, 2), \&group_field) ] };
	}
	if ($kind < 0.58)
	{
		my @assigns;
		foreach (1 .. between(1, 2))
		{
			my $to = field_of(pick(qw(made slow made2 a status n2), chance(0.2) ? 'level' : 'made',
				$state->{columns} ? () : qw(user user.id a.b)));
			push @assigns, [ $to, chance(0.2) ? condition($events, $state, 1) : chance(0.15)
				? [ 'field', stage_field($state) ] : any_expression($events, $state, 2) ];
			push @{ $state->{columns} }, field_name($to) if $state->{columns}
				&& !grep { $_ eq field_name($to) } @{ $state->{columns} };
		}
		return { stage => 'eval', assigns => \@assigns };
	}
	if ($kind < 0.64)
	{
		my @from = different_fields($state, between(1, 2), \&stage_field);
		my @to = ('renamed', $state->{columns} || chance(0.7) ? 'b' : pick(qw(user user.id a.b)),
			'made');
		my @pairs = map { [ $from[$_], field_of($to[$_]) ] } 0 .. $#from;
		$state->{renamed} = 1;
		$state->{columns} = [ LogsvcStages::unique(map
			{ my $c = $_; my ($p) = grep { field_name($_->[0]) eq $c } @pairs;
				$p ? field_name($p->[1]) : $c } @{ $state->{columns} }) ] if $state->{columns};
		return { stage => 'rename', renames => \@pairs };
	}
	if ($kind < 0.69)
	{
		my ($pattern, $groups) = @{ pick(@rexes) };
		push @{ $state->{columns} }, grep { my $g = $_; !grep { $_ eq $g } @{ $state->{columns} } }
			@$groups if $state->{columns};
		return { stage => 'rex', pattern => $pattern, groups => $groups, $state->{columns}
			|| chance(0.2) ? (field => stage_field($state)) : () };
	}
	if ($kind < 0.71 && ($state->{eventstats} // 0) < 3)
	{
		my @by = chance(0.6) ? different_fields($state, between(1, 2), \&group_field) : ();
		my $aggregates = make_aggregates($events, $state);
		# No column may be named as what it is grouped by.
		my %taken = map { join('.', @{ $_->{parts} }) => 1 } @by;
		foreach my $i (0 .. $#$aggregates)
		{
			$aggregates->[$i]{as} = ($taken{ 'e' . ($i + 1) } ? 'more_e' : 'e') . ($i + 1);
		}
		foreach my $name ($state->{columns} ? map { $_->{as} } @$aggregates : ())
		{
			push @{ $state->{columns} }, $name unless grep { $_ eq $name } @{ $state->{columns} };
		}
		$state->{eventstats}++;
		return { stage => 'eventstats', aggregates => $aggregates, by => \@by };
	}
	if ($kind < 0.72)
	{
		my @fields = different_fields($state, between(1, 4), \&stage_field);
		$state->{columns} = [ LogsvcStages::unique(map { field_name($_) } @fields) ];
		return { stage => 'table', fields => \@fields };
	}
	if ($kind < 0.77)
	{
		my @fields = different_fields($state, between(1, 4), \&stage_field);
		my $exclude = chance(0.4) ? 1 : 0;
		if ($state->{columns})
		{
			my %named = map { field_name($_) => 1 } @fields;
			my @left = grep { !$named{$_} } @{ $state->{columns} };
			$exclude = 0 unless @left;
			$state->{columns} = $exclude ? \@left : [ map { field_name($_) } @fields ];
		}
		elsif (chance(0.15))
		{
			push @fields, { parts => [], prefix => 1 };
		}
		return { stage => 'fields', fields => \@fields, exclude => $exclude };
	}
	if ($kind < 0.88)
	{
		my @by = chance(0.75) ? different_fields($state, between(1, 2), \&group_field) : ();
		my $aggregates = make_aggregates($events, $state);
		$aggregates = [ { name => 'count' } ] if chance(0.35);
		@by = not_named(\@by, map { $_->{as} // $_->{name} } @$aggregates);
		$state->{columns} = [ (map { field_name($_) } @by),
			map { $_->{as} // $_->{name} } @$aggregates ];
		return { stage => 'stats', aggregates => $aggregates, by => \@by };
	}
	if ($kind < 0.95 || $state->{columns} || $state->{no_chart})
	{
		my @all = different_fields($state, between(1, 3), \&group_field);
		@all = not_named(\@all, qw(count percent));
		return make_stage($events, $state) unless @all;
		my @fields = splice @all, 0, 1 + int rand @all;
		$state->{columns} = [ LogsvcStages::unique(map { field_name($_) } @all, @fields),
			'count', 'percent' ];
		return { stage => pick(qw(top rare)), chance(0.5) ? (count => between(1, 5)) : (),
			fields => \@fields, by => \@all };
	}
	my @by = chance(0.6) ? different_fields($state, chance(0.8) ? 1 : 2, \&group_field) : ();
	my $aggregates = make_aggregates($events, $state);
	@by = not_named(\@by, 'time', map { $_->{as} // $_->{name} } @$aggregates);
	$state->{columns} = [ 'time', (map { field_name($_) } @by),
		map { $_->{as} // $_->{name} } @$aggregates ];
	return { stage => 'timechart', span => pick($state->{long} ? ('6h', '1d', '1w', '1mon')
		: ('7m', '30m', '1h', '2h', '6h', '1d', '1w')), chance(0.4) ? (limit => between(1, 4)) : (),
			aggregates => $aggregates, by => \@by };
}

sub make_stages
{
	my ($events, $query) = @_;
	my $state = { long => $query->{earliest} ? 1 : 0 };
	my @stages;
	return [] if chance(0.3);
	# Some are so long that their statement is cut.
	foreach (1 .. between(1, chance(0.03) ? 25 : 4))
	{
		my $stage = make_stage($events, $state);
		push @stages, $stage;
		last if $stage->{stage} eq 'timechart' && chance(0.5);
	}
	return \@stages;
}

sub fields_text { return join ', ', map { @{ $_->{parts} } ? field_text($_) // die "no text\n"
	: 'attributes' } @_; }
sub by_text { my ($s) = @_; return @{ $s->{by} // [] } ? ' by ' . fields_text(@{ $s->{by} }) : ''; }
sub count_text { my ($s) = @_; return defined $s->{count} ? " $s->{count}" : ''; }

sub aggregates_text
{
	return join ', ', map {
		my $a = $_;
		$a->{name} . ($a->{arg} ? '(' . (expression_text($a->{arg}, 1) // die "no text\n") . ')'
			: '') . (defined $a->{as} ? " as $a->{as}" : '')
	} @_;
}

sub stage_text
{
	my ($s) = @_;
	my $name = $s->{stage};
	return "where " . (expression_text($s->{condition}, 1) // die "no text\n") if $name eq 'where';
	return 'head' . count_text($s) if $name eq 'head';
	return 'sort' . count_text($s) . ' ' . join ', ',
		map { ($_->{descending} ? '-' : '') . fields_text($_->{field}) } @{ $s->{keys} }
			if $name eq 'sort';
	return 'dedup' . count_text($s) . ' ' . fields_text(@{ $s->{fields} })
		. ($s->{keep_empty} ? '' : ' keepempty=false') if $name eq 'dedup';
	return 'eval ' . join ', ', map { fields_text($_->[0]) . ' = '
		. (expression_text($_->[1], 1) // die "no text\n") } @{ $s->{assigns} } if $name eq 'eval';
	return 'rename ' . join ', ', map { fields_text($_->[0]) . ' as ' . fields_text($_->[1]) }
		@{ $s->{renames} } if $name eq 'rename';
	return 'rex ' . ($s->{field} ? 'field=' . fields_text($s->{field}) . ' ' : '')
		. LogsvcGenerator::regex_text($s->{pattern}) if $name eq 'rex';
	return 'fields ' . ($s->{exclude} ? '- ' : '') . fields_text(@{ $s->{fields} })
		if $name eq 'fields';
	return 'table ' . fields_text(@{ $s->{fields} }) if $name eq 'table';
	return 'tail' . count_text($s) if $name eq 'tail';
	return "fillnull value=$s->{value}" . ($s->{fields} ? ' ' . fields_text(@{ $s->{fields} }) : '')
		if $name eq 'fillnull';
	return 'eventstats ' . aggregates_text(@{ $s->{aggregates} }) . by_text($s) if $name eq 'eventstats';
	return 'stats ' . aggregates_text(@{ $s->{aggregates} }) . by_text($s) if $name eq 'stats';
	return $name . count_text($s) . ' ' . fields_text(@{ $s->{fields} }) . by_text($s)
		if $name =~ /^(?:top|rare)$/;
	return "timechart span=$s->{span} " . (defined $s->{limit} ? "limit=$s->{limit} " : '')
		. aggregates_text(@{ $s->{aggregates} }) . by_text($s);
}

# undef: the language has no way to say it.
sub text
{
	my ($stage) = @_;
	my $text = eval { stage_text($stage) };
	die $@ if !defined $text && $@ ne "no text\n";
	return $text;
}

# ---- smaller ones ----

sub smaller_expressions
{
	my ($e) = @_;
	my ($kind, @args) = @$e;
	my @smaller;
	foreach my $i (0 .. $#args)
	{
		next unless ref $args[$i] eq 'ARRAY';
		push @smaller, $args[$i] if $kind =~ /^(?:and|or|not|arith|neg|call)$/;
		foreach my $less (smaller_expressions($args[$i]))
		{
			my @changed = @args;
			$changed[$i] = $less;
			push @smaller, [ $kind, @changed ];
		}
	}
	return @smaller;
}

sub smaller
{
	my ($s) = @_;
	my @smaller;
	foreach my $list (qw(aggregates by fields keys assigns))
	{
		my $n = ref $s->{$list} eq 'ARRAY' ? @{ $s->{$list} } : 0;
		next if $n == 0 || $n == 1 && $list ne 'by';
		foreach my $i (0 .. $n - 1)
		{
			my @less = @{ $s->{$list} };
			splice @less, $i, 1;
			push @smaller, { %$s, $list => \@less };
		}
	}
	push @smaller, map { { %$s, condition => $_ } } smaller_expressions($s->{condition})
		if $s->{condition};
	if ($s->{assigns} && @{ $s->{assigns} } == 1)
	{
		push @smaller, map { { %$s, assigns => [ [ $s->{assigns}[0][0], $_ ] ] } }
			smaller_expressions($s->{assigns}[0][1]);
	}
	return @smaller;
}

1;
