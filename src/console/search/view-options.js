/*
 * view-options.js: which columns the list has, how it looks, and in which zone its times are.
 */
import { html, useMemo, useState } from '../view.js';
import { IconButton } from '../ui/button.js';
import { visible } from './event-fields.js';
import { Zones } from './time-panel.js';
import { columnTitle } from './display.js';

// Here it has to be clear which of two fields of that name it is.
const titleOf = (name) => (name.startsWith('attributes.') ? name : columnTitle(name));

/** The panel. display (chosen: its columns are not the usual ones) and onChange({changes}); fields: names of fields that can be columns. */
export function ViewOptions({ display, fields, onChange })
{
	const [typed, setTyped] = useState('');
	const { columns } = display;
	const others = useMemo(() => {
		const wanted = typed.toLowerCase();
		return ['timestamp', 'level', 'event', ...fields].filter((one, index, all) => all.indexOf(one) === index && !columns.includes(one) && one.toLowerCase().includes(wanted)).slice(0, 50);
	}, [fields, columns, typed]);
	const move = (at, to) => {
		const next = [...columns];
		next.splice(to, 0, ...next.splice(at, 1));
		onChange({ columns: next });
	};
	return html`<div class="stack view-options">
		<section class="stack-s"><h2 class="small muted">Columns</h2>
			<ul>${columns.map((name, at) => html`<li key=${name} class="column-item"><bdi class="truncate grow">${visible(titleOf(name))}</bdi>
				${at > 0 && html`<${IconButton} icon="up" size="small" label=${`Move ${name} to the left`} onClick=${() => move(at, at - 1)} />`}
				${at < columns.length - 1 && html`<${IconButton} icon="down" size="small" label=${`Move ${name} to the right`} onClick=${() => move(at, at + 1)} />`}
				${columns.length > 1 && html`<${IconButton} icon="close" size="small" label=${`Hide ${name}`} onClick=${() => onChange({ columns: columns.filter((one) => one !== name) })} />`}</li>`)}</ul>
			<input class="input" type="search" placeholder="Add a column" aria-label="Add a column" autocomplete="off" spellcheck=${false} value=${typed} onInput=${(event) => setTyped(event.currentTarget.value)}
				onKeyDown=${(event) => { if (event.key === 'Enter' && others[0]) { onChange({ columns: [...columns, others[0]] }); setTyped(''); } }} />
			<ul class="column-others" aria-label="Columns that can be added" tabindex="0">${others.map((name) => html`<li key=${name}><button type="button" class="menu-item" onClick=${() => onChange({ columns: [...columns, name] })}><bdi class="truncate">${visible(titleOf(name))}</bdi></button></li>`)}</ul>
			${display.chosen && html`<div><button type="button" class="link-button" onClick=${() => onChange({ columns: null })}>Columns as at first</button></div>`}</section>
		<section class="stack-s"><h2 class="small muted">Rows</h2><fieldset class="segments"><legend class="visually-hidden">Height of rows</legend>${[['compact', 'Compact'], ['normal', 'Normal'], ['roomy', 'Roomy']].map(([name, label]) => html`<label key=${name} class=${display.density === name ? 'is-chosen' : ''}>
			<input type="radio" name="density" checked=${display.density === name} onChange=${() => onChange({ density: name })} />${label}</label>`)}</fieldset>
			<label class="check small"><input type="checkbox" checked=${display.wrap} onChange=${(event) => onChange({ wrap: event.currentTarget.checked })} /><span>Wrap texts, up to three lines</span></label></section>
		<${Zones} />
	</div>`;
}
