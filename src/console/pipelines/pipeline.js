/*
 * pipeline.js: the editor of a pipeline: samples at the left, processors in their order, what each does to the sample.
 */
import { html, useRef, useState } from '../view.js';
import { api } from '../api.js';
import { navigate } from '../router.js';
import { can, orgPath } from '../session.js';
import { useKeys } from '../shell/keys.js';
import { Attention } from '../ui/attention.js';
import { Badge } from '../ui/badge.js';
import { Button, IconButton } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Checkbox, Field } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { Menu } from '../ui/menu.js';
import { usePlanLimit } from '../ui/plan-limit.js';
import { Skeleton } from '../ui/skeleton.js';
import { Sortable, moved, useItemKeys } from '../ui/sortable.js';
import { toast } from '../ui/toast.js';
import { useDraft } from '../ui/use-draft.js';
import { useLoad } from '../ui/use-load.js';
import { useSave } from '../ui/use-save.js';
import { Counters } from './counters.js';
import { deletePipeline } from './pipeline-actions.js';
import { ProcessorEditor } from './processor-editor.js';
import { processorTypes, typeOf } from './processor-types.js';
import { Samples, readSamples } from './samples.js';
import { Changes, StepResult, StepSummary } from './step-result.js';
import { usePipelineTest } from './use-pipeline-test.js';

const fresh = { name: '', enabled: true, continue: false, match: '*', processors: [] };
// An event to begin with, one that a simple match finds.
const exampleOf = (match) => JSON.stringify({ event: 'payment of ann@example.com from 10.0.0.7 refused', level: 'error', service: 'checkout',
	...Object.fromEntries([...match.matchAll(/(?:^| )(service|source|level)=([\w.-]+)/g)].map(([, name, value]) => [name, value])) });

const known = (processor) => Object.fromEntries(Object.entries(processor).filter(([, value]) => value !== null));
const pick = (pipeline) => ({ name: pipeline.name, enabled: pipeline.enabled, continue: pipeline.continue, match: pipeline.match, processors: pipeline.processors.map(known) });

function Warnings({ list })
{
	return list.map((one) => html`<div key=${one.pipelineId + one.message} class="notice notice-warn"><${Icon} name="shield" /><div class="grow"><strong>${one.pipelineId ? 'Masks do not run' : 'The filter may match nothing'}</strong>
		<p class="break">${one.message.charAt(0).toUpperCase() + one.message.slice(1)}. ${one.pipelineId && html`<a href=${orgPath(`/pipelines/${one.pipelineId}`)}>Open it</a>`}</p></div></div>`);
}

function Processor({ processor, at, controls, onInput, onRemove, onCopy, told, refused, steps, chosen, counts, fixed, matched, isNew })
{
	const type = typeOf(processor.type);
	const [typed, setTyped] = useState(!isNew);
	const errorAt = (name) => (typed || refused ? told(name) : undefined);
	const wrong = ['', 'field', 'pattern', 'filter', 'if', 'to', 'from', 'fields', 'value', 'rate', 'perMinute', 'index', 'preset', 'key', 'format', 'target'].some((name) => errorAt(name));
	const [open, setOpen] = useState(isNew);
	const shown = open || wrong;
	return html`<article class=${`card pipe-step ${wrong ? 'is-wrong' : ''}`} aria-label=${`Processor ${at + 1}: ${type.label}`}>
		<header class="pipe-step-head">${controls}
			<button type="button" class="pipe-step-title grow" aria-expanded=${shown ? 'true' : 'false'} onClick=${() => setOpen(!open)}>
				<span class="muted number">${at + 1}</span><strong>${type.label}</strong><code class="truncate">${type.summary(processor)}</code>${processor.if && html`<span class="small muted truncate">if ${processor.if}</span>`}</button>
			<${StepSummary} steps=${steps} />${counts && html`<${Counters} counts=${counts} small />`}
			${!fixed && html`<${Menu} icon="more" size="small" label=${`Actions of processor ${at + 1}`} items=${[{ label: 'Duplicate', icon: 'copy', onSelect: onCopy }, { label: 'Remove', icon: 'trash', danger: true, onSelect: onRemove }]} />`}</header>
		${shown && html`<fieldset disabled=${fixed}><legend class="visually-hidden">${type.label}</legend><${ProcessorEditor} processor=${processor} onInput=${(next) => { setTyped(true); onInput(next); }} errorAt=${errorAt} /></fieldset>`}
		${chosen !== undefined && html`<div class="pipe-step-result"><${StepResult} step=${chosen} matched=${matched} /></div>`}</article>`;
}

function Editor({ stored, start, onChange })
{
	const draft = useDraft(start);
	const { value } = draft;
	const [pipeline, setPipeline] = useState(stored);
	const { set, save: store, busy, error, setError } = useSave({ what: 'pipeline', path: '/api/v1/pipelines', screen: '/pipelines', stored: pipeline, draft, pick, take });
	const [samples, setSamples] = useState(() => exampleOf(start.match));
	const [chosen, setChosen] = useState(0);
	const keys = useItemKeys(value.processors.length);
	const first = useRef(value.processors.length);
	const limit = usePlanLimit('pipelines', 'pipelines');
	const write = can('pipelines:manage');
	const { events = [], wrong } = readSamples(samples);
	const at = Math.min(chosen, Math.max(0, events.length - 1));
	// Of a draft, the match may be empty for a moment.
	const test = usePipelineTest({ ...value, name: value.name || 'test', match: value.match.trim() || '*', enabled: true, ...(pipeline && { order: pipeline.order }) }, events, write);
	const told = error ?? test.error;
	const errorAt = (path) => {
		const text = told?.fields?.[path] ?? test.error?.fields?.[`pipeline.${path}`];
		return text ? text.charAt(0).toUpperCase() + text.slice(1) : undefined;
	};
	// What is wrong with a member is told at its field.
	const paths = Object.keys(test.error?.fields ?? {});
	const placed = paths.length > 0 && paths.every((one) => /^(pipeline\.)?(processors\[|match|name)/.test(one));
	const result = test.results?.[at];
	const stepOf = (one, index) => one?.steps.find((step) => step.processor === index) ?? null;
	// The test takes it as enabled, so that it does something; one that is not keeps nothing from masks.
	const warnings = !value.enabled ? [] : [...(test.fresh && test.warnings ? test.warnings : pipeline?.warnings ?? [])].filter((one) => one.pipelineId !== pipeline?.id);
	const put = (index, processor) => set((now) => ({ processors: now.processors.map((one, place) => (place === index ? processor : one)) }));
	const add = (type) => set((now) => ({ processors: [...now.processors, { type: type.type, ...structuredClone(type.make) }] }));

	function take(after)
	{
		setPipeline(after);
		onChange?.(after);
		draft.settle(pick(after));
	}
	const save = () => write && store({
		body: (one) => ({ ...one, match: one.match.trim() || '*' }),
		made: (data) => toast(`${data.name} is saved${data.enabled ? ': it acts on the next request' : ''}.`),
		saved: (data, before) => toast('Saved. It acts on the next request.',
			{ undo: async () => take((await api.patch(`/api/v1/pipelines/${data.id}`, before, { headers: { 'If-Match': `"${data.version}"` } })).data) }),
	});
	useKeys(write ? [{ keys: 'mod+s', text: 'Save', run: save }, { keys: 'mod+Enter', text: 'Test the samples again', run: test.again }] : []);
	const counts = !draft.dirty && pipeline?.stats;

	return html`<div class="editor stack">
		<${Warnings} list=${warnings} />
		<div class="pipe-columns">
			${write && html`<${Samples} text=${samples} onText=${setSamples} events=${events} wrong=${wrong} results=${test.results} chosen=${at} onChoose=${setChosen} match=${value.match} />`}
			<div class="stack grow">
				<fieldset class="card stack" disabled=${!write}><legend class="visually-hidden">The pipeline</legend>
					<div class="field-grid"><${Field} label="Name" name="pipeline-name" maxlength="200" required value=${value.name} error=${errorAt('name')} onInput=${(name) => set({ name })} data-autofocus=${!pipeline} />
						<${Field} label="Events that match" class="input mono" spellcheck=${false} value=${value.match} error=${errorAt('match')} onInput=${(match) => set({ match })} hint="A filter, such as service=checkout; * is all." /></div>
					<${Checkbox} label="Events go on to the next pipeline that matches" hint="Without it this is the only pipeline that runs for its events. Masks belong first, with this on." checked=${value.continue} onInput=${(next) => set({ continue: next })} />
					<${Checkbox} label="Enabled" checked=${value.enabled} onInput=${(enabled) => set({ enabled })} />
					${counts && html`<${Counters} counts=${counts} since=${counts.since} />`}</fieldset>
				${test.error && !placed && html`<${ErrorNotice} error=${test.error} retry=${test.again} title="The test could not run" />`}
				${test.problems?.map((one) => html`<p key=${one.index} class="notice notice-warn break">Event ${one.index + 1}: ${one.message}</p>`)}
				<h2 class="row">Processors ${test.busy && html`<span class="small muted" role="status">testing</span>`}</h2>
				${result && result.shadowedMasks.length > 0 && html`<p class="notice notice-warn">Masks of other pipelines would not run for this event.</p>`}
				<${Sortable} label="Processors, in their order" items=${value.processors} keyOf=${(one) => keys.keys[value.processors.indexOf(one)]} fixed=${!write}
					nameOf=${(one, index) => `processor ${index + 1}, ${typeOf(one.type).label}`}
					onMove=${(from, to) => { keys.move(from, to); set((now) => ({ processors: moved(now.processors, from, to) })); }}
					render=${(one, index, controls) => html`<${Processor} processor=${one} at=${index} controls=${controls} fixed=${!write} isNew=${index >= first.current} onInput=${(next) => put(index, next)}
						onRemove=${() => {
							keys.remove(index);
							set((now) => ({ processors: now.processors.filter((_, place) => place !== index) }));
							toast('Processor removed.', { undo: () => set((now) => ({ processors: [...now.processors.slice(0, index), one, ...now.processors.slice(index)] })) });
						}}
						onCopy=${() => set((now) => ({ processors: [...now.processors, structuredClone(one)] }))}
						told=${(name) => errorAt(`processors[${index}]${name && `.${name}`}`)} refused=${Boolean(error)} counts=${counts?.processors?.[index]}
						steps=${(test.results ?? []).map((each) => stepOf(each, index))} chosen=${result ? stepOf(result, index) : undefined} matched=${result?.matched.length > 0} />`} />
				${value.processors.length === 0 && html`<p class="muted">No processor: a pipeline without any keeps its events as they are, and keeps them from later pipelines.</p>`}
				${write && value.processors.length < 50 && html`<div><${Menu} label="Add a processor" align="start" drop="up" items=${[...new Set(processorTypes.map((one) => one.group))].flatMap((group) => [
					{ heading: group }, ...processorTypes.filter((one) => one.group === group).map((one) => ({ label: one.label, hint: one.hint, onSelect: () => add(one) }))])} /></div>`}
				${result && value.processors.length > 0 && html`<section class="card stack" aria-labelledby="whole-title"><div class="row-between"><h2 id="whole-title">From first to last</h2>
					<span class="row">${result.dropped ? html`<${Badge} kind="danger">dropped<//>` : html`<${Badge} kind="ok">stored<//>`}<span class="small muted">${result.microseconds.toFixed(1)} µs</span></span></div>
					${result.dropped ? html`<p class="muted">The event is accepted, and stored nowhere.</p>` : html`<${Changes} before=${result.before} after=${result.after} />`}</section>`}
			</div></div>
		<${Attention} of=${error}><${ErrorNotice} error=${error} title="It was not saved" /><//>
		${write && html`<div class="save-bar"><p class="grow small muted">A change acts on the next request after it is saved.</p><div class="row">
			${pipeline && draft.dirty && html`<${Button} onClick=${() => { draft.settle(draft.base); setError(null); }}>Discard<//>`}
			<${Button} kind="primary" busy=${Boolean(busy)} reason=${pipeline ? undefined : limit.reason} disabled=${Boolean(pipeline) && !draft.dirty} onClick=${save}>Save<//></div></div>`}
	</div>`;
}

function Head({ title, pipeline })
{
	return html`<header class="page-head"><div><p class="crumb small"><a href=${orgPath('/pipelines')}>Pipelines</a></p><h1 class="break">${title}</h1>
			${pipeline && html`<p class="row"><${Badge} kind=${pipeline.enabled ? 'ok' : 'neutral'} dot>${pipeline.enabled ? 'enabled' : 'disabled'}<//><span>place ${pipeline.order}, version ${pipeline.version}</span></p>`}</div>
		${pipeline && can('pipelines:manage') && html`<${IconButton} kind="default" icon="trash" label="Delete this pipeline" onClick=${async () => { if (await deletePipeline(pipeline)) navigate(orgPath('/pipelines')); }} />`}</header>`;
}

function Stored({ id })
{
	const load = useLoad(async (abort) => (await api.get(`/api/v1/pipelines/${id}`, { abort })).data, [id]);
	return html`<div class="page page-wide"><${Head} title=${load.data?.name ?? 'Pipeline'} pipeline=${load.data} />
		<${ErrorNotice} error=${load.error} retry=${load.reload} />${load.slow && html`<${Skeleton} lines="10" />`}
		${load.data && html`<${Editor} stored=${load.data} start=${pick(load.data)} onChange=${load.set} />`}</div>`;
}

export default function Pipeline({ params })
{
	return params.id ? html`<${Stored} key=${params.id} id=${params.id} />`
		: html`<div class="page page-wide"><${Head} title="New pipeline" />${can('pipelines:manage') ? html`<${Editor} start=${fresh} />` : html`<p class="muted">Your role does not change pipelines.</p>`}</div>`;
}
