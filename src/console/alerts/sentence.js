/*
 * sentence.js: what a rule does, in a sentence.
 */
import { secondsOf, spanWords } from './durations.js';
import { valueText } from './states.js';

/** The comparisons, with their words. */
export const operators = [
	{ value: '>', label: 'above' }, { value: '>=', label: 'at least' }, { value: '<', label: 'below' },
	{ value: '<=', label: 'at most' }, { value: '=', label: 'exactly' }, { value: '!=', label: 'other than' },
];

const opWords = (op) => operators.find((one) => one.value === op)?.label ?? op;

/** "When more than ..." of a rule, without its query. */
export function sentenceOf(rule)
{
	const { condition, schedule, groupBy } = rule;
	const lookback = spanWords(secondsOf(schedule.lookback), { one: true });
	const what = {
		count: () => `the number of results of the last ${lookback} is ${opWords(condition.op)} ${valueText(condition.threshold)}`,
		value: () => `${condition.column || 'the value'} of the last ${lookback} is ${opWords(condition.op)} ${valueText(condition.threshold)}`,
		absence: () => `nothing is found in the last ${lookback}`,
		newTemplate: () => `a pattern appears that was not there for ${spanWords((condition.days ?? 7) * 86_400)}`,
	}[condition.kind]?.() ?? condition.kind;
	return [
		`When ${what}`,
		condition.forSeconds ? `, for ${spanWords(condition.forSeconds)}` : '',
		groupBy?.length ? `, for each ${groupBy.join(' and ')}` : '',
		`. Checked every ${spanWords(schedule.everySeconds, { one: true })}.`,
	].join('');
}
