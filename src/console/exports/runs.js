/*
 * runs.js: the runs of a scheduled export, and their files.
 */
import { html, useEffect, useRef, useState } from '../view.js';
import { api, isAbort } from '../api.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { CopyButton } from '../ui/copy-button.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { formatBytes, formatNumber } from '../ui/numbers.js';
import { fileName, readFile, saveBlob } from '../ui/save-file.js';
import { Skeleton } from '../ui/skeleton.js';
import { Table } from '../ui/table.js';
import { RelativeTime, Time } from '../ui/time.js';
import { toastError } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { useRefresh } from '../ui/use-refresh.js';

const kinds = { waiting: 'neutral', running: 'accent', delivering: 'accent', succeeded: 'ok', failed: 'danger' };

/** The status of a run. */
export function RunStatus({ run })
{
	return html`<${Badge} kind=${kinds[run.status]} dot>${run.status}<//>`;
}

/** Downloads the file of a run; a large one comes in parts, which become one file. */
async function download(run, { abort, onBytes })
{
	const path = `/api/v1/exports/${run.id}/download`;
	const ask = (part) => api.get(path, { raw: true, abort, query: { part } });
	let answer;
	try {
		answer = (await ask()).data;
	} catch (error) {
		if (error.code !== 'EXPORT_TOO_LARGE')
			throw error;
		answer = (await ask(0)).data;
	}
	const count = Number(answer.headers.get('X-Part-Count') ?? 1);
	const name = fileName(answer, `${run.id}`).replace(/\.part-?\d+$/, '');
	const pieces = [];
	let before = 0;
	for (let part = 0; ; part++) {
		const { parts, bytes } = await readFile(answer, { onBytes: (now) => onBytes(before + now) });
		pieces.push(...parts);
		before += bytes;
		if (part + 1 >= count)
			break;
		answer = (await ask(part + 1)).data;
	}
	saveBlob(new Blob(pieces), name);
}

function File({ run })
{
	const [state, setState] = useState({});
	const control = useRef(null);
	useEffect(() => () => control.current?.abort(), []);
	if (run.object)
		return html`<span class="row"><code class="break small">${run.object}</code><${CopyButton} text=${run.object} label="Copy address" compact /></span>`;
	if (run.status !== 'succeeded' && !run.downloadUrl)
		return html`<span class="faint">-</span>`;
	if (!run.downloadUrl)
		return html`<span class="faint">gone</span>`;
	async function get()
	{
		control.current = new AbortController();
		setState({ busy: true, bytes: 0 });
		try {
			await download(run, { abort: control.current.signal, onBytes: (bytes) => setState((now) => ({ ...now, bytes })) });
		} catch (error) {
			if (!isAbort(error))
				toastError(error);
		}
		setState({});
	}
	return html`<span class="row"><${Button} size="small" icon="download" busy=${state.busy} onClick=${get}>${state.busy ? formatBytes(state.bytes) : 'Download'}<//>
		<${CopyButton} text=${run.downloadUrl} label="Copy a link that is good for 15 minutes, for whoever has it" compact /></span>`;
}

/** The runs of an export, the latest first. turn: changes when a run was asked for. */
export function Runs({ id, turn })
{
	const list = useLoad(async (abort) => {
		const answer = await api.get(`/api/v1/scheduled-exports/${id}/runs`, { query: { limit: 50 }, abort });
		return { rows: answer.data, cursor: answer.page?.hasMore ? answer.page.nextCursor : null };
	}, [id, turn]);
	const [busy, setBusy] = useState(false);
	const [later, setLater] = useState(false);
	const works = list.data?.rows.some((one) => ['waiting', 'running', 'delivering'].includes(one.status));
	useRefresh(() => !later && list.reload(), works ? 2 : 30);
	async function more()
	{
		setBusy(true);
		setLater(true);
		try {
			const answer = await api.get(`/api/v1/scheduled-exports/${id}/runs`, { query: { limit: 50, cursor: list.data.cursor } });
			list.set((now) => ({ rows: [...now.rows, ...answer.data], cursor: answer.page?.hasMore ? answer.page.nextCursor : null }));
		} catch (error) {
			toastError(error);
		}
		setBusy(false);
	}
	return html`<div class="stack"><${ErrorNotice} error=${list.error} retry=${list.reload} />${list.slow && html`<${Skeleton} />`}
		${list.data && html`<${Table} caption="Runs" rows=${list.data.rows} more=${list.data.cursor} onMore=${more} busy=${busy}
			empty=${html`<${EmptyState} icon="clock" title="No run yet" action=${html`<${Button} icon="refresh" onClick=${list.reload}>Look again<//>`} />`} columns=${[
			{ key: 'status', title: 'Status', render: (row) => html`<${RunStatus} run=${row} />` },
			{ key: 'when', title: 'Asked for', names: true, render: (row) => html`<${RelativeTime} value=${row.scheduledFor ?? row.createdAt} />${!row.scheduledFor && html` <${Badge}>by hand<//>`}` },
			{ key: 'range', title: 'Period', render: (row) => html`<${Time} value=${row.range?.earliest} none="-" /> <span class="muted">to</span> <${Time} value=${row.range?.latest} none="" />` },
			{ key: 'rows', title: 'Rows', align: 'end', render: (row) => html`${formatNumber(row.rows ?? 0)}${row.truncated && html` <${Badge} kind="warn">cut<//>`}` },
			{ key: 'bytes', title: 'Size', align: 'end', render: (row) => formatBytes(row.bytes ?? 0) },
			{ key: 'file', title: 'File', render: (row) => html`<${File} run=${row} />` },
			{ key: 'error', title: 'Error', class: 'break', render: (row) => row.error && html`<span class="small text-danger">${row.error.message} <code>${row.error.code}</code>${row.attempts > 1 ? `, ${row.attempts} tries` : ''}</span>` },
		]} />`}</div>`;
}
