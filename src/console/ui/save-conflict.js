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

function Conflict({ close, what, base, mine, theirs, stored })
{
	const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])];
	return html`<${Dialog} title=${`Somebody else has changed this ${what}`} size="large" onClose=${() => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)} data-autofocus>Back to the editor<//>
		<${Button} onClick=${() => close('theirs')}>Drop mine, load theirs<//>
		<${Button} kind="primary" onClick=${() => close('mine')}>Save mine over it<//>`}>
		<div class="stack"><p class="muted">Version ${stored.version} was saved <${RelativeTime} value=${stored.updatedAt} />. Saving yours keeps
			their changes of everything that you have not changed.</p>
			<div class="conflict">${names.map((name) => html`<section key=${name} class="stack-s"><h3 class="row">${name}
				${name in mine && name in theirs && html`<${Badge} kind="warn">both changed<//>`}</h3>
				<div class="conflict-pair">
					<div><span class="small muted">Theirs${name in theirs ? '' : ': not changed'}</span><pre class="break" tabindex="0">${shown(stored[name])}</pre></div>
					<div><span class="small muted">Yours${name in mine ? '' : ': not changed'}</span><pre class="break" tabindex="0">${shown(name in mine ? mine[name] : base[name])}</pre></div>
				</div></section>`)}</div></div><//>`;
}

/**
 * Saves the members of `value` that differ from `base`, if the version is still `version`. pick(stored) answers the
 * members that the editor knows. When somebody else was quicker, asks; answers {saved}, {theirs} or null.
 */
export async function saveChanges({ path, what, base, value, version, pick })
{
	const mine = mergePatch(base, value);
	for (let known = version; ;) {
		try {
			return { saved: (await api.patch(path, mine, { headers: { 'If-Match': `"${known}"` } })).data };
		} catch (error) {
			if (error.code !== 'VERSION_CONFLICT')
				throw error;
			const stored = (await api.get(path)).data;
			const theirs = mergePatch(base, pick(stored));
			const whole = Object.fromEntries(Object.keys(mine).map((name) => [name, value[name]]));
			const choice = await openDialog((close) => html`<${Conflict} close=${close} what=${what} base=${base} mine=${whole} theirs=${theirs} stored=${stored} />`);
			if (choice !== 'mine')
				return choice === 'theirs' ? { theirs: stored } : null;
			known = stored.version;
		}
	}
}
