/*
 * rows-pane.js: the rows to judge: pasted, dropped, from a file, or from a search.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { api, isAbort } from '../api.js';
import { can } from '../session.js';
import { query } from '../router.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, Select, TextArea } from '../ui/field.js';
import { formatBytes, formatNumber } from '../ui/numbers.js';
import { toast } from '../ui/toast.js';
import { limits, textOf } from './rows.js';

const ranges = [['-15m', 'last 15 minutes'], ['-1h', 'last hour'], ['-4h', 'last 4 hours'], ['-24h', 'last 24 hours'], ['-7d', 'last 7 days'], ['-30d', 'last 30 days']]
	.map(([value, label]) => ({ value, label }));

/** The rows that a search finds, as an evaluation reads them: texts of events, or objects of a table. */
async function searchRows(q, earliest, latest, abort)
{
	const { data } = await api.post('/api/v1/search', { q, earliest, latest, limit: limits.rows }, { abort, reads: true });
	if (data.kind === 'events')
		return data.rows.map((row) => row.event);
	return data.rows.map((row) => Object.fromEntries(data.columns.map((column, index) => [column.name, row[index]])));
}

function FromSearch({ onRows })
{
	const given = query.peek();
	const [q, setQ] = useState(given.get('q') ?? '');
	const [earliest, setEarliest] = useState(given.get('earliest') ?? '-1h');
	const latest = given.get('latest') ?? undefined;
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState(null);
	const running = useRef(null);
	async function find()
	{
		running.current?.abort();
		const control = new AbortController();
		running.current = control;
		setBusy(true);
		setError(null);
		try {
			onRows(await searchRows(q, earliest, earliest === given.get('earliest') ? latest : undefined, control.signal));
		} catch (caught) {
			if (!isAbort(caught))
				setError(caught);
		} finally {
			if (running.current === control)
				setBusy(false);
		}
	}
	useEffect(() => {
		if (given.get('q') !== null)
			find();
		return () => running.current?.abort();
	}, []);
	const options = ranges.some((one) => one.value === earliest) ? ranges : [{ value: earliest, label: `since ${earliest}` }, ...ranges];
	return html`<form class="stack-s evaluate-search" onSubmit=${(event) => { event.preventDefault(); find(); }}>
		<${Field} label="Query" name="rows-query" value=${q} onInput=${setQ} spellcheck=${false} class="input mono" placeholder="source=checkout level=error" />
		<div class="row evaluate-search-row"><${Select} label="Time" hideLabel options=${options} value=${earliest} onInput=${setEarliest} />
			<${Button} type="submit" icon="search" busy=${busy} onClick=${() => {}}>Take the rows<//></div>
		<${ErrorNotice} error=${error} title=${error?.code === 'RATE_LIMIT_EXCEEDED' ? 'Too many searches in a minute' : undefined} />
	</form>`;
}

/** The pane. text and onText: what is in the field; found: what rowsOf made of it. */
export function RowsPane({ text, onText, found })
{
	const [over, setOver] = useState(false);
	const [search, setSearch] = useState(query.peek().get('q') !== null);
	const file = useRef(null);
	function replace(next, said)
	{
		const before = text;
		onText(next);
		toast(said, before ? { undo: () => onText(before) } : {});
	}
	async function read(list)
	{
		const one = list[0];
		if (!one)
			return;
		if (one.size > limits.bytes)
			toast(`${one.name} has ${formatBytes(one.size)}; an evaluation takes 10 MB at most.`);
		else
			replace(await one.text(), `Rows of ${one.name}`);
	}
	function drop(event)
	{
		event.preventDefault();
		setOver(false);
		if (event.dataTransfer.files.length)
			read(event.dataTransfer.files);
		else if (event.dataTransfer.getData('text/plain'))
			replace(event.dataTransfer.getData('text/plain'), 'Dropped rows');
	}
	const many = found.rows.length > limits.rows;
	const error = found.problem ?? (many ? `${formatNumber(found.rows.length)} rows: an evaluation takes ${formatNumber(limits.rows)}.` : undefined);
	return html`<section class=${`card stack-s evaluate-rows ${over ? 'is-over' : ''}`} aria-labelledby="evaluate-rows"
		onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
		<div class="row-between"><h2 id="evaluate-rows">Rows</h2><div class="row">
			${can('logs:read') && html`<${Button} size="small" kind="ghost" icon="search" aria-expanded=${search ? 'true' : 'false'} onClick=${() => setSearch(!search)}>From a search<//>`}
			<${Button} size="small" kind="ghost" icon="download" onClick=${() => file.current.click()}>File<//>
			<input type="file" ref=${file} hidden aria-label="File with rows" accept=".log,.txt,.json,.ndjson,.jsonl,.csv,text/*" onChange=${(event) => {
				read(event.currentTarget.files);
				event.currentTarget.value = '';
			}} /></div></div>
		${search && html`<${FromSearch} onRows=${(rows) => replace(textOf(rows), `${formatNumber(rows.length)} rows from the search`)} />`}
		<${TextArea} label="Log rows" hideLabel name="rows" rows="10" class="input mono evaluate-text" spellcheck=${false} wrap="off" value=${text} onInput=${onText}
			error=${error} placeholder=${'Paste or drop log lines here, or a JSON list of texts and objects.\nEach line is a row.'} />
		<div class="row-between small muted"><span role="status">${formatNumber(found.rows.length)} of ${formatNumber(limits.rows)} rows</span>
			${many && html`<${Button} size="small" onClick=${() => replace(textOf(found.rows.slice(-limits.rows)), 'The last 10,000 rows are left')}>Keep the last 10,000<//>`}
			${text !== '' && !many && html`<${Button} size="small" kind="ghost" onClick=${() => replace('', 'Rows removed')}>Remove all<//>`}</div>
	</section>`;
}
