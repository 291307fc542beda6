/*
 * errors.js: what each error of an evaluation means for the person at the page.
 */
import { formatNumber } from '../ui/numbers.js';
import { formatTime } from '../ui/time.js';

const providers = {
	region: 'The service cannot show that the model runs in the European Union, so no row was sent. Whoever operates the service has to set it up.',
	timeout: 'The model in the European Union took too long. Try again, or with fewer rows.',
	unreachable: 'The model in the European Union cannot be reached. Try again later.',
	overloaded: 'The model in the European Union has too much to do. Try again later.',
};

function credits({ remaining, limit, resetsAt, limitOf })
{
	const whose = { member: 'your cap', token: 'the cap of this token' }[limitOf] ?? 'the credits of the organization';
	const numbers = limit === undefined ? '' : ` ${formatNumber(remaining ?? 0)} of ${formatNumber(limit)} are left.`;
	const when = resetsAt ? ` They are reset at ${formatTime(resetsAt, { seconds: false, withZone: true })}.` : '';
	return `This month ${whose} is used up.${numbers}${when} ${limitOf ? 'Owners and admins can change a cap.' : 'An owner can choose another plan.'} Previews still work.`;
}

const texts = {
	VALIDATION_ERROR: ['The request is not valid', 'Correct what is named here. Nothing was charged.'],
	INVALID_PAT: ['The token of this page was not accepted', 'A new one was not accepted either: sign in again.'],
	UNAUTHORIZED: ['The token of this page was not accepted', 'A new one was not accepted either: sign in again.'],
	PAT_REVOKED: ['The token of this page was revoked', 'An administrator may have revoked your tokens. Ask before you try again.'],
	PAT_EXPIRED: ['The token of this page has expired', 'The clocks of this machine and of the service may differ. Try again.'],
	INSUFFICIENT_SCOPE: ['The token of this page may not evaluate', 'Your role has lost the permission evaluations:run. Owners and admins can change your role.'],
	FORBIDDEN: ['Your role may not evaluate', 'Evaluations spend credits: viewers may not run them. Owners and admins can change your role.'],
	PLAN_LIMIT_REACHED: ['No further token is possible', 'The page needs an access token for 15 minutes. Revoke one of yours in Settings > Access Tokens.'],
	IP_NOT_ALLOWED: ['This address is not allowed', 'The organization allows certain networks only. Owners and admins can change the list.'],
	FST_ERR_CTP_BODY_TOO_LARGE: ['That is more than 10 MB', 'Take fewer rows, or let logsvc find them with a query.'],
	RATE_LIMIT_EXCEEDED: ['Too many evaluations in a minute', 'Previews and runs count together, over all your tokens.'],
	EVALUATION_SCHEMA_ERROR: ['The model gave no valid verdict, twice', 'Nothing was charged. Try again, or choose a more capable model.'],
	SERVICE_UNAVAILABLE: ['The service is starting, stopping or overloaded', 'Nothing was charged. Try again.'],
	QUERY_TIMEOUT: ['The search took too long', 'Choose a shorter time or a narrower query.'],
	NO_ANSWER: ['The service did not answer', 'Your inputs are still here. Nothing is stored by an evaluation, so trying again is safe.'],
};

/** What to say of an error: {title, text, again: is it worth trying again?}. */
export function explain(error)
{
	if (error.code === 'AI_CREDITS_EXHAUSTED')
		return { title: 'The AI credits are used up', text: credits(error.body), again: false };
	if (error.code === 'AI_PROVIDER_NOT_EU')
		return { title: 'No model in the European Union can judge now', text: providers[error.details[0]?.code] ?? providers.unreachable,
			again: error.details[0]?.code !== 'region' };
	const [title, text] = texts[error.code] ?? ['The evaluation failed', 'Nothing was charged.'];
	return { title, text, again: error.status === 0 || error.status === 429 || error.status >= 500 };
}
