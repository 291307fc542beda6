/*
 * event-drawer.js: one event with all that it has, and those before and after it.
 */
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../view.js';
import { api } from '../api.js';
import { Level } from '../ui/badge.js';
import { Button, IconButton } from '../ui/button.js';
import { CopyButton } from '../ui/copy-button.js';
import { Drawer } from '../ui/drawer.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Skeleton } from '../ui/skeleton.js';
import { Tabs } from '../ui/tabs.js';
import { Time } from '../ui/time.js';
import { useLoad } from '../ui/use-load.js';
import { builtinFields, lineOf, valueOf, visible } from './event-fields.js';
import { BuiltinFields, Members } from './json-tree.js';
import { writeField, writeValue } from './query-text.js';
import { markedText } from './row-list.js';
import { rowTime } from './time-text.js';

const longest = 20_000;
const mostJson = 1_000_000; // Characters of a text that is read as JSON.

function Text({ text, terms })
{
	const [all, setAll] = useState(false);
	const box = useRef(null);
	const shown = all ? text : text.slice(0, longest);
	useLayoutEffect(() => { markedText(box.current, visible(shown), terms); }, [shown, terms?.source]);
	return html`<div class="stack-s"><pre class="event-text" dir="auto" ref=${box} tabindex="0" aria-label="Text of the event"></pre>
		${text.length > shown.length && html`<div><${Button} size="small" onClick=${() => setAll(true)}>Show all ${text.length.toLocaleString('en-US')} characters<//></div>`}</div>`;
}

/** The object that a text of an event is, or null. */
export function jsonIn(text)
{
	if (typeof text !== 'string' || text.length > mostJson || !/^\s*[{[]/.test(text))
		return null;
	try {
		const value = JSON.parse(text);
		return value !== null && typeof value === 'object' && Object.keys(value).length ? value : null;
	} catch {
		return null;
	}
}

// What events of several services have in common.
const threads = [['trace_id', 'trace'], ['request_id', 'request'], ['requestId', 'request'], ['correlation_id', 'request']];

/** Searches for everything that belongs to an event, from an hour before it to an hour after it; onThread({q, earliest, latest}). */
function Threads({ event, onThread })
{
	const at = Date.parse(event.timestamp);
	// Stages may have left the time out: then the range of the page stays.
	const range = Number.isNaN(at) ? {} : { earliest: new Date(at - 3_600_000).toISOString(), latest: new Date(at + 3_600_000).toISOString() };
	const found = threads.map(([name, of]) => ({ name, of, value: valueOf(event, name) })).filter((one) => ['string', 'number'].includes(typeof one.value) && one.value !== '')
		.filter((one, at, all) => all.findIndex((other) => other.of === one.of) === at);
	return found.length > 0 && html`<div class="row">${found.map((one) => html`<${Button} key=${one.name} size="small" icon="search"
		onClick=${() => onThread({ q: `${writeField(one.name)}=${writeValue(one.value)}`, ...range })}>All events of this ${one.of}<//>`)}</div>`;
}

function Context({ event, onOpen })
{
	const [scope, setScope] = useState('source');
	const load = useLoad((abort) => api.get(`/api/v1/logs/${encodeURIComponent(event.id)}/context`, {
		query: { before: 100, after: 100, scope: scope === 'index' ? 'index' : null }, abort }), [event.id, scope]);
	const own = useRef(null);
	useEffect(() => { own.current?.scrollIntoView({ block: 'center' }); }, [load.data]);
	const time = rowTime({ withDay: false });
	return html`<div class="stack-s">
		<div class="row-between"><span class="small muted">${load.data ? `${load.data.meta.before} before, ${load.data.meta.after} after` : ''}</span>
			<fieldset class="segments"><legend class="visually-hidden">Of which events</legend>
				${[['source', 'Same source'], ['index', `Index ${event.index ?? ''}`]].map(([name, label]) => html`<label key=${name} class=${scope === name ? 'is-chosen' : ''}>
					<input type="radio" name="context-scope" checked=${scope === name} onChange=${() => setScope(name)} />${label}</label>`)}</fieldset></div>
		<${ErrorNotice} error=${load.error} retry=${load.reload} />
		${load.slow && html`<${Skeleton} lines="8" />`}
		${load.data && html`<ol class="context" aria-label="Events around this one, oldest first">${load.data.data.map((one) => html`<li key=${one.id}>
			<button type="button" class=${`context-row ${one.id === event.id ? 'is-own' : ''}`} ref=${one.id === event.id ? own : undefined} aria-current=${one.id === event.id ? 'true' : undefined} onClick=${() => onOpen(one)}>
				<span class="faint">${time(one.timestamp)}</span> <${Level} level=${one.level} /> <span class="truncate grow"><bdi>${visible(lineOf(one.event, 400))}</bdi></span></button></li>`)}</ol>`}
	</div>`;
}

/**
 * The drawer. event: of a search, or {id} of one that has to be read; tab: fields, json or context,
 * with onTab; terms: a pattern to mark; link: its address; on:
 * {onThread({q, earliest, latest}), onFilter, onTerm, onColumn, onGroup, onExtract, columns, query}; onStep(1 or -1): the next row; extra: more actions.
 */
export function EventDrawer({ event: given, tab, onTab, terms, link, on, onStep, onOpen, onClose, extra })
{
	// A link has the id only.
	const whole = given.id === undefined || Object.keys(given).length > 1;
	const load = useLoad(async (abort) => (whole ? given : (await api.get(`/api/v1/logs/${encodeURIComponent(given.id)}`, { abort })).data), [given.id, whole]);
	const event = whole ? given : load.data?.id === given.id ? load.data : null;
	const inText = useMemo(() => jsonIn(event?.event), [event]);
	const json = useMemo(() => (event && tab === 'json' ? JSON.stringify(event, null, 2) : ''), [event, tab]);
	return html`<${Drawer} wide title=${event ? html`<${Time} value=${event.timestamp} precise none="Event" /> ${event.level && html`<${Level} level=${event.level} />`}` : 'Event'} onClose=${onClose} actions=${html`
		${extra}
		${onStep && html`<${IconButton} icon="up" label="The row above" size="small" onClick=${() => onStep(-1)} /><${IconButton} icon="down" label="The row below" size="small" onClick=${() => onStep(1)} />`}
		${link && html`<${CopyButton} text=${link} label="Copy link to this event" compact />`}`}>
		<div class="stack">
			<${ErrorNotice} error=${load.error} retry=${load.reload} title=${load.error?.status === 404 ? 'This event is not there any more, or was never yours' : undefined} />
			${load.slow && !event && html`<${Skeleton} lines="6" />`}
			${event && html`
				${typeof event.event === 'string' && html`<div class="event-head"><${Text} key=${event.id} text=${event.event} terms=${terms} /><${CopyButton} text=${event.event} label="Copy the text" compact /></div>`}
				${on.onThread && html`<${Threads} event=${event} onThread=${on.onThread} />`}
				<${Tabs} label="Views of this event" selected=${tab} onSelect=${onTab} tabs=${[{ id: 'fields', label: 'Fields' }, { id: 'json', label: 'JSON' }, ...(event.id ? [{ id: 'context', label: 'Context' }] : [])]}>
					${tab === 'fields' && html`<div class="stack-s"><${BuiltinFields} fields=${builtinFields(event)} on=${on} />
						${event.attributes && Object.keys(event.attributes).length > 0 && html`<h3 class="small muted">Attributes</h3><${Members} key=${event.id} path="" value=${event.attributes} on=${on} />`}
						${inText && html`<div class="row-between"><h3 class="small muted">JSON in the text</h3>${on.onExtract && html`<button type="button" class="link-button" onClick=${on.onExtract}>Search its fields</button>`}</div><${Members} key=${`${event.id} text`} path=${null} value=${inText} on=${on} />`}</div>`}
					${tab === 'json' && html`<div class="stack-s"><div><${CopyButton} text=${json} label="Copy JSON" /></div><pre class="event-json" tabindex="0" aria-label="JSON of the event">${visible(json.slice(0, 100_000))}${json.length > 100_000 ? '\n… (the copy has all of it)' : ''}</pre></div>`}
					${tab === 'context' && html`<${Context} event=${event} onOpen=${onOpen} />`}
				<//>`}
		</div><//>`;
}
