/*
 * export-dialog.js: a search as a file, now: what, how, and how far it is.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { api, isAbort } from '../api.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Checkbox, Field, Select } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { formatBytes, formatNumber } from '../ui/numbers.js';
import { QueryField } from '../ui/query-field.js';
import { fileName, readFile, saveBlob } from '../ui/save-file.js';
import { formatDuration } from '../ui/time.js';

const ranges = [['-15m', 'Last 15 minutes'], ['-1h', 'Last hour'], ['-24h', 'Last 24 hours'], ['-7d', 'Last 7 days'], ['-30d', 'Last 30 days'], ['', 'Other times']];
const types = { csv: 'text/csv', ndjson: 'application/x-ndjson' };

function Export({ close, start })
{
	const [form, setForm] = useState({ q: '', earliest: '-24h', latest: 'now', format: 'csv', limit: '100000', fields: '', disk: false, ...start });
	const [own, setOwn] = useState(!ranges.some(([value]) => value === form.earliest && form.latest === 'now'));
	const [state, setState] = useState({});
	const control = useRef(null);
	useEffect(() => () => control.current?.abort(), []);
	const put = (changes) => setForm((now) => ({ ...now, ...changes }));
	const limit = Number(form.limit);
	const wrong = Number.isInteger(limit) && limit >= 1 && limit <= 1_000_000 ? undefined : 'From 1 to 1,000,000.';
	const toDisk = 'showSaveFilePicker' in window;

	async function run()
	{
		if (wrong || state.busy)
			return;
		const mine = new AbortController();
		control.current = mine;
		const began = Date.now();
		let file = null;
		let sink = null;
		try {
			if (form.disk && toDisk) {
				file = await window.showSaveFilePicker({ suggestedName: `export.${form.format}` });
				sink = await file.createWritable();
			}
			setState({ busy: true, bytes: 0 });
			const { data: answer } = await api.get('/api/v1/search/export', { raw: true, abort: mine.signal, query: {
				q: form.q, earliest: form.earliest, latest: form.latest, format: form.format, limit: form.limit, fields: form.fields.split(',').map((one) => one.trim()).filter(Boolean).join(',') } });
			const { parts, bytes } = await readFile(answer, { sink, onBytes: (now) => setState((before) => (now - before.bytes > 65_536 ? { ...before, bytes: now } : before)) });
			if (sink)
				await sink.close();
			const name = file?.name ?? fileName(answer, `export.${form.format}`);
			if (!sink)
				saveBlob(new Blob(parts, { type: types[form.format] }), name);
			const rows = answer.headers.get('X-Rows');
			setState({ done: { name, bytes, rows: rows === null ? null : Number(rows), truncated: answer.headers.get('X-Truncated') === 'true', took: Date.now() - began } });
		} catch (error) {
			await sink?.abort().catch(() => {});
			setState(isAbort(error) ? {} : { error });
		}
	}
	const stop = () => control.current?.abort();
	const { done } = state;
	return html`<${Dialog} title="Export" onClose=${() => { stop(); close(); }} closeBeside=${false} footer=${html`
		${state.busy ? html`<${Button} onClick=${stop}>Stop<//>` : html`<${Button} onClick=${() => close()}>Close<//>`}
		<${Button} kind="primary" icon="download" busy=${state.busy} disabled=${Boolean(wrong)} onClick=${run}>Export<//>`}>
		<div class="stack"><fieldset class="stack" disabled=${state.busy}><legend class="visually-hidden">What is exported</legend>
			<${QueryField} label="Query" value=${form.q} onInput=${(q) => put({ q })} onRun=${run} hint="With any stages; empty is every event." error=${state.error?.fields?.q} autofocus />
			<div class="field-grid">
				<${Select} label="Time" value=${own ? '' : form.earliest} options=${ranges.map(([value, label]) => ({ value, label }))} onInput=${(value) => { setOwn(!value); if (value) put({ earliest: value, latest: 'now' }); }} />
				<${Select} label="Format" value=${form.format} options=${[{ value: 'csv', label: 'CSV' }, { value: 'ndjson', label: 'NDJSON: an object a line' }]} onInput=${(format) => put({ format })} />
				${own && html`<${Field} label="From" class="input mono" value=${form.earliest} error=${state.error?.fields?.earliest} onInput=${(earliest) => put({ earliest })} hint="-1h@h, or 2026-11-23T08:00Z" />
					<${Field} label="To" class="input mono" value=${form.latest} error=${state.error?.fields?.latest} onInput=${(latest) => put({ latest })} />`}
				<${Field} label="At most so many rows" inputmode="numeric" value=${form.limit} error=${wrong} onInput=${(next) => put({ limit: next.replace(/[,\s]/g, '') })} />
				<${Field} label="Fields" optional class="input mono" placeholder="timestamp, level, event" value=${form.fields} error=${state.error?.fields?.fields} onInput=${(fields) => put({ fields })} hint="They become the columns." />
			</div>
			${toDisk && html`<${Checkbox} label="Write it to disk while it comes" hint="For exports that are too large for memory." checked=${form.disk} onInput=${(disk) => put({ disk })} />`}</fieldset>
			${state.busy && html`<p role="status" class="row"><span class="spinner" aria-hidden="true"></span>${formatBytes(state.bytes)} so far</p>`}
			${done && html`<div class=${`notice ${done.truncated ? 'notice-warn' : 'notice-ok'}`} role="status"><${Icon} name=${done.truncated ? 'alert' : 'check'} /><div class="grow">
				<p class="break"><strong>${done.name}</strong></p><p>${done.rows !== null ? `${formatNumber(done.rows)} rows, ` : ''}${formatBytes(done.bytes)} in ${formatDuration(done.took)}. It came whole.</p>
				${done.truncated && html`<p>There are more rows than the limit.</p>`}</div></div>`}
			<${ErrorNotice} error=${state.error} retry=${run} title=${state.error?.code === 'INCOMPLETE_FILE' ? 'The file is incomplete and was not saved' : undefined} /></div><//>`;
}

/** Opens the dialog. start: {q, earliest, latest, format, fields} to begin with. */
export const openExport = (start) => openDialog((close) => html`<${Export} close=${close} start=${start} />`);
