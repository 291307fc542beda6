# LogsvcOpenapi: answers compared with the API description (GET /api/v1/openapi.json).
#
# Debian's JSON::Validator is not used: it needs thirty packages and has no strict mode.  Strict
# means that a member which no schema names is an error, so that the description cannot leave one
# out.  An object whose schema names no members at all must say additionalProperties.
package LogsvcOpenapi;

use strict;
use warnings;

use B ();
use JSON::PP ();
use Storable ();

# Of long lists the first elements are looked at.
my $most_elements = 100;

# run-staged makes the file once for all tests.
sub new
{
	my ($class, $document) = @_;
	my $self = bless { document => $document, schemas => {}, paths => {}, patterns => [] }, $class;

	foreach my $path (sort keys %{ $document->{paths} })
	{
		if ($path !~ /\{/)
		{
			$self->{paths}{$path} = $document->{paths}{$path};
			next;
		}
		my $pattern = join '[^/]+', map { quotemeta } split /\{\w+\}/, $path, -1;
		push @{ $self->{patterns} }, [ qr/\A$pattern\z/, $path ];
	}
	return $self;
}

sub from_json_file
{
	my ($class, $file) = @_;
	open(my $f, '<:raw', $file) or die "$file: $!";
	return $class->new(JSON::PP::decode_json(do { local $/; readline $f }));
}

# JSON as perl keeps it: read in a hundredth of the time.
sub store { my ($self, $file) = @_; return Storable::nstore($self->{document}, $file); }
sub from_store { my ($class, $file) = @_; return $class->new(Storable::retrieve($file)); }

# The operations of a path, by method, and the path as the description writes it.
sub find
{
	my ($self, $path) = @_;
	$path =~ s/\?.*//s;
	$path =~ s{(?<=.)/\z}{} unless $self->{paths}{$path};
	return ($self->{paths}{$path}, $path) if $self->{paths}{$path};
	foreach my $pattern (@{ $self->{patterns} })
	{
		return ($self->{document}{paths}{ $pattern->[1] }, $pattern->[1]) if $path =~ $pattern->[0];
	}
	return;
}

# What an answer differs in: a list of texts, empty when it is as described.  `json` is its body
# when the type says that it is JSON.
sub check_answer
{
	my ($self, $method, $path, $status, $type, $json) = @_;
	my ($operations, $described) = $self->find($path);

	# Not of this API, or not of a client that expects an answer.
	return () if !$operations || $method !~ /^(?:GET|POST|PUT|PATCH|DELETE)$/;
	my $operation = $operations->{ lc $method };
	return $status == 405 ? () : ("$status for a method that $described does not have")
	  if !$operation;
	my $response = $operation->{responses}{$status}
	  or return ("$method $described: status $status is not described");
	$response = $self->resolve($response->{'$ref'}) if $response->{'$ref'};
	return () if !defined $type || $status == 304;
	my $content = $response->{content}
	  or return ("$method $described $status: an answer of $type where none is described");
	my ($short) = $type =~ /^([^;]*)/;
	my $media = $content->{$type} // $content->{$short}
	  or return ("$method $described $status: type $type is not described");
	return () if $short !~ m{^application/json$} || !$media->{schema};
	return map { "$method $described $status: $_" } $self->validate($media->{schema}, $json);
}

sub resolve
{
	my ($self, $reference) = @_;
	return $self->{schemas}{$reference} //= do
	{
		my $node = $self->{document};
		foreach my $step (split m{/}, $reference =~ s/^#\///r)
		{
			$node = ref $node eq 'HASH' ? $node->{$step} : undef;
			die "$reference is not in the document\n" unless defined $node;
		}
		$node;
	};
}

# What a value differs in from a schema: a list of texts.
sub validate
{
	my ($self, $schema, $value) = @_;
	my @errors;
	$self->_validate($schema, $value, '', \@errors, undef);
	return @errors;
}

sub _type
{
	my ($value) = @_;
	return 'null' unless defined $value;
	my $ref = ref $value;
	return $ref eq 'HASH' ? 'object' : $ref eq 'ARRAY' ? 'array' : 'boolean' if $ref;
	my $flags = B::svref_2object(\$value)->FLAGS;
	return 'string' if $flags & B::SVp_POK();
	return $flags & B::SVp_NOK() && $value != int $value ? 'number' : 'integer';
}

sub _equals
{
	my ($one, $other) = @_;
	my $type = _type($one);
	return 0 if $type ne _type($other);
	return $type eq 'null' || "$one" eq "$other";
}

# `known` collects the names of members that schemas of the same value name (allOf, $ref).
sub _validate
{
	my ($self, $schema, $value, $at, $errors, $known) = @_;
	my $outermost = !defined $known;
	my $type = _type($value);

	if (!ref $schema || ref $schema ne 'HASH')
	{
		push @$errors, "$at: nothing is allowed here" unless $schema;
		return;
	}
	if (my $types = $schema->{type})
	{
		my $fits = 0;
		foreach my $t (ref $types ? @$types : $types)
		{
			$fits ||= $t eq $type || ($t eq 'number' && $type eq 'integer');
		}
		if (!$fits)
		{
			push @$errors, "$at: $type, expected " . (ref $types ? join ' or ', @$types : $types);
			return;
		}
	}
	$known //= {};
	if (my $enum = $schema->{enum})
	{
		push @$errors, "$at: " . ($value // 'null') . ' is not one of the values described'
		  unless grep { _equals($_, $value) } @$enum;
	}
	push @$errors, "$at: is not $schema->{const}"
	  if exists $schema->{const} && !_equals($schema->{const}, $value);
	if ($type eq 'string')
	{
		push @$errors, "$at: '$value' is not a time"
		  if ($schema->{format} // '') eq 'date-time'
		  && $value !~ /\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)\z/;
		push @$errors, "$at: longer than described"
		  if defined $schema->{maxLength} && length $value > $schema->{maxLength};
		push @$errors, "$at: shorter than described"
		  if defined $schema->{minLength} && length $value < $schema->{minLength};
		push @$errors, "$at: does not match $schema->{pattern}"
		  if defined $schema->{pattern} && $value !~ /$schema->{pattern}/;
	}
	elsif ($type eq 'integer' || $type eq 'number')
	{
		push @$errors, "$at: $value is less than described"
		  if defined $schema->{minimum} && $value < $schema->{minimum};
		push @$errors, "$at: $value is more than described"
		  if defined $schema->{maximum} && $value > $schema->{maximum};
	}
	elsif ($type eq 'array')
	{
		push @$errors, "$at: more elements than described"
		  if defined $schema->{maxItems} && @$value > $schema->{maxItems};
		push @$errors, "$at: fewer elements than described"
		  if defined $schema->{minItems} && @$value < $schema->{minItems};
		if (my $items = $schema->{items})
		{
			my $last = @$value > $most_elements ? $most_elements - 1 : $#$value;
			$self->_validate($items, $value->[$_], "$at\[$_]", $errors, undef) for 0 .. $last;
		}
	}
	elsif ($type eq 'object')
	{
		my $properties = $schema->{properties} // {};
		my $others = $schema->{additionalProperties};

		foreach my $name (@{ $schema->{required} // [] })
		{
			push @$errors, "$at: member $name is missing" unless exists $value->{$name};
		}
		foreach my $name (keys %$value)
		{
			if (exists $properties->{$name})
			{
				$known->{$name} = 1;
				$self->_validate($properties->{$name}, $value->{$name}, "$at.$name", $errors, undef);
			}
			elsif (ref $others eq 'HASH')
			{
				$known->{$name} = 1;
				$self->_validate($others, $value->{$name}, "$at.$name", $errors, undef);
			}
			elsif ($others)
			{
				$known->{$name} = 1;
			}
		}
	}
	$self->_validate($self->resolve($schema->{'$ref'}), $value, $at, $errors, $known)
	  if $schema->{'$ref'};
	$self->_validate($_, $value, $at, $errors, $known) foreach @{ $schema->{allOf} // [] };
	if (my $choices = $schema->{oneOf} // $schema->{anyOf})
	{
		my @all = map {
			my (@wrong, %names);
			$self->_validate($_, $value, $at, \@wrong, \%names);
			_unknown($value, \%names, $at, \@wrong) if $type eq 'object';
			[ \@wrong, \%names ]
		} @$choices;
		my @fits = grep { !@{ $_->[0] } } @all;
		if (@fits == 1 || (@fits && $schema->{anyOf}))
		{
			%$known = (%$known, %{ $fits[0][1] });
		}
		else
		{
			push @$errors, "$at: fits " . (@fits ? 'several' : 'none') . ' of the choices: '
			  . join ' | ', map { $_->[0][0] // 'fits' } @all;
			# The rest would be told again.
			%$known = (%$known, map { $_ => 1 } keys %$value) if $type eq 'object';
		}
	}
	_unknown($value, $known, $at, $errors)
	  if $outermost && $type eq 'object' && %$value && _says_something($schema);
	return;
}

sub _unknown
{
	my ($value, $known, $at, $errors) = @_;
	foreach my $name (sort keys %$value)
	{
		push @$errors, "$at: member $name is not described" unless $known->{$name};
	}
	return;
}

# The empty schema is for any value.
sub _says_something
{
	my ($schema) = @_;
	return scalar grep { exists $schema->{$_} } qw(type properties $ref allOf oneOf anyOf required);
}

1;
