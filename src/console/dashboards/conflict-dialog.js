/*
 * conflict-dialog.js: somebody else has changed the dashboard meanwhile: both versions, and what to do.
 */
import { html } from '../view.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { RelativeTime } from '../ui/time.js';

const same = (a, b) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));

// Members in one order: the service may answer them in another one than the page has them.
function sorted(value)
{
	if (Array.isArray(value))
		return value.map(sorted);
	if (value === null || typeof value !== 'object')
		return value ?? null;
	return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null && one !== undefined).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, sorted(one)]));
}

const members = [['name', 'Name'], ['description', 'Description'], ['tags', 'Tags'], ['timeRange', 'Time'], ['refreshSeconds', 'Refresh'], ['variables', 'Variables']];

/** What a version has changed against an older one: texts. */
export function changes(before, after)
{
	const list = members.filter(([name]) => !same(before[name], after[name])).map(([, label]) => `${label} changed`);
	const old = new Map(before.panels.map((one) => [one.id, one]));
	const next = new Map(after.panels.map((one) => [one.id, one]));
	const title = (panel) => panel.title || `panel ${panel.id}`;
	for (const panel of after.panels) {
		const was = old.get(panel.id);
		if (!was)
			list.push(`Added: ${title(panel)}`);
		else if (!same({ ...was, layout: 0 }, { ...panel, layout: 0 }))
			list.push(`Changed: ${title(panel)}`);
		else if (!same(was.layout, panel.layout))
			list.push(`Moved: ${title(panel)}`);
	}
	for (const panel of before.panels)
		if (!next.has(panel.id))
			list.push(`Removed: ${title(panel)}`);
	return list;
}

/** The dialog. base: what both began with; mine, theirs; closes with 'mine', 'theirs', 'copy' or null. */
export function ConflictDialog({ base, mine, theirs, close })
{
	const side = (label, list, more) => html`<section class="card stack-s" aria-label=${label}><h3>${label}</h3>${more}
		${list.length ? html`<ul class="conflict-list">${list.map((one, index) => html`<li key=${index} class="break">${one}</li>`)}</ul>` : html`<p class="muted small">Nothing that is seen.</p>`}</section>`;
	return html`<${Dialog} title="Somebody else has changed this dashboard" size="large" onClose=${() => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)} data-autofocus>Go on editing<//>
		<${Button} onClick=${() => close('theirs')}>Take theirs<//>
		<${Button} icon="copy" onClick=${() => close('copy')}>Save mine as a copy<//>
		<${Button} kind="danger" onClick=${() => close('mine')}>Replace theirs with mine<//>`}>
		<div class="stack"><p>You began with version ${base.version}; there is version ${theirs.version} now. Nothing has been saved yet.</p>
			<div class="side-by-side">${side('Yours', changes(base, mine), html`<div><${Badge}>from version ${base.version}<//></div>`)}
				${side('Theirs', changes(base, theirs), html`<div class="row"><${Badge} kind="accent">version ${theirs.version}<//><span class="small muted"><${RelativeTime} value=${theirs.updatedAt} /></span></div>`)}</div></div><//>`;
}
