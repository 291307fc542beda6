/*
 * fields.js: the fields of what was found, how many events have them, and their most frequent values.
 */
import { html, useMemo, useState } from '../view.js';
import { IconButton } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { formatNumber, formatPercent, formatShort } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { lineOf, visible } from './event-fields.js';
import { builtins, filterState, writeField, writeValue } from './query-text.js';

const startOpen = ['level', 'service'];

// What is there is never 0%.
const shareText = (share) => (share > 0 && share < 0.0005 ? '<0.1%' : formatPercent(share));

function Value({ field, value, count, total, query, onFilter })
{
	const name = writeField(field.name, field.builtin);
	const written = writeValue(value);
	const state = name && filterState(query, name, written);
	const text = visible(lineOf(value, 200)) || '(empty)';
	const share = total ? count / total : 0;
	return html`<li class=${`field-value ${state ? `is-${state}` : ''}`}>
		<button type="button" class="field-value-main" disabled=${!name} aria-pressed=${state === 'include' ? 'true' : 'false'}
			title=${`${text}: ${formatNumber(count)} events. Click: only these; Alt-click: not these`}
			onClick=${(event) => onFilter(name, written, event.altKey)}>
			<span class="field-bar" aria-hidden="true"><span style=${{ width: `${Math.max(1, share * 100)}%` }}></span></span>
			<span class="truncate grow"><bdi>${text}</bdi></span><span class="number faint">${formatShort(count)}</span></button>
		${name && html`<${IconButton} icon=${state === 'exclude' ? 'plus' : 'minus'} label=${state === 'exclude' ? `Do not exclude ${text}` : `Exclude ${text}`} size="small" class="field-exclude"
			onClick=${() => (state === 'exclude' ? onFilter(name, written, false) : onFilter(name, written, true))} />`}</li>`;
}

function Field({ field, total, query, columns, onFilter, onTerm, onColumn, onGroup })
{
	const [open, setOpen] = useState(startOpen.includes(field.name) && field.builtin);
	const name = writeField(field.name, field.builtin);
	// An attribute may be called as a built-in field is.
	const column = field.builtin || !builtins.has(field.name) ? field.name : `attributes.${field.name}`;
	return html`<li class="field-item">
		<button type="button" class="field-name" aria-expanded=${open ? 'true' : 'false'} onClick=${() => setOpen(!open)}>
			<${Icon} name=${open ? 'down' : 'right'} /><span class="truncate grow"><bdi>${visible(column)}</bdi></span>
			<span class="faint number" title=${`${formatNumber(field.count)} of ${formatNumber(total)} events have it`}>${total ? shareText(Math.min(1, field.count / total)) : ''}</span></button>
		${open && html`<div class="field-more">
			${field.top.length > 0 ? html`<ul>${field.top.map(([value, count]) => html`<${Value} key=${`${typeof value} ${value}`} field=${field} value=${value} count=${count} total=${field.count} query=${query} onFilter=${onFilter} />`)}</ul>`
				: html`<p class="small faint">Hardly a value repeats.</p>`}
			${field.top.length > 0 && !field.complete && html`<p class="small faint">There are more values: counted are the first 10,000 different ones.</p>`}
			<div class="field-actions">
				<button type="button" class="link-button" onClick=${() => onColumn(column)}>${columns.includes(column) ? 'Hide column' : 'Show as column'}</button>
				${name && html`<button type="button" class="link-button" onClick=${() => onTerm(`${name}=*`)}>Has it</button>
				<button type="button" class="link-button" onClick=${() => onGroup(name)}>Group by</button>`}
			</div></div>`}</li>`;
}

/**
 * The list of fields. fields: of a search; all: are these all; total: events that were found; onFilter(name, value,
 * exclude), onTerm(term), onColumn(name), onGroup(name); loading: the first ones are on their way.
 */
export function Fields({ fields, all, total, query, columns, stale, loading, ...on })
{
	const [typed, setTyped] = useState('');
	const shown = useMemo(() => {
		const wanted = typed.toLowerCase();
		return (fields ?? []).filter((one) => one.name.toLowerCase().includes(wanted));
	}, [fields, typed]);
	return html`<section class=${`fields ${stale ? 'is-busy' : ''}`} aria-label="Fields">
		<div class="fields-find"><${Icon} name="search" /><input type="search" class="fields-input" placeholder="Find a field" aria-label="Find a field" autocomplete="off" spellcheck=${false}
			value=${typed} onInput=${(event) => setTyped(event.currentTarget.value)} /></div>
		${loading && html`<div class="fields-note"><${Skeleton} lines="8" label="Loading fields" /></div>`}
		<ul class="fields-list">${shown.map((field) => html`<${Field} key=${`${field.builtin}${field.name}`} field=${field} total=${total} query=${query} columns=${columns} ...${on} />`)}</ul>
		${fields && !shown.length && html`<p class="small muted fields-note">${typed ? 'No field is called that.' : 'No event, no field.'}</p>`}
		${fields && !all && html`<p class="small muted fields-note">These are the 100 most common fields; there are more.</p>`}
	</section>`;
}
