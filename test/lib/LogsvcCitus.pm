# LogsvcCitus: a coordinator and worker nodes of Citus on this machine, with logsvc in each.
#
#	my $cluster = LogsvcCitus->new;             # coordinator, first, second
#	my $t = $cluster->coordinator;              # a LogsvcTest, with the extension logsvc, ready
#	my ($first, $second) = $cluster->workers;   # LogsvcTest too
#
# The nodes talk over sockets in the file system: nothing listens on the network but HTTP on
# loopback.
package LogsvcCitus;

use strict;
use warnings;

use LogsvcTest;

# The lines of postgresql.conf that a node needs.  Citus looks for its version in the folder of
# the server, not in that of the tests.
sub conf
{
	return "shared_preload_libraries = 'citus, logsvc'", 'wal_level = logical', 'max_worker_processes = 60',
	  'max_prepared_transactions = 100', 'citus.enable_version_checks = off', 'columnar.enable_version_checks = off',
	  "citus.node_conninfo = 'sslmode=prefer'", 'citus.max_background_task_executors = 1';
}

# A server with Citus, and without logsvc if $opt{extension} is 0.
sub server
{
	my ($class, $name, %opt) = @_;
	my $t = LogsvcTest->new(name => $name, conf => join("\n", $class->conf, $opt{conf} // ''), extension => 0);
	$t->sql('CREATE EXTENSION citus');
	if ($opt{extension} // 1)
	{
		$t->create_extension;
		$t->wait_ready;
	}
	return $t;
}

sub new
{
	my ($class, %opt) = @_;
	my $self = bless {
		coordinator => $class->server('coordinator', %opt, extension => 0),
		workers => [ map { $class->server($_, %opt, extension => 0) } qw(first second) ],
	}, $class;
	my $t = $self->coordinator;

	$t->sql(sprintf q{SELECT citus_set_coordinator_host('%s', %d)}, $t->node->host, $t->node->port);
	$self->add_node($_) foreach $self->workers;
	# Citus makes it on the workers, too.
	$t->create_extension;
	$t->wait_ready;
	return $self;
}

# A server alone whose tables of events Citus distributes: its only node is the coordinator.
sub distribute
{
	my ($class, $t) = @_;
	$t->sql('CREATE EXTENSION citus');
	$t->sql(sprintf q{SELECT citus_set_coordinator_host('%s', %d)}, $t->node->host, $t->node->port);
	$t->sql('SELECT logsvc.distribute()');
	return;
}

sub coordinator { return $_[0]->{coordinator}; }
sub workers { return @{ $_[0]->{workers} }; }

sub add_node
{
	my ($self, $worker) = @_;
	$self->coordinator->sql(sprintf q{SELECT citus_add_node('%s', %d)}, $worker->node->host, $worker->node->port);
	return;
}

sub stop
{
	my $self = shift;
	$_->stop foreach $self->coordinator, $self->workers;
	return;
}

1;
