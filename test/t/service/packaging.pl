# packaging.pl: what is written down about packages and the image agrees with the tree:
# versions, build dependencies, paths, and no secret.  make test-packages builds them.
use strict;
use warnings;

use JSON::PP qw(decode_json);
use PostgreSQL::Test::Utils;
use Test::More;

my ($version) = slurp_file('logsvc.control') =~ /^default_version = '([\d.]+)'$/m;

# ---- versions ----

my $meta = decode_json(slurp_file('META.json'));
my $semantic = "$version.0";
is($meta->{version}, $semantic, 'META.json is about this version');
is($meta->{provides}{logsvc}{version}, $semantic, 'and so is what it provides');
is($meta->{provides}{logsvc}{file}, "sql/logsvc--$version.sql",
	'it names the script of this version');
# What meta-spec 1.0.0 asks for.
ok(exists $meta->{$_}, "META.json has $_") foreach qw(name abstract maintainer license provides meta-spec);
is($meta->{'meta-spec'}{version}, '1.0.0', 'it says which specification it follows');
is($meta->{license}, 'postgresql', 'the licence is one that PGXN knows');
ok(-e $meta->{provides}{logsvc}{docfile}, 'the document that it names is there');
cmp_ok(scalar @{ $meta->{tags} }, '<=', 5, 'at most five tags');
my ($packaged) = slurp_file('debian/changelog') =~ /\Alogsvc \(([\d.]+)-\d+\) /;
is($packaged, $version, 'debian/changelog is about this version');
like(slurp_file('docker/docker-bake.hcl'), qr/^variable "VERSION" \{ default = "\Q$version\E" \}$/m,
	'the image gets this version');

# ---- what a build needs is the same everywhere ----

my ($build) = slurp_file('docker/packages.txt') =~ /^# to build\n(.*?)^# to run/ms;
my @needed = sort grep { !/^(?:build-essential|postgresql-server-dev-PG)$/ }
	map { s/#.*//r =~ /(\S+)/ ? $1 : () } split /\n/, $build;
my ($depends) = slurp_file('debian/control.in') =~ /^Build-Depends:\n((?: .*\n)+)/m;
my @declared = sort grep { !/^(?:debhelper-compat|postgresql-server-dev-all)$/ }
	map { /^ ([\w.+-]+)/ ? $1 : () } split /\n/, $depends;
is_deeply(\@declared, \@needed, 'debian/control.in and docker/packages.txt list the same packages');
my ($line) = slurp_file('docs/packages.md') =~ /apt-get install build-essential (.*?)\n\$ make deb/s;
my @documented = grep { !/^(?:debhelper|fakeroot|postgresql-server-dev-all)$/ }
	split /[\s\\]+/, $line;
is_deeply([ sort @documented ], \@needed, 'and so does docs/packages.md');

# ---- the image ----

my $dockerfile = slurp_file('docker/Dockerfile');
foreach my $copied ($dockerfile =~ /^COPY (?!--from)(\S+) /mg)
{
	ok(-e $copied, "COPY $copied: it is there");
}
my ($last) = $dockerfile =~ /.*^(FROM .*)\z/ms;
like($last, qr/^USER postgres$/m, 'the image does not run as root');
like($last, qr/^HEALTHCHECK /m, 'it has a health check');
unlike($dockerfile, qr/^(?:ENV|ARG)\s+\S*(?:PASSWORD|SECRET|TOKEN|KEY)/mi, 'it has no secrets');
my $compose = slurp_file('docker/compose.yml');
unlike($compose, qr/(?:PASSWORD|SECRET|TOKEN|KEY):/, 'and docker/compose.yml has files for them');
my ($context) = $compose =~ /^\s+context: (\S+)$/m;
ok(-e "docker/$context/Makefile", 'it builds this tree');
like($compose, qr/^\s+dockerfile: docker\/Dockerfile$/m, 'it builds docker/Dockerfile');
foreach my $script (qw(docker/image/10-logsvc.sh docker/image/libraries debian/tests/service
	test/packages test/inside test/folders.sh test/servers))
{
	is(system('bash', '-n', $script), 0, "$script is a script");
}

done_testing();
