/*
 * screen.js: the evaluation playground. Rows, criteria and verdict are in memory only; the token that the page makes is
 * revoked when it is left.
 */
import { html, useEffect, useMemo, useRef, useState } from '../view.js';
import { api, ApiError, isAbort } from '../api.js';
import { can } from '../session.js';
import { Button } from '../ui/button.js';
import { openDialog } from '../ui/dialog.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { FieldFrame } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { formatBytes, formatNumber } from '../ui/numbers.js';
import { Skeleton } from '../ui/skeleton.js';
import { Tabs } from '../ui/tabs.js';
import { useLoad } from '../ui/use-load.js';
import { useKeys } from '../shell/keys.js';
import { Elsewhere } from './elsewhere.js';
import { explain } from './errors.js';
import { Counter, ItemsTable, itemsProblem, newItem } from './items-table.js';
import { defaults, Options, optionsOf } from './options.js';
import { PreviewView } from './preview-view.js';
import { RateLine } from '../ui/rate-line.js';
import { RowsPane } from './rows-pane.js';
import { codePoints, limits, rowsOf } from './rows.js';
import { playgroundToken } from './token.js';
import { VerdictView } from './verdict-view.js';

const example = {
	rows: 'migration 41 applied in 212 ms\nmigration 42 applied in 87 ms\nlistening on :8080\nhealth check answered 503\nhealth check answered 503',
	criteria: 'Was the deployment healthy?',
	items: [['migrated', 'the migrations were applied'], ['healthy', 'the health check answered 200'], ['backup', 'a backup was made']],
};

function Result({ result, busy, stale, onExample })
{
	const [tab, setTab] = useState('preview');
	useEffect(() => { if (result.last) setTab(result.last); }, [result]);
	if (busy)
		return html`<div class="stack"><p class="muted" role="status">${busy === 'preview' ? 'Compressing the rows' : 'Judging the rows'}</p><${Skeleton} lines="6" label="Working" /></div>`;
	const tabs = [result.verdict && { id: 'verdict', label: 'Verdict' }, result.preview && { id: 'preview', label: 'Preview' }].filter(Boolean);
	if (!tabs.length)
		return html`<${EmptyState} icon="flask" title="Nothing has been judged yet" action=${html`<${Button} onClick=${onExample}>Fill in an example<//>`}>
			<p>Preview shows what a model would read, and what that would cost, before any credit is spent.</p><//>`;
	const shown = tabs.find((one) => one.id === tab) ?? tabs[0];
	const of = result[shown.id];
	return html`<${Tabs} label="Results" tabs=${tabs} selected=${shown.id} onSelect=${setTab}>
		${stale > of.revision && html`<p class="small muted row evaluate-stale"><${Icon} name="info" />The inputs have changed since.</p>`}
		${shown.id === 'preview' ? html`<${PreviewView} data=${of.data} rows=${of.rows} compressed=${of.compressed} />`
			: html`<${VerdictView} data=${of.data} rows=${of.rows} descriptions=${of.descriptions} />`}
	<//>`;
}

function Credits({ turn })
{
	const usage = useLoad((abort) => (can('logs:read') ? api.get('/api/v1/usage', { abort }).then((answer) => answer.data.aiCredits) : Promise.resolve(null)), [turn]);
	const credits = usage.data;
	if (!credits)
		return null;
	return html`<span class="small muted number">${credits.limit === null ? `${formatNumber(credits.used)} AI credits used this month`
		: `${formatNumber(credits.remaining)} of ${formatNumber(credits.limit)} AI credits left this month`}</span>`;
}

/** The screen. */
export default function Evaluate()
{
	const [text, setText] = useState('');
	const [criteria, setCriteria] = useState('');
	const [items, setItems] = useState(() => [newItem()]);
	const [options, setOptions] = useState(defaults);
	const [revision, setRevision] = useState(0);
	const [result, setResult] = useState({});
	const [error, setError] = useState(null);
	const [busy, setBusy] = useState(null);
	const [rate, setRate] = useState(null);
	const [asked, setAsked] = useState(null); // what was asked for: from then on it is said what is missing
	const token = useMemo(playgroundToken, []);
	const running = useRef(null);
	const found = useMemo(() => rowsOf(text), [text]);
	const changed = (set) => (value) => {
		set(value);
		setRevision((now) => now + 1);
	};

	useEffect(() => {
		const leave = () => { token.drop({ keepalive: true }); };
		window.addEventListener('pagehide', leave);
		return () => {
			window.removeEventListener('pagehide', leave);
			running.current?.abort();
			leave();
		};
	}, []);

	const used = items.filter((one) => one.id !== '' || one.description !== '');
	const itemsWrong = itemsProblem(items);
	const problems = {
		rows: found.problem ?? (found.rows.length === 0 ? 'There are no rows yet.' : found.rows.length > limits.rows ? 'There are too many rows.' : null),
		criteria: criteria.trim() === '' ? 'Say what is to be judged.' : codePoints(criteria) > limits.criteria ? `${formatNumber(limits.criteria)} characters are the most.` : null,
		items: itemsWrong,
	};
	const request = () => ({ rows: found.rows, criteria, ...(used.length ? { expectedItems: used.map(({ id, description }) => ({ id, description })) } : {}), ...optionsOf(options) });

	async function send(json, abort)
	{
		const size = new Blob([JSON.stringify(json)]).size;
		if (size > limits.bytes)
			throw new ApiError(`The request has ${formatBytes(size)}`, { status: 413, code: 'FST_ERR_CTP_BODY_TOO_LARGE' });
		for (let attempt = 0; ; attempt++) {
			try {
				return await api.post('/api/v1/evaluations/run-adhoc', json, { token: await token.take(), abort });
			} catch (caught) {
				// Somebody has revoked the token of this page: another one, once.
				if (attempt > 0 || !['INVALID_PAT', 'PAT_REVOKED', 'PAT_EXPIRED'].includes(caught.code))
					throw caught;
				if (caught.code === 'INVALID_PAT')
					await token.drop();
				else
					token.forget();
			}
		}
	}
	async function run(kind)
	{
		const preview = kind === 'preview';
		setAsked((now) => (preview && now !== 'verdict' ? 'preview' : 'verdict'));
		const wrong = problems.rows ? 'rows' : !preview && problems.criteria ? 'criteria' : !preview && problems.items ? 'items' : null;
		if (wrong) {
			document.querySelector({ rows: '[name=rows]', criteria: '[name=criteria]', items: '.items input' }[wrong])?.focus();
			return;
		}
		running.current?.abort();
		const control = new AbortController();
		running.current = control;
		setBusy(kind);
		setError(null);
		try {
			const json = request();
			const answer = await send(preview ? { rows: json.rows, model: json.model, preview: true,
				...(json.logCompression === false ? { logCompression: false } : {}), ...(json.compressionOptions ? { compressionOptions: json.compressionOptions } : {}) } : json, control.signal);
			setRate(answer.rate);
			setResult((now) => ({ ...now, last: kind, [kind]: { data: answer.data, rows: json.rows, revision, compressed: options.logCompression,
				descriptions: Object.fromEntries((json.expectedItems ?? []).map((one) => [one.id, one.description])) } }));
		} catch (caught) {
			if (isAbort(caught))
				return;
			if (caught.rate)
				setRate(caught.rate);
			setError({ kind, caught });
		} finally {
			if (running.current === control) {
				setBusy(null);
				// Below the inputs, where the window is narrow.
				document.querySelector('.evaluate-result')?.scrollIntoView({ block: 'nearest' });
			}
		}
	}
	function fill()
	{
		changed(setText)(example.rows);
		setCriteria(example.criteria);
		setItems(example.items.map(([id, description]) => newItem(id, description)));
		setAsked(null);
		document.querySelector('[name=criteria]')?.focus();
	}
	useKeys([{ keys: 'mod+Enter', text: 'Evaluate', run: () => run('verdict') }]);
	const said = error && explain(error.caught);
	const ready = !problems.rows && !problems.criteria && !problems.items;
	return html`<div class="page page-full evaluate"><header class="page-head"><div><h1>Evaluate</h1>
			<p>Judge log rows against criteria in plain language. Nothing is kept: rows, criteria and verdict are on this page only and are gone when you leave it.</p></div>
			<${Credits} turn=${result} /></header>
		<div class="evaluate-panes"><div class="stack">
			<${RowsPane} text=${text} onText=${changed(setText)} found=${found} />
			${asked && problems.rows && !found.problem && found.rows.length === 0 && html`<p class="field-error" role="alert"><span>${problems.rows}</span></p>`}
			<section class="card stack" aria-labelledby="evaluate-criteria"><h2 id="evaluate-criteria">Criteria</h2>
				<${FieldFrame} label="What is to be judged" error=${asked === 'verdict' && problems.criteria ? problems.criteria : undefined}>${(control) => html`<div>
					<textarea class="input" name="criteria" rows="3" ...${control} value=${criteria} placeholder="Was the deployment healthy?"
						onInput=${(event) => changed(setCriteria)(event.currentTarget.value)}></textarea><${Counter} text=${criteria} limit=${limits.criteria} /></div>`}<//>
				<${ItemsTable} items=${items} onItems=${changed(setItems)} problem=${asked === 'verdict' ? problems.items : null} />
				<${Options} options=${options} onOptions=${changed(setOptions)} errors=${error?.caught.fields} />
			</section></div>
			<section class="card stack evaluate-result" aria-label="Result">
				<div class="row-between evaluate-actions"><div class="row">
					<${Button} icon="M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z" busy=${busy === 'preview'} onClick=${() => run('preview')}>Preview<//>
					<${Button} kind="primary" icon="play" busy=${busy === 'verdict'} onClick=${() => run('verdict')}>Evaluate<//>
					${busy && html`<${Button} kind="ghost" icon="stop" onClick=${() => { running.current.abort(); setBusy(null); }}>Cancel<//>`}</div>
					<div class="row"><${RateLine} rate=${rate} />
					<${Button} kind="ghost" icon="copy" reason=${ready ? undefined : 'Fill in rows and criteria first'}
						onClick=${() => openDialog((close) => html`<${Elsewhere} request=${request()} close=${() => close()} />`)}>Copy as<//></div></div>
				${error && html`<${ErrorNotice} error=${error.caught} title=${said.title} retry=${said.again ? () => run(error.kind) : undefined}><p>${said.text}</p><//>`}
				<${Result} result=${result} busy=${busy} stale=${revision} onExample=${fill} />
			</section></div>
	</div>`;
}
