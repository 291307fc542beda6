/*
 * organization.js: name, time zone, retention, deletion.
 */
import { html, useEffect, useState } from '../view.js';
import { api } from '../api.js';
import { navigate } from '../router.js';
import { can, loadSession, organization } from '../session.js';
import { Button } from '../ui/button.js';
import { Combobox } from '../ui/combobox.js';
import { confirm } from '../ui/confirm.js';
import { CopyButton } from '../ui/copy-button.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Checkbox, Field } from '../ui/field.js';
import { Skeleton } from '../ui/skeleton.js';
import { formatDay } from '../ui/time.js';
import { toast } from '../ui/toast.js';
import { useForm } from '../ui/use-form.js';
import { useLoad } from '../ui/use-load.js';
import { IndexTable, useIndexes } from '../indexes/screen.js';
import { checkDays } from '../indexes/index-dialog.js';
import { SettingsHead } from './head.js';

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')];

/** What a clock in a zone shows now, or what is wrong with the zone. */
function sampleOf(timeZone)
{
	try {
		return `There it is ${new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'long', hour: '2-digit', minute: '2-digit', timeZoneName: 'shortOffset' }).format(new Date()).replace('GMT', 'UTC').replace(/UTC\+0$/, 'UTC')}.`;
	} catch {
		return 'This browser does not know it; the service may.';
	}
}

function General({ settings, onSaved })
{
	const [, setTurn] = useState(0);
	useEffect(() => {
		const timer = setInterval(() => setTurn((now) => now + 1), 15_000);
		return () => clearInterval(timer);
	}, []);
	const form = useForm({
		values: { name: settings.name, timezone: settings.timezone },
		check: (values) => (values.name.trim() ? {} : { name: 'Enter a name.' }),
		send: async (values) => {
			const { data } = await api.patch(`/api/v1/organizations/${settings.id}`, { name: values.name.trim(), timezone: values.timezone });
			onSaved(data);
			await loadSession();
			toast('Saved.');
		},
	});
	const changed = form.values.name !== settings.name || form.values.timezone !== settings.timezone;
	return html`<section class="card stack" aria-labelledby="general-title"><h2 id="general-title">General</h2>
		<form class="stack form-width" onSubmit=${form.submit} novalidate>
			<${Field} label="Name" maxlength="100" required autocomplete="off" ...${form.bind('name')} />
			<${Combobox} label="Time zone" options=${zones} free=${false} hint=${`${sampleOf(form.values.timezone)} Calendar days of searches and schedules of exports follow it.`} ...${form.bind('timezone')} />
			<${ErrorNotice} error=${form.error} />
			<div><${Button} type="submit" kind="primary" busy=${form.busy} disabled=${!changed}>Save<//></div>
		</form>
		<dl class="facts"><dt>Name in addresses</dt><dd class="row"><code class="break">${settings.slug}</code><${CopyButton} text=${settings.slug} label="Copy name in addresses" compact /></dd>
			<dt>Id</dt><dd class="row"><code class="break">${settings.id}</code><${CopyButton} text=${settings.id} label="Copy id" compact /></dd></dl>
	</section>`;
}

function Events({ settings, onSaved, indexes })
{
	const form = useForm({
		values: { days: String(settings.retentionDays ?? ''), parseJson: settings.parseJson },
		fields: { retentionDays: 'days' },
		check: (values) => (checkDays(values.days) ? { days: checkDays(values.days) } : {}),
		send: async ({ days, parseJson }) => {
			const retentionDays = days === '' ? null : Number(days);
			const shorter = retentionDays !== null && (settings.retentionDays === null || retentionDays < settings.retentionDays);
			const save = () => api.patch(`/api/v1/organizations/${settings.id}`, { ...(days !== String(settings.retentionDays ?? '') && { retentionDays }), parseJson });
			const answer = shorter ? (await confirm({ title: 'Keep events for a shorter time?', danger: true, action: `Keep ${retentionDays} days`,
				text: html`<p>In each index without a retention of its own, events before ${formatDay(Date.now() - retentionDays * 86_400_000)} are deleted within a day, for good.</p>`, run: save }))?.value : await save();
			if (!answer)
				return;
			onSaved(answer.data);
			form.set({ days: String(answer.data.retentionDays ?? '') });
			indexes.reload();
			toast('Saved.');
		},
	});
	const changed = form.values.days !== String(settings.retentionDays ?? '') || form.values.parseJson !== settings.parseJson;
	return html`<section class="card stack" aria-labelledby="events-title"><h2 id="events-title">Events</h2>
		<form class="stack form-width" onSubmit=${form.submit} novalidate>
			<${Field} label="Retention in days" inputmode="numeric" maxlength="6" placeholder="as long as the plan allows"
				hint="Older events are deleted. Empty: as long as the plan allows. Indexes may have their own." ...${form.bind('days')} />
			<${Checkbox} label="Take JSON in texts of events apart" hint="For senders that put a whole JSON line into the text: its members become attributes. Indexes may have their own setting."
				name="parseJson" checked=${form.values.parseJson} onInput=${(parseJson) => form.set({ parseJson })} />
			<${ErrorNotice} error=${form.error} />
			<div><${Button} type="submit" kind="primary" busy=${form.busy} disabled=${!changed}>Save<//></div>
		</form>
		<div class="stack-s"><h3>Retention of each index</h3>
			<${ErrorNotice} error=${indexes.error} retry=${indexes.reload} />
			${indexes.slow && html`<${Skeleton} lines="3" />`}
			${indexes.data && html`<${IndexTable} list=${indexes} defaultDays=${settings.retentionDays} brief />`}</div>
	</section>`;
}

function Danger({ settings })
{
	async function remove()
	{
		const done = await confirm({ title: `Delete ${settings.name}?`, danger: true, action: 'Delete organization', name: settings.name,
			text: html`<p>All its tokens, keys and sessions end at once, and senders are refused. Its events, dashboards, alerts and members are erased after 7 days; until then the operator of the service can bring it back.</p>`,
			run: () => api.delete(`/api/v1/organizations/${settings.id}`, { json: { confirm: settings.name } }) });
		if (!done)
			return;
		await loadSession();
		await navigate('/', { replace: true });
		toast(`${settings.name} is deleted. It is erased on ${formatDay(done.value.data.erasedAt)}.`);
	}
	return html`<section class="card card-danger stack" aria-labelledby="danger-title"><h2 id="danger-title">Danger zone</h2>
		<div class="row-between"><div class="grow"><h3>Delete this organization</h3><p class="muted">With all its events, at once for everybody.</p></div>
			<${Button} kind="danger" onClick=${remove}>Delete organization<//></div></section>`;
}

export default function Organization()
{
	const settings = useLoad((abort) => api.get(`/api/v1/organizations/${organization.value.id}`, { abort }).then((answer) => answer.data));
	const indexes = useIndexes();
	return html`<div class="page">
		<${SettingsHead} title="Organization" />
		<${ErrorNotice} error=${settings.error} retry=${settings.reload} />
		${settings.slow && html`<${Skeleton} />`}
		${settings.data && html`<${General} settings=${settings.data} onSaved=${settings.set} /><${Events} settings=${settings.data} onSaved=${settings.set} indexes=${indexes} />
			${can('billing:manage') && html`<${Danger} settings=${settings.data} />`}`}
	</div>`;
}
