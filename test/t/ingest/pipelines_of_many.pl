# pipelines_of_many.pl: an acceptor remembers of each of many organizations which pipelines it has,
# also that it has none: their next requests look nothing up.
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

# More than an acceptor keeps programs of.
my $many = 270;
my $t = LogsvcTest->new(conf => "logsvc.acceptors = 1\nlogsvc.flush_interval = '50ms'");
$t->sql(q{CREATE TABLE public.made (n int, slug text, key text);
	CREATE FUNCTION public.make(n int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE slug text := 'org-' || n;
	BEGIN
		PERFORM logsvc.create_organization(slug, 'pro');
		INSERT INTO public.made VALUES (n, slug, logsvc.create_api_key(slug, 'ingest', 'ingest-only') ->> 'key');
	END $$});
$t->sql("SET client_min_messages = error; SELECT count(public.make(n)) FROM generate_series(1, $many) n");
my @keys = split /\n/, $t->sql('SELECT key FROM public.made ORDER BY n');

# An event of each; how many were accepted until one was not.
sub send_all
{
	my ($text) = @_;
	my $n = 0;
	foreach my $key (@keys)
	{
		last if $t->http(POST => '/api/v1/logs', token => $key, json => { event => $text }, timeout => 10)->{status} != 202;
		$n++;
	}
	return $n;
}

is(send_all('first'), $many, 'each organization sends an event');
# An acceptor that looks one up would stop here.
$t->stop_at('pipelines_look_up');
is(send_all('second'), $many, 'and another one, for which no pipelines are looked up');
$t->let_go('pipelines_look_up');

# With a pipeline each, there are more programs than are kept.
foreach my $n (1 .. $many)
{
	$t->sql(qq{SELECT logsvc.act_as('org-$n') IS NULL; SELECT logsvc.create_pipeline(
		'{"name": "marks", "processors": [{"type": "set", "field": "mark", "value": "$n"}]}')});
}
foreach my $round (1, 2)
{
	is(send_all("round $round"), $many, "round $round: each goes through its pipeline");
}
ok(wait_until(sub { !$t->sql('SELECT count(*) FROM logsvc_internal.queue') }), 'all are stored');
my @wrong = grep {
	$t->sql("SELECT logsvc.act_as('org-$_') IS NULL; SELECT string_agg(attributes ->> 'mark', ' ') FROM logsvc.events('round earliest=-1h')") !~ /^$_ $_$/m
} 1, 2, 100, $many - 1, $many;
is("@wrong", '', 'each event has been through the pipeline of its organization');
$t->stop;
done_testing;
