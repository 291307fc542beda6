/*
 * query-box.js: where a query is written: a text area over the same text in colours, suggestions at the caret, and what
 * is wrong under the word that is wrong.
 */
import { html, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from '../view.js';
import { isAbort } from '../api.js';
import { Button } from '../ui/button.js';
import { CopyButton } from '../ui/copy-button.js';
import { Icon } from '../ui/icon.js';
import { later } from '../ui/later.js';
import { apple } from '../shell/keys.js';
import { fixOf, validate } from './query-check.js';
import { rangeOf } from './code-points.js';
import { tokensOf } from './query-text.js';

// Suggestions are loaded when somebody begins to write.
let completion = null;
const loadCompletion = () => later(() => import('./completion.js')).then((module) => { completion = module; }, () => {});

const idle = 500; // ms without a key after which the query is checked.

/** The text in pieces of one colour: {text, kind, wrong}. */
export function piecesOf(text, wrong)
{
	const pieces = [];
	for (const token of tokensOf(text)) {
		const cuts = [token.start, ...(wrong ? [wrong.start, wrong.end].filter((at) => at > token.start && at < token.end) : []), token.end];
		for (let i = 0; i + 1 < cuts.length; i++)
			pieces.push({ text: text.slice(cuts[i], cuts[i + 1]), kind: token.kind, wrong: Boolean(wrong && cuts[i] >= wrong.start && cuts[i] < wrong.end) });
	}
	return pieces;
}

// Where a list of some width goes, so that it begins at a character of the coloured text: relative to the box of the text.
function placeOf(pre, offset, width)
{
	const walker = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
	let left = offset;
	for (let node = walker.nextNode(); node; node = walker.nextNode()) {
		if (left <= node.length) {
			const range = document.createRange();
			range.setStart(node, left);
			range.setEnd(node, left);
			const box = pre.getBoundingClientRect();
			const at = range.getClientRects()[0];
			// A list at the right edge would be cut off.
			return at ? { left: Math.max(0, Math.min(at.left - box.left, box.width - width)), top: at.bottom - box.top } : null;
		}
		left -= node.length;
	}
	return null;
}

/** Fields and values for a context, from the service; known ones at once. */
function useFound(context, range, known)
{
	const assist = useRef(null);
	const [found, setFound] = useState({ fields: known, values: [], key: '' });
	const key = context ? `${context.kind} ${context.field ?? ''} ${context.kind === 'value' ? context.prefix : ''}` : '';
	useEffect(() => {
		if (!context || context.kind === 'stage' || context.kind === 'operator')
			return undefined;
		const control = new AbortController();
		assist.current ??= new completion.Assist();
		assist.current.setRange(range);
		const ask = context.kind === 'value' ? () => assist.current.listValues(context.field, context.prefix, control.signal).then((answer) => ({ values: answer.values, complete: answer.complete }))
			: () => assist.current.listFields().then((fields) => ({ fields }));
		const timer = setTimeout(() => ask().then((more) => {
			if (!control.signal.aborted)
				setFound((now) => ({ ...now, ...more, key }));
		}, (error) => {
			// Without suggestions a query can be written as well.
			if (!isAbort(error))
				setFound((now) => ({ ...now, values: [], key }));
		}), context.kind === 'value' ? 120 : 0);
		return () => {
			clearTimeout(timer);
			control.abort();
		};
	}, [key]);
	return { fields: found.fields.length ? found.fields : known, values: found.key === key || found.key.startsWith(`value ${context?.field} `) ? found.values : [] };
}

function Problem({ id, problem, fix, onFix })
{
	const place = problem.position && (problem.position.line > 1 ? `Line ${problem.position.line}, character ${problem.position.column}: ` : `Character ${problem.position.column}: `);
	const reference = [problem.code, problem.requestId].filter(Boolean).join(' ');
	return html`<div class="query-problem" id=${id}>
		<${Icon} name="alert" /><span class="break">${place}${problem.message}${problem.hint && !fix ? `; ${problem.hint}` : ''}</span>
		${fix && html`<${Button} size="small" onClick=${onFix} class="query-fix"><span class="truncate">${fix.whole ? 'Use ' : 'Change to '}<code>${fix.label}</code></span> <kbd>${apple ? '⌘' : 'Ctrl'} .</kbd><//>`}
		${reference && html`<span class="query-reference faint"><code>${problem.code}</code><${CopyButton} text=${reference} label="Copy code and request id" compact /></span>`}</div>`;
}

/**
 * The box. text and onInput: the query; onRun(): Enter; problem: what a search found wrong with `problem.query`
 * ({message, position, hint, suggestion, code, requestId}); range: {earliest, latest}; fields: those of the last search;
 * control: gets {focus()}.
 */
export function QueryBox({ text, onInput, onRun, problem, range, fields, control })
{
	const id = useId();
	const area = useRef(null);
	const pre = useRef(null);
	const list = useRef(null);
	const [context, setContext] = useState(null);
	const [active, setActive] = useState(-1);
	const [checked, setChecked] = useState(null);
	const [place, setPlace] = useState(null);
	const [focused, setFocused] = useState(false);
	const caret = useRef(null);
	const found = useFound(context, range, fields);
	const items = useMemo(() => {
		const all = context ? completion.suggestions(context, found) : [];
		// What is written already need not be offered.
		return all.length === 1 && all[0].label === context.prefix ? [] : all;
	}, [context, found.fields, found.values]);
	const open = items.length > 0;

	const own = problem && problem.query === text ? problem : checked?.query === text ? checked : null;
	// Half a query is no error while it is being written.
	const shown = own && (own === problem || !focused || own.position?.offset < [...text].length - 1) ? own : null;
	const wrong = shown?.position && text ? rangeOf(text, shown.position) : null;
	const fix = shown && fixOf(text, shown, rangeOf);
	const pieces = useMemo(() => piecesOf(text, wrong), [text, wrong?.start, wrong?.end]);

	useEffect(() => {
		if (!text.trim() || (problem && problem.query === text)) {
			setChecked(null);
			return undefined;
		}
		const abort = new AbortController();
		const timer = setTimeout(() => validate(text, abort.signal).then((answer) => setChecked(answer.valid ? null : { ...answer.errors[0], query: text }),
			// It is only a help: the search itself says what is wrong.
			() => setChecked(null)), idle);
		return () => {
			clearTimeout(timer);
			abort.abort();
		};
	}, [text]);
	useLayoutEffect(() => {
		if (caret.current === null)
			return;
		area.current.setSelectionRange(caret.current, caret.current);
		caret.current = null;
	}, [text]);
	useLayoutEffect(() => { setPlace(open ? placeOf(pre.current, context.from, list.current?.offsetWidth ?? 0) : null); }, [open, items.length, items[0]?.label, context?.from, text]);
	useEffect(() => { list.current?.children[active]?.scrollIntoView({ block: 'nearest' }); }, [active]);
	if (control)
		control.current = { focus: () => area.current?.focus() };

	const shut = () => {
		setContext(null);
		setActive(-1);
	};
	function look(always)
	{
		if (!completion) {
			loadCompletion().then(() => { if (completion && area.current === document.activeElement) look(always); });
			return;
		}
		const at = area.current.selectionStart;
		const next = at === area.current.selectionEnd ? completion.contextAt(area.current.value, at) : null;
		setActive(-1);
		const wanted = next && (always || next.prefix !== '' || ['value', 'stage'].includes(next.kind) || (next.kind === 'field' && /\s$/.test(area.current.value.slice(0, at))));
		setContext(wanted ? next : null);
	}
	function accept(item)
	{
		const quote = context.quoted && item.insert.startsWith('"') ? '' : context.quoted ? '"' : '';
		const insert = `${quote}${item.insert}${quote}`;
		caret.current = context.from + insert.length;
		onInput(text.slice(0, context.from) + insert + text.slice(context.to));
		shut();
		if (item.more)
			setTimeout(() => area.current && look(true));
		area.current.focus();
	}
	function applyFix()
	{
		caret.current = fix.whole ? fix.text.length : fix.text.length - (text.length - wrong.end);
		onInput(fix.text);
		area.current.focus();
	}
	function onKey(event)
	{
		if (event.isComposing)
			return;
		const mod = apple ? event.metaKey : event.ctrlKey;
		if (mod && event.key === '.' && fix) {
			event.preventDefault();
			applyFix();
		} else if (event.ctrlKey && event.key === ' ') {
			event.preventDefault();
			look(true);
		} else if (open && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
			event.preventDefault();
			const step = event.key === 'ArrowDown' ? 1 : -1;
			setActive((now) => (now < 0 ? (step > 0 ? 0 : items.length - 1) : (now + step + items.length) % items.length));
		} else if (open && event.key === 'Tab' && !event.shiftKey) {
			event.preventDefault();
			accept(items[Math.max(0, active)]);
		} else if (open && event.key === 'Escape') {
			event.preventDefault();
			event.stopPropagation();
			shut();
		} else if (event.key === 'Enter' && !event.shiftKey) {
			event.preventDefault();
			if (open && active >= 0 && !mod)
				accept(items[active]);
			else {
				shut();
				onRun();
			}
		}
	}
	return html`<div class=${`query ${shown ? 'is-wrong' : ''}`}>
		<div class="query-frame"><div class="query-texts">
			<pre class="query-colors" aria-hidden="true" ref=${pre}>${pieces.map((one, index) => html`<span key=${index} class=${`q-${one.kind} ${one.wrong ? 'q-wrong' : ''}`}>${one.text}</span>`)}${'\n'}</pre>
			<textarea class="query-area" ref=${area} rows="1" value=${text} aria-label="Search query" placeholder=${'Search events: words, level=error, | stats count by service'}
				spellcheck=${false} autocomplete="off" autocapitalize="off" autocorrect="off" aria-haspopup="listbox" aria-autocomplete="list" aria-controls=${open ? `${id}-list` : undefined}
				aria-activedescendant=${open && active >= 0 ? `${id}-${active}` : undefined} aria-invalid=${shown ? 'true' : undefined} aria-describedby=${shown ? `${id}-problem` : undefined}
				onInput=${(event) => { onInput(event.currentTarget.value); look(false); }} onKeyDown=${onKey} onFocus=${() => { setFocused(true); loadCompletion(); }}
				onClick=${shut} onBlur=${() => { setFocused(false); shut(); }}></textarea></div></div>
		${open && html`<ul class="listbox query-list" id=${`${id}-list`} role="listbox" aria-label="Suggestions" ref=${list}
			style=${place ? { left: `${place.left}px`, top: `${place.top + 10}px` } : undefined}>
			${items.map((one, index) => html`<li key=${one.label} id=${`${id}-${index}`} role="option" aria-selected=${index === active ? 'true' : 'false'}
				onMouseDown=${(event) => event.preventDefault()} onClick=${() => accept(one)}><span class="grow truncate mono"><bdi>${one.label}</bdi></span><span class="faint small">${one.hint}</span></li>`)}</ul>`}
		<span class="visually-hidden" role="status">${open ? `${items.length} suggestions` : ''}</span>
		<div role="alert">${shown && html`<${Problem} id=${`${id}-problem`} problem=${shown} fix=${fix} onFix=${applyFix} />`}</div>
	</div>`;
}
