# hidden_plans.pl: debug_print_plan and its like, which every session may set, show a session
# its own statements and nothing of those that functions run with other rights, whose values are
# secrets.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $org = $t->organization('acme');
$t->sql('CREATE ROLE app LOGIN IN ROLE logsvc_tenant; CREATE ROLE ops LOGIN IN ROLE logsvc_admin');

# What psql prints, with what the server sends beside the rows, and the constants in it as text.
sub shown
{
	my ($user, $sql) = @_;
	my (undef, undef, $messages) = $t->node->psql('postgres',
		"SET client_min_messages = log; SET debug_pretty_print = off; SET debug_print_parse = on;\n"
		  . "SET debug_print_rewritten = on; SET debug_print_plan = on;\n$sql",
		extra_params => [ '-U', $user ]);
	my $trees = $messages =~ s/\s+/ /gr;
	my $constants = join "\n", map { pack 'c*', split ' ', $_ } $trees =~ /:constvalue \d+ \[ ([-\d ]+) \]/g;
	return ($messages, $constants);
}

sub plans { my ($messages) = @_; return scalar(() = $messages =~ /LOG:\s+plan:/g); }

my $secret = 'a-key-that-is-shown-to-nobody';
my $made = $t->http(POST => '/api/v1/alert-rules', token => $org->{token}, json => {
	name => 'a', query => 'x', condition => { kind => 'absence' }, notify => [
		{ kind => 'webhook', target => 'https://events.example/v2', format => 'pagerduty', secret => $secret } ] });
is($made->{status}, 201, 'a rule with a secret');
my $id = $made->{json}{data}{id};

foreach my $user (qw(app ops))
{
	my $act = $user eq 'app' ? "logsvc.use_token('$org->{token}')" : "logsvc.act_as('acme', '$org->{email}')";
	my ($messages, $constants) = shown($user, "SELECT $act IS NULL;
		SELECT logsvc.update_alert_rule('$id', '{\"name\": \"$user\"}') ->> 'name';
		SELECT (logsvc.invite('acme', 'cem.$user\@acme.example', 'viewer') ->> 'status');
		SELECT 'the last one'");
	like($constants, qr/the last one/, "$user sees the plans of its own statements");
	is(plans($messages), 4, 'and no others');
	unlike($constants, qr/\Q$secret\E/, 'so no secret of a webhook');
	unlike($constants, qr/#t=/, 'and no link of a mail');
	unlike($messages, qr/:relname|eref \{ALIAS :aliasname (?:resource|invitation)/, 'nor what functions are made of');
}

# Superusers read the tables anyway.
my (undef, undef, $all) = $t->node->psql('postgres', "SET client_min_messages = log; SET debug_print_plan = on;
	SELECT logsvc.act_as('acme', '$org->{email}') IS NULL;
	SELECT logsvc.update_alert_rule('$id', '{\"name\": \"superuser\"}') ->> 'name'");
cmp_ok(plans($all), '>', 2, 'a superuser sees all of them');

# The settings are still those of the session.
is($t->sql("SET debug_print_plan = on; SELECT logsvc.use_token('$org->{token}') ->> 'kind'; SELECT logsvc.list_alert_rules() IS NULL;
	SHOW debug_print_plan", user => 'app') =~ s/.*\n//sr, 'on', 'what was set is set afterwards');
is($t->sql("SET debug_print_plan = on; SELECT logsvc.use_token('$org->{token}') ->> 'kind'; SET debug_print_plan = off;
	SELECT logsvc.list_alert_rules() IS NULL; SHOW debug_print_plan", user => 'app') =~ s/.*\n//sr, 'off', 'and what was reset is not');

done_testing();
