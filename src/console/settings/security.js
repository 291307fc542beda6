/*
 * security.js: how and from where people and programs get in: identity providers, IP allow-list.
 */
import { html, useState } from '../view.js';
import { api } from '../api.js';
import { config, loadSession, organization, session } from '../session.js';
import { confirm } from '../ui/confirm.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Checkbox } from '../ui/field.js';
import { Skeleton } from '../ui/skeleton.js';
import { toast, toastError } from '../ui/toast.js';
import { useLoad } from '../ui/use-load.js';
import { providerNames } from '../auth/provider-names.js';
import { SettingsHead } from './head.js';
import { IpAllowlist } from './ip-allowlist.js';

const providers = ['google', 'github'];

function Providers({ settings })
{
	const { oauthProviders, id } = settings.data;
	const [busy, setBusy] = useState(null);
	const configured = config.value?.oauthProviders ?? [];
	const mine = session.value.provider;

	async function save(next)
	{
		const before = settings.data;
		settings.set({ ...before, oauthProviders: next });
		try {
			settings.set((await api.patch(`/api/v1/organizations/${id}`, { oauthProviders: next })).data);
		} catch (error) {
			settings.set(before);
			throw error;
		}
	}
	async function toggle(provider, on)
	{
		const before = oauthProviders;
		const next = on ? [...before, provider] : before.filter((one) => one !== provider);
		const name = providerNames[provider];
		if (!on && provider === mine) {
			const done = await confirm({ title: `Turn ${name} off?`, danger: true, action: `Turn ${name} off`,
				text: `You have signed in with ${name}: this session could not use the organization any more. Sign in with your password first, or ask another admin.`, run: () => save(next) });
			if (done)
				await loadSession();
			else
				settings.set((now) => ({ ...now })); // The box is ticked again.
			return;
		}
		setBusy(provider);
		try {
			await save(next);
			toast(`${name} is ${on ? 'on' : 'off'} for this organization.`, { undo: () => save(before) });
		} catch (error) {
			toastError(error);
		} finally {
			setBusy(null);
		}
	}
	return html`<section class="card stack" aria-labelledby="providers-title"><div><h2 id="providers-title">Sign-in providers</h2>
			<p class="muted">Sessions that began with a provider that is off cannot act in this organization, at once. Passwords and tokens always work.</p></div>
		<div class="stack-s">${providers.map((one) => html`<${Checkbox} key=${one} name=${one} label=${providerNames[one]} checked=${oauthProviders.includes(one)} disabled=${busy === one}
			hint=${configured.includes(one) ? undefined : 'Nobody can sign in with it: the operator of this service has not set it up.'} onInput=${(on) => toggle(one, on)} />`)}</div>
	</section>`;
}

export default function Security()
{
	const settings = useLoad((abort) => api.get(`/api/v1/organizations/${organization.value.id}`, { abort }).then((answer) => answer.data));
	const list = useLoad((abort) => api.get('/api/v1/ip-allowlist', { abort }).then((answer) => answer.data));
	const [draft, setDraft] = useState(null);
	return html`<div class="page">
		<${SettingsHead} title="Security" />
		<${ErrorNotice} error=${settings.error ?? list.error} retry=${() => { settings.reload(); list.reload(); }} />
		${(settings.slow || list.slow) && html`<${Skeleton} />`}
		${settings.data && html`<${Providers} settings=${settings} />`}
		${list.data && html`<${IpAllowlist} list=${list} draft=${draft} setDraft=${setDraft} />`}
	</div>`;
}
