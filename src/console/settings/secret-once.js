/*
 * secret-once.js: a secret that is shown once. The dialog stays until somebody says that it is stored.
 */
import { html, useState } from '../view.js';
import { Button } from '../ui/button.js';
import { CopyBox } from '../ui/copy-button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { Checkbox } from '../ui/field.js';
import { Icon } from '../ui/icon.js';

function SecretOnce({ close, title, what, secret, children })
{
	const [stored, setStored] = useState(false);
	return html`<${Dialog} title=${title} closeBeside=${false} footer=${html`<${Button} kind="primary" onClick=${() => stored && close()}
		reason=${stored ? undefined : `Store the ${what} first, and tick the box`}>Done<//>`}>
		<div class="stack">
			<div class="notice notice-warn"><${Icon} name="alert" /><p>This is the only time that the ${what} is shown. Only its hash is kept.</p></div>
			<${CopyBox} text=${secret} label=${`Copy ${what}`} />
			${children}
			<${Checkbox} label="I have stored it" checked=${stored} onInput=${setStored} name="stored" data-autofocus />
		</div>
	<//>`;
}

/** Shows a secret: showSecret({title: 'Token created', what: 'token', secret, children}); answers when it is stored. */
export function showSecret(options)
{
	return openDialog((close) => html`<${SecretOnce} close=${close} ...${options} />`);
}
