#!/usr/bin/perl
# Writes the events of an invented shop over the last day as NDJSON: its services, the traces that
# go through them, a deployment that breaks payments, and the way back.
#
#	events.pl > FILE
#
# Each run makes the same shop, at other times: those before now.
use strict;
use warnings;
use JSON::PP;

srand 4711;
my $json = JSON::PP->new->utf8->canonical;
my $now = time;
my $day = 24 * 3600;

# The deployment that breaks payments, and the one that takes it back: seconds before now.
my ($broken, $mended) = (38 * 60, 13 * 60);

sub one_of { return $_[ rand @_ ]; }
sub hex_of { my ($n) = @_; return join '', map { sprintf '%x', rand 16 } 1 .. $n; }

my @events;

# An event so many seconds before now; what lies in the future has not happened.
sub event
{
	my ($age, $level, $service, $text, %more) = @_;
	return if $age < 0;
	my $attributes = delete $more{attributes} // {};
	push @events, { timestamp => int(($now - $age) * 1000), level => $level, service => $service,
		source => "$service-" . (1 + int rand 3), event => $text, attributes => { %$attributes, env => 'production' }, %more };
	return;
}

my @paths = ('/', '/products/espresso-machine', '/products/hand-grinder', '/products/kettle', '/search?q=filter',
	'/cart', '/cart', '/account/orders', '/static/app.css', '/static/app.js');
my @agents = ('Firefox/145.0', 'Chrome/142.0', 'Safari/18.6', 'ShopApp/3.9 (iOS)', 'ShopApp/3.9 (Android)');
my @regions = qw(eu-central eu-central eu-west us-east);

# What one visitor does: a page, and now and then an order that passes through all services.
sub visit
{
	my ($age) = @_;
	my ($trace, $region) = (hex_of(32), one_of(@regions));
	my @of = (traceId => $trace);
	my $status = rand() < 0.03 ? 404 : rand() < 0.005 ? 500 : 200;
	my $ms = int(12 + rand(60) + (rand() < 0.05 ? rand 900 : 0));
	event($age, $status == 500 ? 'error' : $status == 404 ? 'warn' : 'info', 'storefront',
		'GET ' . one_of(@paths) . " $status $ms ms", @of, spanId => hex_of(16),
		attributes => { region => $region, agent => one_of(@agents) });
	order($age - 2 - rand 3, $region, @of) if rand() < 0.22;
	return;
}

sub order
{
	my ($age, $region, @of) = @_;
	my $number = 80_000 + int rand 9_999;
	my $items = 2 + int rand 4;
	my $amount = sprintf '%.2f', 19 + rand 240;
	my %order = (order => $number, region => $region);
	my $bad = $age < $broken && $age > $mended && rand() < 0.55;
	my $version = $age < $broken && $age > $mended ? '4.12.0' : '4.11.3';

	event($age, 'info', 'storefront', "POST /checkout " . ($bad ? '502 ' . (5020 + int rand 90) : '201 ' . (180 + int rand 240)) . ' ms',
		@of, spanId => hex_of(16), attributes => { region => $region, agent => one_of(@agents) });
	event($age - 0.1, 'info', 'inventory', "reserved $items of SKU-" . (1000 + int rand 900) . ' in warehouse ' . one_of(qw(ber-1 ber-2 ams-1)),
		@of, spanId => hex_of(16), attributes => \%order);
	if ($bad)
	{
		event($age - 5.1, 'warn', 'payments', "charge for order $number: no answer from bank gateway after 5000 ms, attempt 2 of 2", @of,
			spanId => hex_of(16), attributes => { %order, ms => 5000 + int(rand 60), gateway => 'bank-eu' });
		event($age - 5.2, 'error', 'checkout', "payment of order $number failed: bank gateway timed out", @of, spanId => hex_of(16),
			attributes => { %order, version => $version, amount => $amount + 0, currency => 'EUR' });
		event($age - 5.3, 'error', 'checkout', "unhandled GatewayTimeout in PaymentClient.charge\n"
			. "  at PaymentClient.charge (payment_client.ts:88)\n  at placeOrder (orders.ts:141)\n  at handle (router.ts:57)", @of,
			spanId => hex_of(16), attributes => { %order, version => $version }) if rand() < 0.3;
		return;
	}
	my $ms = int(120 + rand(180) + (rand() < 0.08 ? rand 700 : 0));
	event($age - 0.4, 'info', 'payments', "charge for order $number authorised in $ms ms", @of, spanId => hex_of(16),
		attributes => { %order, ms => $ms, gateway => one_of(qw(bank-eu bank-eu cards)) });
	event($age - 0.5, 'info', 'checkout', "order $number placed: $items items, $amount EUR", @of, spanId => hex_of(16),
		attributes => { %order, version => $version, amount => $amount + 0, currency => 'EUR' });
	event($age - 0.6, 'info', 'mailer', "sent order-confirmation to customer" . int(rand 900) . '@example.com', @of, spanId => hex_of(16),
		attributes => { %order, template => 'order-confirmation' });
	return;
}

# Visitors: some at night, most in the last hours.
for (my $age = $day; $age > 0;)
{
	my $a_minute = 1.2 + 24 * exp(-($age / (3 * 3600))**2);
	$age -= -log(1 - rand) * 60 / $a_minute;
	visit($age);
}

# What goes on beside them.
for (my $age = $day; $age > 0; $age -= 300 + rand 200)
{
	event($age, 'debug', 'scheduler', 'job sync-catalog started', attributes => { job => 'sync-catalog' });
	event($age - 4, 'info', 'scheduler', 'job sync-catalog finished in ' . (1600 + int rand 900) . ' ms', attributes => { job => 'sync-catalog' });
	event($age - 20, 'info', 'storefront', 'GET /healthz 200 1 ms', attributes => { agent => 'probe/1.0' }) foreach 1 .. 2;
	event($age - 60, 'warn', 'inventory', 'stock of SKU-' . (1000 + int rand 900) . ' is below ' . (5 + int rand 5)) if rand() < 0.3;
	event($age - 90 - $_ * 3, rand() < 0.8 ? 'info' : 'warn', 'auth', one_of('sign-in of customer ' . int(rand 900) . ' succeeded',
		'token of customer ' . int(rand 900) . ' renewed', "sign-in of customer " . int(rand 900) . ' refused: wrong password'),
		attributes => { ip => '198.51.100.' . int(rand 250) }) foreach 1 .. 1 + rand 3;
}

# Somebody guesses passwords.
event(95 * 60 - $_ * 2, 'warn', 'auth', "sign-in of customer " . (100 + $_) . ' refused: wrong password', attributes => { ip => '203.0.113.77' })
  foreach 1 .. 70;

# What the bank sends, whole.
foreach my $n (1 .. 40)
{
	my $failed = $n > 28;
	my $age = $failed ? $mended + ($broken - $mended) * rand : $broken + rand 5 * 3600;
	event($age, $failed ? 'error' : 'info', 'payments', $json->encode({ type => $failed ? 'charge.failed' : 'charge.settled', livemode => JSON::PP::true,
		data => { charge => 'ch_' . hex_of(12), amount => 1900 + int rand 24000, currency => 'eur', reason => $failed ? 'gateway_timeout' : undef,
			card => { brand => one_of(qw(visa mastercard)), last4 => sprintf('%04d', rand 9999), number => '4111 1111 1111 1111' } } }),
		source => 'webhook');
}

event($broken + 20, 'info', 'checkout', 'deployed checkout 4.12.0 to production', source => 'deploy',
	attributes => { version => '4.12.0', by => 'mara', commit => hex_of(10) });
event($mended + 5, 'warn', 'checkout', 'rolled back checkout to 4.11.3: payments time out', source => 'deploy',
	attributes => { version => '4.11.3', by => 'jonas', reason => 'bank gateway timeouts' });
event(31 * 60, 'fatal', 'checkout', 'circuit breaker of bank-eu is open: 20 timeouts in 60 s', attributes => { gateway => 'bank-eu', version => '4.12.0' });

print map { $json->encode($_), "\n" } sort { $a->{timestamp} <=> $b->{timestamp} } @events;
