/*
 * samples.js: the events that a pipeline is tried on, and what became of each.
 */
import { html, useRef, useState } from '../view.js';
import { api } from '../api.js';
import { can } from '../session.js';
import { Badge } from '../ui/badge.js';
import { Button } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { TextArea } from '../ui/field.js';
import { rowsOf, textOf } from '../alerts/rule-tests.js';

const most = 100;

/** Events of a text: a line each. Answers {events} or {wrong}. */
export function readSamples(text)
{
	try {
		const events = rowsOf(text);
		if (events.length > most)
			return { wrong: `At most ${most} events.` };
		return { events };
	} catch (error) {
		return { wrong: error.message };
	}
}

function outcome(result, failed)
{
	if (!result)
		return null;
	if (!result.matched.length)
		return html`<${Badge}>no match<//>`;
	if (failed)
		return html`<${Badge} kind="danger">failed<//>`;
	return result.dropped ? html`<${Badge} kind="danger">dropped<//>` : html`<${Badge} kind="ok">kept<//>`;
}

const summary = (event) => (typeof event === 'string' ? event : event?.event ?? JSON.stringify(event)).slice(0, 200);

/** The samples. text and onText: the field; results: of the test, one for each event; chosen and onChoose: whose steps are shown. */
export function Samples({ text, onText, events, wrong, results, chosen, onChoose, match })
{
	const [busy, setBusy] = useState('');
	const [error, setError] = useState(null);
	const [none, setNone] = useState('');
	const last = useRef(null);
	async function take(kind)
	{
		last.current = () => take(kind);
		setBusy(kind);
		setError(null);
		setNone('');
		try {
			const rows = kind === 'last'
				? (await api.post('/api/v1/pipelines/test', {}, { query: { last: 20 }, reads: true })).data.events.map((one) => one.before)
				: (await api.post('/api/v1/search', { q: match || '*', limit: 20 }, { reads: true })).data.rows.map(({ id, ingestedAt, templateId, truncatedFields, ...row }) => row);
			if (rows.length)
				onText(textOf(rows));
			else
				setNone(kind === 'last' ? 'There was no event in the last day.' : 'No event of the last day matches.');
		} catch (caught) {
			setError(caught);
		}
		setBusy('');
	}
	const list = useRef(null);
	return html`<section class="card stack pipe-samples" aria-labelledby="samples-title"><h2 id="samples-title">Sample events</h2>
		${can('logs:read') && html`<div class="row"><${Button} size="small" icon="download" busy=${busy === 'last'} onClick=${() => take('last')}>Use last 20 events<//>
			<${Button} size="small" busy=${busy === 'match'} onClick=${() => take('match')}>Last 20 that match<//></div>`}
		<${TextArea} label="Events, a line each: JSON or a text" class="input mono rule-test-rows" rows="6" spellcheck=${false} value=${text} error=${wrong} onInput=${onText} />
		${none && html`<p class="small muted" role="status">${none}</p>`}
		<${ErrorNotice} error=${error} retry=${() => last.current()} />
		${events.length > 0 && html`<div class="pipe-sample-list" role="radiogroup" aria-label="Whose steps are shown" ref=${list} onKeyDown=${(event) => {
			const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, Home: 0, End: events.length - 1 }[event.key];
			if (to === undefined || to < 0 || to >= events.length)
				return;
			event.preventDefault();
			onChoose(to);
			list.current.children[to].focus();
		}}>${events.map((event, at) => html`<button type="button" key=${at} role="radio" aria-checked=${at === chosen ? 'true' : 'false'} tabindex=${at === chosen ? 0 : -1} class="pipe-sample" onClick=${() => onChoose(at)}>
			<span class="grow truncate mono small">${summary(event)}</span>${outcome(results?.[at], results?.[at]?.steps.some((one) => one.failure))}</button>`)}</div>`}
	</section>`;
}
