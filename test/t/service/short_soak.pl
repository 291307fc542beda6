# short_soak.pl: a few rounds of what `make soak` does for longer.
use strict;
use warnings;

use LogsvcTest;

$ENV{ROUNDS} //= 3;
$ENV{SECONDS} //= 2;
$ENV{WORKSPACE} //= 0;
$ENV{FAULTS} //= 'SIGKILL of one worker,pg_ctl stop -m immediate,full disk of the queue';
do './test/soak/soak.pl' or die $@ || $!;
