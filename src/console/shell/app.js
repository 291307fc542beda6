/*
 * app.js: which screen the address means, and what it needs first: a session, an organization, a permission.
 */
import { html, useEffect, useErrorBoundary, useState } from '../view.js';
import { address, match, navigate } from '../router.js';
import { currentOrganization } from '../api.js';
import { can, expired, firstOrganization, loadConfig, loadSession, organization, session, wasSignedIn } from '../session.js';
import { remember } from '../storage.js';
import { DialogHost } from '../ui/dialog-host.js';
import { EmptyState } from '../ui/empty-state.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Button, LinkButton } from '../ui/button.js';
import { later, loadWhenIdle } from '../ui/later.js';
import { Lazy } from '../ui/lazy.js';
import { Skeleton } from '../ui/skeleton.js';
import { ToastHost } from '../ui/toast.js';
import { Banners } from './banners.js';
import { Frame } from './frame.js';
import { listedScreens, screenOf, startOf } from './places.js';

const loaded = new Map();
// The first screen has asked for its rows by then.
const prefetchAfter = 2000; // ms
const signInAgain = () => import('./sign-in-again.js').then((module) => module.SignInAgain);

/** The module of a screen, while it is loaded: nothing; a skeleton after 150 ms. */
function Loaded({ screen, params })
{
	const [, setTurn] = useState(0);
	const [slow, setSlow] = useState(false);
	const [error, setError] = useState(null);
	const [broken, mend] = useErrorBoundary((caught) => console.error(caught));
	useEffect(() => {
		if (loaded.has(screen))
			return undefined;
		const timer = setTimeout(() => setSlow(true), 150);
		// The styles of the first screen are there already.
		(screen.first ? screen.load() : later(screen.load)).then((module) => {
			loaded.set(screen, module.default);
			setTurn((now) => now + 1);
		}, setError).finally(() => clearTimeout(timer));
		return () => clearTimeout(timer);
	}, [screen]);
	useEffect(() => {
		document.title = [screen.title, organization.value?.name, 'logsvc'].filter(Boolean).join(' · ');
	});
	if (broken)
		return html`<div class="page"><${EmptyState} icon="alert" title="This screen has failed" action=${html`<${Button} onClick=${mend}>Show it again<//>`}>
			<p>Nothing was changed by that. The console of your browser says more: <code>${broken.message}</code></p><//></div>`;
	if (error)
		return html`<div class="page page-narrow"><h1>${screen.title}</h1><${ErrorNotice} error=${error} title="This screen could not be loaded" /></div>`;
	const Screen = loaded.get(screen);
	if (!Screen)
		return slow ? html`<div class="page"><${Skeleton} lines="8" /></div>` : null;
	return html`<${Screen} params=${params} />`;
}

function NoPage({ title = 'There is no such page', text = 'The link may be old, or was not copied as a whole.', start })
{
	return html`<div class="page"><h1 class="visually-hidden">${title}</h1><${EmptyState} icon="info" title=${title}
		action=${html`<${LinkButton} kind="primary" href=${start}>Go to the start<//>`}><p>${text}</p><//></div>`;
}

function NotFound(words)
{
	const first = firstOrganization();
	return html`<main id="main" tabindex="-1"><${NoPage} ...${words} start=${first ? startOf(first.slug) : '/'} /></main>`;
}

function Organization({ params, screen })
{
	const now = organization.value;
	useEffect(() => { if (now?.signInAllowed) remember('organization', now.slug); }, [now?.slug]);
	if (!now)
		return html`<${NotFound} title="There is no such organization" text="It does not exist, or you are not a member of it." />`;
	if (!now.signInAllowed)
		return html`<${Frame}><${EmptyState} icon="shield" title=${`${now.name} does not accept this sign-in`}
			action=${html`<${LinkButton} href="/sign-in">Sign in another way<//>`}>
			<p>Its administrators have turned off the provider that you signed in with.</p><//><//>`;
	if (!screen)
		return html`<${Frame}><${NoPage} start=${startOf(now.slug)} /><//>`;
	if (!can(screen.permission))
		return html`<${Frame}><div class="page"><h1 class="visually-hidden">${screen.title}</h1><${EmptyState} icon="shield" title="This needs a permission that your role does not have"
			action=${html`<${LinkButton} href=${startOf(now.slug)}>Go to the start<//>`}>
			<p>You are ${now.role} of ${now.name}; ${screen.title} needs <code>${screen.permission}</code>. Owners and admins can change your role.</p><//></div><//>`;
	return html`<${Frame} screen=${screen}><${Loaded} key=${`${now.slug}${screen.path}`} screen=${screen} params=${params} /><//>`;
}

function Page()
{
	const { path } = address.value;
	const found = screenOf(path);
	const slug = match('/o/:org', path.split('/').slice(0, 3).join('/'))?.org ?? null;
	if (currentOrganization.peek() !== slug)
		currentOrganization.value = slug;
	const [error, setError] = useState(null);
	const open = found?.screen.open;
	const ask = session.value === undefined && (!open || wasSignedIn());
	const load = () => {
		setError(null);
		loadSession().catch(setError);
	};
	useEffect(() => { if (ask) load(); }, [ask]);
	useEffect(() => { loadConfig().catch(() => {}); }, []);
	useEffect(() => {
		const timer = slug && session.value ? setTimeout(() => loadWhenIdle([() => import('./palette.js'), ...listedScreens(slug).flatMap((one) => one.screens).map((one) => one.load)]), prefetchAfter) : 0;
		return () => clearTimeout(timer);
	}, [slug, session.value]);
	const away = !open && session.value === null;
	const inside = session.value && path === '/';
	useEffect(() => {
		if (away && !expired.value) {
			const back = path === '/' ? '' : `?redirectTo=${encodeURIComponent(path + window.location.search)}`;
			navigate(`/sign-in${back}`, { replace: true });
		} else if (inside) {
			const first = firstOrganization();
			navigate(first ? startOf(first.slug) : '/welcome', { replace: true });
		} else if (session.value && slug && match('/o/:org', path))
			navigate(startOf(slug), { replace: true });
	}, [away, inside, path, session.value]);

	if (error)
		return html`<main class="page page-narrow"><h1 class="visually-hidden">logsvc</h1><${ErrorNotice} error=${error} retry=${load} /></main>`;
	if (ask || away || inside)
		return null;
	if (slug)
		return html`<${Organization} screen=${found?.screen} params=${found?.params ?? {}} />`;
	if (!found)
		return html`<${NotFound} />`;
	return html`<${Loaded} key=${found.screen.path} screen=${found.screen} params=${found.params} />`;
}

/** The whole console. */
export function App()
{
	return html`<${Banners} /><${Page} /><${DialogHost} /><${ToastHost} />${expired.value && html`<${Lazy} load=${signInAgain} />`}`;
}

