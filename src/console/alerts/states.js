/*
 * states.js: states of rules and alerts, severities and groups, as words.
 */
import { html } from '../view.js';
import { Badge } from '../ui/badge.js';
import { formatNumber } from '../ui/numbers.js';

/** The states of rules, what needs somebody first: {id, label, kind}. */
export const ruleStates = [
	{ id: 'firing', label: 'Firing', kind: 'danger' },
	{ id: 'error', label: 'Error', kind: 'danger' },
	{ id: 'noData', label: 'No data', kind: 'warn' },
	{ id: 'ok', label: 'OK', kind: 'ok' },
	{ id: 'disabled', label: 'Disabled', kind: 'neutral' },
];

/** The id of a rule's state; a rule that is disabled has no other. */
export const stateOf = (rule) => (rule.enabled ? rule.state ?? 'ok' : 'disabled');

/** The state of a rule. */
export function RuleState({ rule })
{
	const state = ruleStates.find((one) => one.id === stateOf(rule)) ?? { label: rule.state, kind: 'neutral' };
	return html`<${Badge} kind=${state.kind} dot>${state.label}<//>`;
}

const severityKinds = { critical: 'danger', warning: 'warn', info: 'accent' };

/** How bad it is. */
export function Severity({ severity })
{
	return html`<${Badge} kind=${severityKinds[severity]}>${severity}<//>`;
}

const statusKinds = { firing: 'danger', acknowledged: 'warn', resolved: 'ok' };

/** The status of an alert. */
export function AlertStatus({ status })
{
	return html`<${Badge} kind=${statusKinds[status]} dot>${status}<//>`;
}

const plain = (value) => (value === null ? 'null' : typeof value === 'object' ? JSON.stringify(value) : String(value));

/** A group as text: service=api level=error; '' without groups. */
export function groupText(key)
{
	if (key?.template !== undefined && key.templateId !== undefined)
		return plain(key.template);
	return Object.entries(key ?? {}).map(([name, value]) => `${name}=${plain(value)}`).join(' ');
}

/** A value of an alert: 1,234, 0.25, or what it is. */
export function valueText(value)
{
	if (value === null || value === undefined)
		return '-';
	return typeof value === 'number' ? formatNumber(Number.isInteger(value) ? value : Number(value.toPrecision(6))) : plain(value);
}

