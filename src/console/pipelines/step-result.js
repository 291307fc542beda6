/*
 * step-result.js: what a step did to a sample event: before and after, beside each other.
 */
import { html } from '../view.js';
import { Badge } from '../ui/badge.js';
import { Icon } from '../ui/icon.js';
import { changesOf, textDiff } from './diff.js';

const most = 4000;
const cut = (text) => (text.length > most ? `${text.slice(0, most)}…` : text);

function Change({ change })
{
	if (change.kind !== 'changed')
		return html`<div class="diff-row"><code class="diff-name break">${change.name}</code>${change.kind === 'added'
			? html`<ins class="break">${cut(change.after) || '""'}</ins>` : html`<del class="break">${cut(change.before) || '""'}</del>`}</div>`;
	const { start, removed, added, end } = textDiff(cut(change.before), cut(change.after));
	return html`<div class="diff-row"><code class="diff-name break">${change.name}</code><div class="diff-pair">
		<div class="break"><span class="visually-hidden">before: </span>${start}${removed && html`<del>${removed}</del>`}${end}</div>
		<div class="break"><span class="visually-hidden">after: </span>${start}${added && html`<ins>${added}</ins>`}${end}</div></div></div>`;
}

/** The changes between two states of an event. */
export function Changes({ before, after, none = 'Nothing changed.' })
{
	const changes = changesOf(before, after);
	return changes.length ? html`<div class="diff">${changes.slice(0, 60).map((one) => html`<${Change} key=${one.name} change=${one} />`)}
		${changes.length > 60 && html`<p class="small muted">and ${changes.length - 60} more fields</p>`}</div>` : html`<p class="small muted">${none}</p>`;
}

/** What a step did to the chosen sample. step: null when the pipeline did not come so far. */
export function StepResult({ step, matched })
{
	if (!step)
		return html`<p class="small muted">${matched ? 'The event was dropped before.' : 'The event does not match the pipeline.'}</p>`;
	if (step.failure)
		return html`<div class="notice notice-danger"><${Icon} name="alert" /><div class="grow stack-s"><p class="break"><strong>Failed:</strong> ${step.failure}</p>
			${step.dropped ? html`<p>The event is dropped.</p>` : html`<${Changes} before=${step.before} after=${step.after} />`}</div></div>`;
	if (step.dropped)
		return html`<p><${Badge} kind="danger" dot>dropped<//> <span class="small muted">The event ends here; it is stored nowhere.</span></p>`;
	if (!step.ran)
		return html`<p class="small muted">Did not run: the event does not match its filter.</p>`;
	return html`<${Changes} before=${step.before} after=${step.after} none="Ran, and changed nothing." />`;
}

/** What a step did to all samples, in a few words. steps: of all events, null where there is none. */
export function StepSummary({ steps })
{
	const there = steps.filter(Boolean);
	if (!there.length)
		return null;
	const count = (test) => there.filter(test).length;
	const parts = [[count((one) => one.ran && !one.dropped && !one.failure && changesOf(one.before, one.after).length), 'changed', 'accent'],
		[count((one) => one.dropped), 'dropped', 'danger'], [count((one) => one.failure), 'failed', 'danger']].filter(([number]) => number);
	return html`<span class="row">${parts.length ? parts.map(([number, word, kind]) => html`<${Badge} key=${word} kind=${kind}>${number} of ${there.length} ${word}<//>`) : html`<span class="small faint">no change</span>`}</span>`;
}
