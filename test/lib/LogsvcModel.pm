# LogsvcModel: model providers that tests play (LogsvcDouble): each request is held
# against what the provider publishes about its API, and signatures are computed
# anew.  What is wrong with a request is in `note` of LogsvcDouble's requests, and
# the answer is 400.
#
#	my $double = LogsvcModel::double('anthropic');    # or bedrock, openai
#
# Modes, words separated by spaces:
#	(none)         a good verdict: every expected item passed
#	invalid        a verdict that is none; `invalid once`: not in the repair call
#	cut            cut off by the token limit
#	no_tool        words instead of a verdict
#	status=N       that status;  delay=N: after so many seconds;  hold: when the
#	               mode is another
#	hang redirect huge garbage close
#	region=X       says that it ran there (anthropic; openai by a header of Azure)
package LogsvcModel;

use strict;
use warnings;

use Digest::SHA qw(sha256_hex hmac_sha256 hmac_sha256_hex);
use JSON::PP ();
use LogsvcDouble;
use POSIX ();

our $key = 'sk-test-0123456789abcdef';
our ($access, $secret, $session) = ('AKIATESTTESTTEST', 'secret/Of+Bedrock0123456789',
	'session-token-0123456789');
our %model = (anthropic => 'claude-haiku-4-5',
	bedrock => 'eu.anthropic.claude-haiku-4-5-20251001-v1:0', openai => 'test-model');
our ($tokens_in, $tokens_out) = (1000, 200);

my $json = JSON::PP->new->canonical->utf8;

sub double
{
	my ($provider, %opt) = @_;
	return LogsvcDouble->new(answer => sub { return _answer($provider, @_); }, %opt);
}

# ---- checks ----

# The members of an object: "name" must be there, "name?" may; values are checked by
# their type: 's'tring, 'i'nteger above 0, 'n'umber, 'a'rray, 'o'bject, 'b'oolean.
sub _object
{
	my ($at, $value, %members) = @_;
	return ("$at is no object") unless ref $value eq 'HASH';
	my @problems;
	my %known;
	foreach my $member (keys %members)
	{
		my ($name, $optional) = $member =~ /^(\w+)(\??)$/;
		$known{$name} = 1;
		if (!exists $value->{$name}) { push @problems, "$at.$name is missing"
			unless $optional; next; }
		my $v = $value->{$name};
		my $is = ref $v eq 'HASH' ? 'o' : ref $v eq 'ARRAY' ? 'a' : JSON::PP::is_bool($v) ? 'b'
		  : $json->encode([$v]) =~ /^\["/ ? 's' : $v =~ /^[1-9]\d*$/ ? 'i' : 'n';
		my $want = $members{$member};
		push @problems, "$at.$name is of another type" unless $is eq $want
			|| ($want eq 'n' && $is eq 'i');
	}
	push @problems, map { "$at.$_ is not known" } grep { !$known{$_} } sort keys %$value;
	return @problems;
}

sub _schema
{
	my ($schema) = @_;
	return ('the schema is not that of a verdict')
	  unless ref $schema eq 'HASH' && $schema->{type} eq 'object'
	  && $schema->{properties}{verdict}{type} eq 'array'
	  && $schema->{properties}{verdict}{items}{properties}{status}{enum};
	return;
}

sub _headers
{
	my ($request, %want) = @_;
	my %have = %{ $request->{headers} };
	delete @have{qw(host accept content-length user-agent)};
	my @problems = map { "header $_: " . ($have{$_} // 'missing') } grep
		{ ($have{$_} // '') !~ $want{$_} } sort keys %want;
	return (@problems, map { "header $_ is not known" } grep { !$want{$_} } sort keys %have);
}

sub _turns
{
	my (@roles) = @_;
	return "turns: @roles" unless "@roles" =~ /^user( assistant user)?$/;
	return;
}

sub _check_anthropic
{
	my ($request, $body) = @_;
	my @problems = _headers($request, 'content-type' => qr{^application/json$},
		'anthropic-version' => qr/^2023-06-01$/, 'x-api-key' => qr/^\Q$key\E$/);
	push @problems, "path $request->{path}" if $request->{path} ne '/v1/messages';
	push @problems, _object('body', $body, model => 's', max_tokens => 'i', messages => 'a',
		'system?' => 's', 'temperature?' => 'n', tools => 'a', tool_choice => 'o');
	return @problems if @problems;
	push @problems, "model $body->{model}" if $body->{model} ne $model{anthropic};
	push @problems, _turns(map { $_->{role} } @{ $body->{messages} });
	push @problems, map { _object('message', $_, role => 's', content => ref $_->{content} ? 'a'
		: 's') } @{ $body->{messages} };
	push @problems, _object('tool', $body->{tools}[0], name => 's', 'description?' => 's',
		input_schema => 'o'), _schema($body->{tools}[0]{input_schema});
	push @problems, _object('tool_choice', $body->{tool_choice}, type => 's', name => 's',
		'disable_parallel_tool_use?' => 'b');
	push @problems, 'the tool is not forced' unless $body->{tool_choice}{type} eq 'tool'
		&& $body->{tool_choice}{name} eq $body->{tools}[0]{name};
	if (@{ $body->{messages} } > 1 && ref $body->{messages}[1]{content})
	{
		my ($use, $result) = map { $_->{content}[0] } @{ $body->{messages} }[ 1, 2 ];
		push @problems, _object('tool_use', $use, type => 's', id => 's', name => 's',
			input => 'o');
		push @problems, _object('tool_result', $result, type => 's', tool_use_id => 's',
			'is_error?' => 'b', content => 's');
		push @problems, 'the result is of another call' if $use->{id} ne $result->{tool_use_id};
	}
	return @problems;
}

sub _encode { my ($s) = @_; $s =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02X', ord $1/ge; return $s; }

# The signature of a request, from what came: AWS Signature Version 4.
sub _check_signature
{
	my ($request, $region) = @_;
	my %h = %{ $request->{headers} };
	my ($id, $date, $where, $service, $signed, $signature) = ($h{authorization} // '') =~
	  m{^AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$}
	  or return 'authorization is no signature';
	my @problems;
	push @problems, "credential $id" if $id ne $access;
	push @problems, "region $where" if $where ne $region;
	push @problems, "service $service" if $service ne 'bedrock';
	push @problems, "time $h{'x-amz-date'}" unless ($h{'x-amz-date'} // '') =~ /^${date}T\d{6}Z$/;
	my ($y, $mo, $d, $hh, $mi, $s) = ($h{'x-amz-date'} // '')
		=~ /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
	my $now = POSIX::strftime('%Y%m%dT%H%M', gmtime);
	push @problems, "the time is not now: $h{'x-amz-date'}"
		if abs(substr($h{'x-amz-date'}, 9, 4) - substr($now, 9, 4)) > 5 && $now !~ /T(0000|2359)/;
	my %is_signed = map { $_ => 1 } split /;/, $signed;
	push @problems, "$_ is not signed" foreach grep { !$is_signed{$_} } qw(host x-amz-date
		content-type), $h{'x-amz-security-token'} ? 'x-amz-security-token' : ();
	# What came is encoded once; it is encoded once more.
	my $path = join '/', map { _encode($_) } split m{/}, $request->{path}, -1;
	my $canonical = join "\n", $request->{method}, $path, '',
		(map { "$_:" . ($h{$_} // '') } split /;/, $signed), '', $signed,
			sha256_hex($request->{body});
	my $scope = "$date/$where/$service/aws4_request";
	my $to_sign = join "\n", 'AWS4-HMAC-SHA256', $h{'x-amz-date'}, $scope, sha256_hex($canonical);
	my $k = hmac_sha256($date, "AWS4$secret");
	$k = hmac_sha256($_, $k) foreach $where, $service, 'aws4_request';
	push @problems, 'another signature' if hmac_sha256_hex($to_sign, $k) ne $signature;
	return @problems;
}

sub _check_bedrock
{
	my ($request, $body) = @_;
	my $want = '/model/' . _encode($model{bedrock}) . '/converse';
	my @problems = _headers($request, 'content-type' => qr{^application/json$},
		'x-amz-date' => qr/./, 'authorization' => qr/./,
		$request->{headers}{'x-amz-security-token'} ? ('x-amz-security-token' => qr/^\Q$session\E$/)
			: ());
	push @problems, "path $request->{path}" if $request->{path} ne $want;
	push @problems, _check_signature($request, 'eu-central-1');
	push @problems, _object('body', $body, system => 'a', messages => 'a', inferenceConfig => 'o',
		toolConfig => 'o');
	return @problems if @problems;
	push @problems, _turns(map { $_->{role} } @{ $body->{messages} });
	push @problems, map { _object('message', $_, role => 's', content => 'a') }
		@{ $body->{messages} };
	push @problems, _object('inferenceConfig', $body->{inferenceConfig}, maxTokens => 'i',
		'temperature?' => 'n');
	push @problems, _object('toolConfig', $body->{toolConfig}, tools => 'a', toolChoice => 'o');
	my $tool = $body->{toolConfig}{tools}[0]{toolSpec};
	push @problems, _object('toolSpec', $tool, name => 's', 'description?' => 's',
		inputSchema => 'o'), _schema($tool->{inputSchema}{json});
	push @problems, 'the tool is not forced'
		unless ($body->{toolConfig}{toolChoice}{tool}{name} // '') eq $tool->{name};
	if (@{ $body->{messages} } > 1 && $body->{messages}[1]{content}[0]{toolUse})
	{
		push @problems, _object('toolUse', $body->{messages}[1]{content}[0]{toolUse},
			toolUseId => 's', name => 's', input => 'o');
		push @problems, _object('toolResult', $body->{messages}[2]{content}[0]{toolResult},
			toolUseId => 's', content => 'a', 'status?' => 's');
	}
	return @problems;
}

sub _check_openai
{
	my ($request, $body) = @_;
	my @problems = _headers($request, 'content-type' => qr{^application/json$},
		'authorization' => qr/^Bearer \Q$key\E$/);
	push @problems, "path $request->{path}" if $request->{path} ne '/v1/chat/completions';
	push @problems, _object('body', $body, model => 's', messages => 'a', 'max_tokens?' => 'i',
		'max_completion_tokens?' => 'i', 'temperature?' => 'n', response_format => 'o');
	return @problems if @problems;
	push @problems, "model $body->{model}" if $body->{model} ne $model{openai};
	my ($system, @turns) = @{ $body->{messages} };
	push @problems, 'no system message' if $system->{role} ne 'system';
	push @problems, _turns(map { $_->{role} } @turns);
	push @problems, map { _object('message', $_, role => 's', content => 's') }
		@{ $body->{messages} };
	push @problems, _object('response_format', $body->{response_format}, type => 's',
		json_schema => 'o');
	push @problems, _object('json_schema', $body->{response_format}{json_schema}, name => 's',
		'strict?' => 'b', schema => 'o'), _schema($body->{response_format}{json_schema}{schema});
	return @problems;
}

my %check = (anthropic => \&_check_anthropic, bedrock => \&_check_bedrock,
	openai => \&_check_openai);

# ---- answers ----

# The items that the prompt names, by the ids that the tests use.
sub _verdict
{
	my ($text) = @_;
	my @ids = $text =~ /\b(item-\d+)\b/g;
	my %seen;
	@ids = grep { !$seen{$_}++ } @ids;
	@ids = ('f1') unless @ids;
	return { verdict => [ map { { id => $_, status => 'passed', explanation => "the rows show $_",
		confidence => 0.9 } } @ids ], summary => undef };
}

my %reply = (
	anthropic => sub {
		my ($verdict, $stop, $words) = @_;
		return { id => 'msg_01', type => 'message', role => 'assistant',
			model => 'claude-haiku-4-5-20251001',
			content => [ defined $words ? { type => 'text', text => $words }
				: { type => 'tool_use', id => 'toolu_01', name => 'verdict', input => $verdict } ],
			stop_reason => $stop // 'tool_use', stop_sequence => undef,
			usage => { input_tokens => $tokens_in, output_tokens => $tokens_out,
				cache_creation_input_tokens => 0, cache_read_input_tokens => 0,
					service_tier => 'standard' } };
	},
	bedrock => sub {
		my ($verdict, $stop, $words) = @_;
		return { output => { message => { role => 'assistant',
			content => [ defined $words ? { text => $words }
				: { toolUse => { toolUseId => 'tooluse_01', name => 'verdict', input => $verdict } }
					] } },
			stopReason => $stop // 'tool_use', usage => { inputTokens => $tokens_in,
				outputTokens => $tokens_out, totalTokens => $tokens_in + $tokens_out },
					metrics => { latencyMs => 1 } };
	},
	openai => sub {
		my ($verdict, $stop, $words) = @_;
		return { id => 'chatcmpl-1', object => 'chat.completion', created => 1,
			model => 'test-model-001',
			choices => [ { index => 0, message => { role => 'assistant',
				content => $words // $json->encode($verdict), refusal => undef }, logprobs => undef,
					finish_reason => $stop // 'stop' } ],
			usage => { prompt_tokens => $tokens_in, completion_tokens => $tokens_out,
				total_tokens => $tokens_in + $tokens_out } };
	});
my %cut = (anthropic => 'max_tokens', bedrock => 'max_tokens', openai => 'length');

sub _answer
{
	my ($provider, $request, $mode) = @_;
	my $body = eval { $json->decode($request->{body}) };
	my @problems = ref $body eq 'HASH' ? $check{$provider}->($request, $body)
		: ('the body is not JSON');
	my %mode = map { /^([^=]+)=(.*)$/ ? ($1 => $2) : ($_ => 1) } split / /, $mode;
	my %answer = (note => join('; ', @problems), delay => $mode{delay}, hold => $mode{hold});
	my $repair = ref $body eq 'HASH' && grep { ($_->{role} // '') eq 'assistant' }
		@{ $body->{messages} // [] };

	return { %answer, status => 400, body => '{"error":"bad request"}' } if @problems;
	return { %answer, hang => 1 } if $mode{hang};
	return { %answer, close => 1 } if $mode{close};
	return { %answer, status => $mode{status}, body => '{"error":{"message":"no"}}' }
		if $mode{status};
	return { %answer, status => 307, headers => { Location => $request->{path} }, body => '' }
		if $mode{redirect};
	return { %answer, body => '"' . 'x' x (5 << 20) . '"' } if $mode{huge};
	return { %answer, body => "\xff\xfe{nonsense" } if $mode{garbage};
	my $verdict = _verdict($request->{body});
	$verdict = { verdict => [ { id => 'item-1', status => 'perhaps', explanation => 'x' } ] }
		if $mode{invalid} && !($mode{once} && $repair);
	my $reply = $reply{$provider}->($verdict, $mode{cut} ? $cut{$provider} : undef, $mode{no_tool}
		? 'I would rather not.' : undef);
	$reply->{usage}{inference_geo} = $mode{region} if $mode{region} && $provider eq 'anthropic';
	return { %answer, body => $json->encode($reply), headers => $mode{region}
		&& $provider eq 'openai' ? { 'x-ms-region' => $mode{region} =~ s/_/ /gr } : {} };
}

1;
