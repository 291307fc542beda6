# LogsvcProtobuf: messages of protobuf as bytes.
package LogsvcProtobuf;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(varint bytes number);

sub varint
{
	my ($n) = @_;
	my $out = '';
	while ($n > 127) { $out .= chr($n & 127 | 128); $n >>= 7; }
	return $out . chr($n);
}

# A field of bytes, a text or a message; a field of a number.
sub bytes { my ($number, $content) = @_; return varint($number << 3 | 2)
	. varint(length $content) . $content; }
sub number { my ($number, $value) = @_; return varint($number << 3) . varint($value); }

1;
