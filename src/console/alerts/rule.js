/*
 * rule.js: the editor of an alert rule: query, preview, condition, channels, tests.
 */
import { html, useEffect, useState } from '../view.js';
import { allRows, api } from '../api.js';
import { address, navigate, query, setQuery } from '../router.js';
import { can, orgPath } from '../session.js';
import { useKeys } from '../shell/keys.js';
import { Attention } from '../ui/attention.js';
import { Button, LinkButton } from '../ui/button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, Select, TextArea } from '../ui/field.js';
import { Menu } from '../ui/menu.js';
import { usePlanLimit } from '../ui/plan-limit.js';
import { QueryField } from '../ui/query-field.js';
import { Skeleton } from '../ui/skeleton.js';
import { Tabs } from '../ui/tabs.js';
import { RelativeTime } from '../ui/time.js';
import { toast } from '../ui/toast.js';
import { useDraft } from '../ui/use-draft.js';
import { useLoad } from '../ui/use-load.js';
import { useSave } from '../ui/use-save.js';
import { ChannelTest, Channels, showSecrets } from './channels.js';
import { ConditionSentence } from './condition.js';
import { Deliveries } from './deliveries.js';
import { LabelEditor } from './labels.js';
import { PreviewPanel } from './preview-panel.js';
import { FailingTests, deleteRule, setEnabled } from './rule-actions.js';
import { RuleTests } from './rule-tests.js';
import { sentenceOf } from './sentence.js';
import { RuleState } from './states.js';

const fresh = { name: '', description: null, enabled: true, query: '', savedQueryId: null, schedule: { everySeconds: 60, lookback: '5m', delaySeconds: 0 },
	condition: { kind: 'count', op: '>', threshold: 0, forSeconds: 0 }, groupBy: [], severity: 'warning', notify: [], repeatSeconds: null, labels: {}, runbookUrl: null,
	tests: [], requireTests: false };

const withoutNulls = (value) => Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));

/** The members of a rule that the editor changes. */
function pick(rule)
{
	const known = Object.fromEntries(Object.keys(fresh).map((name) => [name, rule[name] ?? fresh[name]]));
	return { ...known, query: rule.query ?? null, condition: withoutNulls(known.condition), notify: known.notify.map(({ secret, ...one }) => one),
		tests: known.tests.map((one) => ({ ...withoutNulls(one), expect: withoutNulls(one.expect) })) };
}

/** A query of a search without its time range, which rules have in their schedule. */
export const withoutRange = (q) => q.replace(/(^|\s)(earliest|latest)\s*=\s*("[^"]*"|[^\s|]+)/g, '$1').trim();

function QueryCard({ draft, errorAt, saved })
{
	const { value, set } = draft;
	const kept = value.savedQueryId !== null;
	return html`<section class="card stack" aria-labelledby="query-title"><div class="row-between"><h2 id="query-title">Query</h2>
		${(saved.data?.length > 0 || kept) && html`<${Select} label="Where the query comes from" hideLabel value=${kept ? value.savedQueryId : ''}
			options=${[{ value: '', label: 'Written here' }, ...(saved.data ?? []).map((one) => ({ value: one.id, label: `Saved: ${one.name}` })),
				...(kept && !saved.data?.some((one) => one.id === value.savedQueryId) ? [{ value: value.savedQueryId, label: 'A saved query' }] : [])]}
			onInput=${(id) => set(id ? { savedQueryId: id, query: null } : { savedQueryId: null, query: saved.data?.find((one) => one.id === value.savedQueryId)?.q ?? '' })} />`}</div>
		${kept ? html`<pre class="answer-box break" tabindex="0">${saved.data?.find((one) => one.id === value.savedQueryId)?.q ?? value.savedQueryId}</pre>
			<p class="small muted">When the saved query changes, so does this rule.</p>`
			: html`<${QueryField} label="Query" hideLabel name="query" rows=${Math.min(8, Math.max(2, (value.query ?? '').split('\n').length))} value=${value.query ?? ''} error=${errorAt('query')}
				hint="Without earliest and latest: the range is part of the condition. Ctrl+Enter runs the preview." onInput=${(text) => set({ query: text })} />`}
		${errorAt('savedQueryId') && html`<p class="field-error">${errorAt('savedQueryId')}</p>`}</section>`;
}

function Details({ draft, errorAt })
{
	const { value, set } = draft;
	return html`<section class="card stack" aria-labelledby="details-title"><h2 id="details-title">For who gets the alert</h2>
		<div class="field-grid">
			<${Select} label="Severity" value=${value.severity} options=${['info', 'warning', 'critical']} onInput=${(severity) => set({ severity })} />
			<${Select} label="Tell again while it fires" value=${String(value.repeatSeconds)} onInput=${(text) => set({ repeatSeconds: text === 'null' ? null : Number(text) })}
				options=${[['null', 'no, once'], ['600', 'every 10 minutes'], ['3600', 'every hour'], ['14400', 'every 4 hours'], ['86400', 'every day'],
					...([null, 600, 3600, 14_400, 86_400].includes(value.repeatSeconds) ? [] : [[String(value.repeatSeconds), `every ${value.repeatSeconds} s`]])].map(([one, label]) => ({ value: one, label }))} />
			<${Field} label="Runbook" optional type="url" placeholder="https://..." value=${value.runbookUrl ?? ''} error=${errorAt('runbookUrl')} onInput=${(text) => set({ runbookUrl: text || null })} />
		</div>
		<${TextArea} label="Description" optional rows="2" maxlength="2000" value=${value.description ?? ''} error=${errorAt('description')} onInput=${(text) => set({ description: text || null })} />
		<${LabelEditor} labels=${value.labels} error=${errorAt('labels')} onInput=${(labels) => set({ labels })} /></section>`;
}

function Editor({ stored, start, onChange })
{
	const draft = useDraft(start);
	const { value } = draft;
	const [rule, setRule] = useState(stored);
	const { set, save: store, busy, setBusy, error, setError } = useSave({ what: 'rule', path: '/api/v1/alert-rules', screen: '/alert-rules', stored: rule, draft, pick, take });
	const [turn, setTurn] = useState(0);
	const saved = useLoad(async (abort) => (can('dashboards:read') ? (await allRows('/api/v1/saved-queries', { abort })).rows : []));
	const limit = usePlanLimit('alertRules', 'alert rules');
	const write = can('alerts:write');
	const text = value.savedQueryId ? saved.data?.find((one) => one.id === value.savedQueryId)?.q : value.query;
	const errorAt = (path) => {
		const told = error?.code === 'RULE_TESTS_FAILING' ? null : error?.fields?.[path];
		return told ? told.charAt(0).toUpperCase() + told.slice(1) : undefined;
	};

	useEffect(() => {
		if (address.value.hash === '#tests')
			document.getElementById('tests')?.scrollIntoView();
	}, []);
	function take(after, mine = pick(after))
	{
		setRule(after);
		onChange?.(after);
		draft.settle(pick(after), mine);
		setTurn((now) => now + 1);
	}
	function save(more = {})
	{
		if (!write)
			return;
		const wanted = { ...value, ...more };
		const typed = wanted.notify.map((one) => one.secret).filter(Boolean);
		store({
			value: wanted, as: more.enabled === false ? 'draft' : 'save',
			body: ({ query: q, savedQueryId, ...rest }) => ({ ...rest, ...(savedQueryId ? { savedQueryId } : { query: q ?? '' }) }),
			made: async (data) => {
				await showSecrets(data.notify, typed);
				toast(`${data.name} is ${data.enabled ? 'saved and watches' : 'saved, not enabled'}.`);
			},
			saved: async (data) => {
				await showSecrets(data.notify, typed);
				toast('Saved.');
			},
		});
	}
	async function enable()
	{
		setBusy('enable');
		setError(null);
		try {
			await setEnabled(rule, !rule.enabled, { quiet: true, onDone: (done) => take(done, draft.dirty ? { ...value, enabled: done.enabled } : pick(done)) });
		} catch (caught) {
			setError(Object.assign(caught, { enabling: true }));
		}
		setBusy('');
	}
	useKeys(write ? [{ keys: 'mod+s', text: 'Save', run: () => save() }] : []);

	return html`<div class="stack editor">
		${rule?.lastError && rule.enabled && html`<${ErrorNotice} title="The rule cannot be evaluated" error=${{ details: [], ...rule.lastError }} />`}
		${rule?.warning && html`<p class="notice notice-warn break">${rule.warning}</p>`}
		<fieldset class="stack" disabled=${!write}><legend class="visually-hidden">The rule</legend>
			<${Field} label="Name" name="rule-name" maxlength="200" required value=${value.name} error=${errorAt('name')} onInput=${(name) => set({ name })} data-autofocus=${!rule} />
			<${QueryCard} draft=${{ value, set }} errorAt=${errorAt} saved=${saved} />
		</fieldset>
		<${PreviewPanel} rule=${value} query=${text} id=${rule && !draft.dirty && write ? rule.id : null} />
		<fieldset class="stack" disabled=${!write}><legend class="visually-hidden">Condition, channels, tests</legend>
			<section class="card stack" aria-labelledby="condition-title"><h2 id="condition-title">Condition</h2>
				<${ConditionSentence} rule=${value} set=${set} errorAt=${errorAt} /></section>
			<section class="card stack" aria-labelledby="channels-title"><h2 id="channels-title">Who is told</h2>
				<${Channels} channels=${value.notify} errorAt=${errorAt} onInput=${(notify) => set({ notify })} />
				${rule && write && html`<${ChannelTest} id=${rule.id} count=${rule.notify?.length} reason=${draft.dirty ? 'Save first: a test goes to the channels that are stored' : undefined} />`}</section>
			<${RuleTests} key=${turn} rule=${value} query=${text} set=${set} errorAt=${errorAt} mayRun=${write} />
			<${Details} draft=${{ value, set }} errorAt=${errorAt} />
		</fieldset>
		<${Attention} of=${error}>${error?.code === 'RULE_TESTS_FAILING' ? html`<${FailingTests} error=${error} rule=${value} done=${error.enabling ? 'enabled' : 'saved'} />` : html`<${ErrorNotice} error=${error} title=${rule ? 'It was not saved' : undefined} />`}<//>
		${write && html`<div class="save-bar"><p class="grow muted small break">${sentenceOf(value)}</p><div class="row">
			${rule ? html`
				${draft.dirty && html`<${Button} onClick=${() => { draft.settle(draft.base); setTurn((now) => now + 1); setError(null); }}>Discard<//>`}
				<${Button} busy=${busy === 'enable'} icon=${rule.enabled ? 'stop' : 'play'} onClick=${enable} reason=${draft.dirty && !rule.enabled ? 'Save first' : undefined}>${rule.enabled ? 'Disable' : 'Enable'}<//>
				<${Button} kind="primary" busy=${busy === 'save'} onClick=${() => save()} disabled=${!draft.dirty}>Save<//>` : html`
				<${Button} busy=${busy === 'draft'} reason=${limit.reason} onClick=${() => save({ enabled: false })}>Save without enabling<//>
				<${Button} kind="primary" busy=${busy === 'save'} reason=${limit.reason} onClick=${() => save({ enabled: true })}>Save and enable<//>`}</div></div>`}
	</div>`;
}

function Stored({ id })
{
	const load = useLoad(async (abort) => (await api.get(`/api/v1/alert-rules/${id}`, { abort })).data, [id]);
	const rule = load.data;
	const tab = query.value.get('tab') ?? 'rule';
	return html`<div class="page"><header class="page-head"><div><p class="crumb small"><a href=${orgPath('/alert-rules')}>Alert rules</a></p>
			<h1 class="break">${rule?.name ?? 'Alert rule'}</h1>${rule && html`<p class="row"><${RuleState} rule=${rule} />
				<span>since <${RelativeTime} value=${rule.stateSince} />, checked <${RelativeTime} value=${rule.lastEvaluatedAt} />${rule.tookMs !== null && rule.tookMs !== undefined ? `, took ${rule.tookMs} ms` : ''}${rule.missed ? `, missed ${rule.missed === 1 ? 'once' : `${rule.missed} times`}` : ''}</span></p>`}</div>
			${rule && html`<div class="row"><${LinkButton} icon="bell" href=${orgPath(`/alerts?status=all&rule=${id}`)}>Its alerts<//>
				<${Menu} icon="more" label="More actions" items=${[
					can('alerts:write') && { label: 'Duplicate', icon: 'copy', onSelect: () => navigate(orgPath(`/alert-rules/new?from=${id}`)) },
					can('alerts:delete') ? { label: 'Delete', icon: 'trash', danger: true, onSelect: async () => { if (await deleteRule(rule)) navigate(orgPath('/alert-rules')); } }
						: { label: 'Delete', icon: 'trash', reason: 'Owners and admins can delete rules' },
				]} /></div>`}</header>
		<${ErrorNotice} error=${load.error} retry=${load.reload} />
		${load.slow && html`<${Skeleton} lines="10" />`}
		${rule && html`<${Tabs} label="Alert rule" selected=${tab} onSelect=${(next) => setQuery({ tab: next === 'rule' ? null : next })} tabs=${[{ id: 'rule', label: 'Rule' }, { id: 'deliveries', label: 'Deliveries' }]}>
			<div hidden=${tab !== 'rule'}><${Editor} stored=${rule} start=${pick(rule)} onChange=${load.set} /></div>
			${tab === 'deliveries' && html`<${Deliveries} id=${id} />`}<//>`}
	</div>`;
}

function New()
{
	const from = query.value.get('from');
	const source = useLoad(async (abort) => (from ? (await api.get(`/api/v1/alert-rules/${from}`, { abort })).data : null), [from]);
	const q = query.value.get('q');
	if (source.error || source.data === undefined)
		return html`<div class="page"><h1>New alert rule</h1><${ErrorNotice} error=${source.error} retry=${source.reload} />${source.slow && html`<${Skeleton} />`}</div>`;
	const start = source.data ? { ...pick(source.data), name: `${source.data.name} (copy)`.slice(0, 200) } : { ...fresh, query: q ? withoutRange(q) : '' };
	return html`<div class="page"><header class="page-head"><div><p class="crumb small"><a href=${orgPath('/alert-rules')}>Alert rules</a></p><h1>New alert rule</h1>
		<p>A query, a condition, and who is told. Nothing is watched before you enable it.</p></div></header>
		${can('alerts:write') ? html`<${Editor} start=${start} />` : html`<p class="muted">Your role does not write alert rules.</p>`}</div>`;
}

export default function AlertRule({ params })
{
	return params.id ? html`<${Stored} key=${params.id} id=${params.id} />` : html`<${New} key=${address.value.search} />`;
}
