/*
 * query-field.js: a query in a form, checked while it is written, with the place of what is wrong.
 */
import { html, useEffect, useState } from '../view.js';
import { api } from '../api.js';
import { Button } from './button.js';
import { FieldFrame } from './field.js';
import { utf16Offset } from '../search/code-points.js';

function Problem({ query, problem, onInput })
{
	const { position, hint, suggestion } = problem;
	const from = position ? utf16Offset(query, position.offset) : 0;
	const to = position ? utf16Offset(query, position.offset + Math.max(position.length ?? 1, 1)) : 0;
	return html`<div class="query-check" role="status">
		${position && html`<code class="break">${query.slice(Math.max(0, from - 24), from)}<mark>${query.slice(from, to) || ' '}</mark>${query.slice(to, to + 24)}</code>`}
		<span>${problem.message}${hint ? `; ${hint}` : ''}</span>
		${suggestion && suggestion !== query && html`<${Button} size="small" onClick=${() => onInput(suggestion)}>Use <code class="truncate">${suggestion}</code><//>`}
	</div>`;
}

/**
 * A field for a query. onInput gets the text; onRun is called for Ctrl+Enter. error: what the service said when it was
 * saved. It asks the service 400 ms after the last key whether the query is valid; that runs nothing.
 */
export function QueryField({ label, hint, value, onInput, onRun, error, rows = 2, name, hideLabel, autofocus })
{
	const [problem, setProblem] = useState(null);
	useEffect(() => {
		setProblem(null);
		if (!value?.trim())
			return undefined;
		const control = new AbortController();
		const timer = setTimeout(() => api.post('/api/v1/search/validate', { q: value }, { abort: control.signal, reads: true })
			.then(({ data }) => setProblem(data.errors?.[0] ?? data.warnings?.find((one) => one.suggestion) ?? null), () => {}), 400);
		return () => {
			clearTimeout(timer);
			control.abort();
		};
	}, [value]);
	return html`<div class="stack-s"><${FieldFrame} label=${label} hint=${hint} error=${error} hideLabel=${hideLabel}>${(control) => html`
		<textarea class="input mono" ...${control} name=${name} rows=${rows} spellcheck=${false} autocapitalize="off" autocomplete="off" data-autofocus=${autofocus}
			value=${value ?? ''} onInput=${(event) => onInput(event.currentTarget.value)} onKeyDown=${(event) => {
				if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && onRun) {
					event.preventDefault();
					onRun();
				}
			}}></textarea>`}<//>
		${problem && html`<${Problem} query=${value} problem=${problem} onInput=${onInput} />`}</div>`;
}
