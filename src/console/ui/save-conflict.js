/*
 * save-conflict.js: saving what somebody else has changed meanwhile: both versions, and what to do.
 */
import { html } from '../view.js';
import { api } from '../api.js';
import { Badge } from './badge.js';
import { Button } from './button.js';
import { Dialog, openDialog } from './dialog.js';
import { RelativeTime } from './time.js';
import { mergePatch } from './use-draft.js';

const shown = (value) => (value === undefined || value === null ? '-' : typeof value === 'string' ? value : JSON.stringify(value, null, 1));

function Lists({ of })
{
	return html`<div class="side-by-side">${of.map(([label, list]) => html`<section key=${label} class="card stack-s" aria-label=${label}><h3>${label}</h3>
		${list.length ? html`<ul class="conflict-list">${list.map((one) => html`<li key=${one} class="break">${one}</li>`)}</ul>` : html`<p class="muted small">Nothing that is seen.</p>`}</section>`)}</div>`;
}

function Conflict({ close, what, base, value, mine, theirs, stored, now, changes, copy })
{
	const both = Object.keys(mine).filter((name) => name in theirs);
	const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])];
	return html`<${Dialog} title=${`This ${what} has changed meanwhile`} size="large" onClose=${() => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)} data-autofocus>Back to the editor<//>
		<${Button} onClick=${() => close('theirs')}>Drop mine, load theirs<//>
		${copy && html`<${Button} icon="copy" onClick=${() => close('copy')}>Save mine as a copy<//>`}
		<${Button} kind="primary" onClick=${() => close('mine')}>Save mine over it<//>`}>
		<div class="stack"><p class="muted">Version ${stored.version} was saved <${RelativeTime} value=${stored.updatedAt} />, by somebody else or in another tab. Saving yours keeps
			what you have not changed as it is there${both.length ? html`; your <strong>${both.join(', ')}</strong> would replace theirs` : ''}.</p>
			${changes ? html`<${Lists} of=${[['Yours', changes(base, value)], ['Theirs', changes(base, now)]]} />` : html`<div class="conflict">${names.map((name) => html`<section key=${name} class="stack-s"><h3 class="row">${name}
				${name in mine && name in theirs && html`<${Badge} kind="warn">both changed<//>`}</h3>
				<div class="conflict-pair">
					<div><span class="small muted">Theirs${name in theirs ? '' : ': not changed'}</span><pre class="break" tabindex="0">${shown(stored[name])}</pre></div>
					<div><span class="small muted">Yours${name in mine ? '' : ': not changed'}</span><pre class="break" tabindex="0">${shown(name in mine ? mine[name] : base[name])}</pre></div>
				</div></section>`)}</div>`}</div><//>`;
}

/**
 * Saves the members of `value` that differ from `base`, if the version is still `version`. pick(stored) answers the
 * members that the editor knows. When somebody else was quicker, asks; answers {saved}, {theirs}, {copy: true} or null.
 * changes(before, after) answers texts to be shown instead of the members; copy: offers to make another one of it.
 */
export async function saveChanges({ path, what, base, value, version, pick, changes, copy })
{
	const mine = mergePatch(base, value);
	for (let known = version; ;) {
		try {
			return { saved: (await api.patch(path, mine, { headers: { 'If-Match': `"${known}"` } })).data };
		} catch (error) {
			if (error.code !== 'VERSION_CONFLICT')
				throw error;
			const stored = (await api.get(path)).data;
			const now = pick(stored);
			const theirs = mergePatch(base, now);
			const whole = Object.fromEntries(Object.keys(mine).map((name) => [name, value[name]]));
			const choice = await openDialog((close) => html`<${Conflict} close=${close} what=${what} base=${base} value=${value} mine=${whole} theirs=${theirs} stored=${stored} now=${now} changes=${changes} copy=${copy} />`);
			if (choice !== 'mine')
				return choice === 'theirs' ? { theirs: stored } : choice === 'copy' ? { copy: true } : null;
			known = stored.version;
		}
	}
}
