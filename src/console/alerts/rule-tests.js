/*
 * rule-tests.js: the tests of a rule: rows, what is expected, and what came out, beside each other.
 */
import { html, useState } from '../view.js';
import { api } from '../api.js';
import { Badge } from '../ui/badge.js';
import { Button, IconButton } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Checkbox, Field, Select, TextArea } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { useItemKeys } from '../ui/sortable.js';
import { groupText, valueText } from './states.js';

/** Rows as people write them: a list in JSON, or a line each, which is JSON or a text. Throws what is wrong. */
export function rowsOf(text)
{
	const trimmed = text.trim();
	if (!trimmed)
		return [];
	if (trimmed.startsWith('['))
		return JSON.parse(trimmed);
	return trimmed.split('\n').filter((one) => one.trim()).map((line, at) => {
		if (!line.trim().startsWith('{'))
			return line;
		try {
			return JSON.parse(line);
		} catch (error) {
			throw new Error(`Line ${at + 1}: ${error.message}`);
		}
	});
}

/** Rows as lines. */
export const textOf = (rows) => (rows ?? []).map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n');

/** What failed, with the row that did: for people. result: of the service; rows: those of the test. */
export function FailingRow({ row, rows })
{
	if (row === undefined || row === null)
		return null;
	const content = rows?.[row];
	return html`<div class="failing-row"><span class="small">Row ${row + 1}</span><code class="break">${content === undefined ? '-' : (typeof content === 'string' ? content : JSON.stringify(content)).slice(0, 2000)}</code></div>`;
}

function Result({ result, rows })
{
	const { groups = [], found = [] } = result.details ?? {};
	// Groups are those for which it fires; where there is none, what was found says why.
	const values = [...groups, ...found].slice(0, 5).map((one) => `${groupText(one.groupKey) || 'value'}: ${valueText(one.value)}`).join(', ');
	return html`<div class=${`notice ${result.passed ? 'notice-ok' : 'notice-danger'}`}><${Icon} name=${result.passed ? 'check' : 'alert'} /><div class="stack-s grow">
		<p><strong>${result.passed ? 'Passed' : 'Failed'}</strong>${result.passed ? '' : html`: expected ${result.expected?.firing ? 'to fire' : result.expected?.firing === false ? 'to stay silent' : JSON.stringify(result.expected)},
			but ${result.got?.firing ? 'it fires' : result.got?.firing === false ? 'it does not' : JSON.stringify(result.got)}`}</p>
		${values && html`<p class="small break">${groups.length ? '' : 'Found '}${values}</p>`}
		${!result.passed && html`<${FailingRow} row=${result.row} rows=${rows} />`}
		${result.details?.error && html`<p class="small break">${typeof result.details.error === 'string' ? result.details.error : result.details.error.message}</p>`}
	</div></div>`;
}

function TestEditor({ test, at, result, onInput, onRemove, errorAt, query })
{
	const [text, setText] = useState(textOf(test.rows));
	const [wrong, setWrong] = useState('');
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState(null);
	const judged = test.expect.criteria !== undefined && test.expect.criteria !== null;
	function write(next)
	{
		setText(next);
		try {
			onInput({ ...test, rows: rowsOf(next) });
			setWrong('');
		} catch (caught) {
			setWrong(caught.message);
		}
	}
	async function takeEvents()
	{
		setBusy(true);
		setError(null);
		try {
			const { data } = await api.post('/api/v1/search', { q: query, limit: 20 }, { reads: true });
			if (data.kind !== 'events')
				setWrong('The query makes a table: events cannot be taken from it.');
			else if (!data.rows.length)
				setWrong('No event of the last day matches the query.');
			else
				write(textOf(data.rows.map(({ id, ingestedAt, templateId, truncatedFields, ...row }) => row)));
		} catch (caught) {
			setError(caught);
		}
		setBusy(false);
	}
	return html`<fieldset class="rule-test"><legend class="visually-hidden">Test ${at + 1}</legend>
		<div class="rule-test-head"><div class="grow"><${Field} label="Name" value=${test.name} error=${errorAt(`tests[${at}].name`)} maxlength="200" onInput=${(name) => onInput({ ...test, name })} /></div>
			${!judged && html`<${Select} label="The rule" value=${test.expect.firing === false ? 'silent' : 'fires'} options=${[{ value: 'fires', label: 'fires' }, { value: 'silent', label: 'stays silent' }]}
				onInput=${(value) => onInput({ ...test, expect: { ...test.expect, firing: value === 'fires' } })} />`}
			<${IconButton} icon="trash" label=${`Remove test ${test.name || at + 1}`} onClick=${onRemove} /></div>
		${test.savedQueryId ? html`<p class="muted">Its rows are what saved query <code>${test.savedQueryId}</code> finds when the test runs.</p>`
			: html`<${TextArea} label="Rows" class="input mono rule-test-rows" rows=${Math.min(12, Math.max(3, text.split('\n').length))} spellcheck=${false} value=${text} error=${wrong || errorAt(`tests[${at}].rows`)}
				hint="A line each: an event as it is sent, or a text. timestamp may be relative: -2m." onInput=${write} />
			<div class="row"><${Button} size="small" icon="download" busy=${busy} onClick=${takeEvents} reason=${query?.trim() ? undefined : 'Write a query first'}>Use the last 20 events of the query<//></div>`}
		${judged && html`<${TextArea} label="Criteria, judged by the evaluator" value=${test.expect.criteria} onInput=${(criteria) => onInput({ ...test, expect: { ...test.expect, criteria } })} />`}
		<${ErrorNotice} error=${error} retry=${takeEvents} />
		${result && html`<${Result} result=${result} rows=${test.rows} />`}</fieldset>`;
}

/** The tests. rule: the draft; query: its text; set changes the draft; failing: what the service said when it was enabled. */
export function RuleTests({ rule, query, set, errorAt, mayRun })
{
	const [state, setState] = useState({});
	const tests = rule.tests ?? [];
	// Results are of the rule that was tested.
	const asked = JSON.stringify([rule.query, rule.condition, rule.schedule, rule.groupBy, tests]);
	const items = useItemKeys(tests.length);
	const results = state.asked === asked ? state.results : null;
	async function run()
	{
		setState({ busy: true });
		try {
			const { notify, tests: ours, name, ...tested } = rule;
			const { data } = await api.post('/api/v1/alert-rules/test', { rule: { ...tested, ...(name.trim() && { name }), requireTests: false, enabled: false }, tests: ours }, { reads: true });
			setState({ asked, results: data.tests });
		} catch (error) {
			setState({ error });
		}
	}
	const failed = results?.filter((one) => !one.passed).length;
	return html`<section class="card stack" aria-labelledby="tests-title" id="tests">
		<div class="row-between"><h2 id="tests-title" class="row">Tests ${results && html`<${Badge} kind=${failed ? 'danger' : 'ok'} dot>${failed ? `${failed} of ${results.length} fail` : results.length === 1 ? 'it passes' : `all ${results.length} pass`}<//>`}</h2>
			${tests.length > 0 && mayRun && html`<${Button} icon="flask" busy=${state.busy} onClick=${run}>Run tests<//>`}</div>
		<p class="muted">A rule is code: a change of its query, or of a log line, can make it silent. Tests run the real search over rows of your own; nothing is stored.</p>
		<${ErrorNotice} error=${state.error} retry=${run} />
		${tests.map((test, at) => html`<${TestEditor} key=${items.keys[at]} at=${at} test=${test} query=${query} result=${results?.[at]} errorAt=${errorAt}
			onInput=${(next) => set((now) => ({ tests: now.tests.map((one, index) => (index === at ? next : one)) }))}
			onRemove=${() => {
				items.remove(at);
				set((now) => ({ tests: now.tests.filter((_, index) => index !== at) }));
			}} />`)}
		${tests.length < 50 && html`<div class="row"><${Button} size="small" icon="plus" onClick=${() => set((now) => ({ tests: [...now.tests, { name: `test ${now.tests.length + 1}`, rows: [], expect: { firing: true } }] }))}>Add a test<//></div>`}
		<${Checkbox} label="The rule cannot be enabled while a test fails" hint="Also not changed while it is enabled; and it needs at least one test." checked=${rule.requireTests}
			onInput=${(requireTests) => set({ requireTests })} />
		${errorAt('tests') && html`<p class="field-error"><${Icon} name="alert" /><span>${errorAt('tests')}</span></p>`}
	</section>`;
}
