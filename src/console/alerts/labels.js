/*
 * labels.js: names and values that go with each alert.
 */
import { html, useState } from '../view.js';
import { Button, IconButton } from '../ui/button.js';
import { Icon } from '../ui/icon.js';

/** Labels: {team: 'pay'}. onInput gets all of them. */
export function LabelEditor({ labels, onInput, error })
{
	const [text, setText] = useState('');
	const [wrong, setWrong] = useState('');
	function add()
	{
		const at = text.indexOf('=');
		const name = text.slice(0, at < 0 ? undefined : at).trim();
		if (at < 1 || !name) {
			setWrong('Write a label as name=value.');
			return;
		}
		setWrong('');
		setText('');
		onInput({ ...labels, [name]: text.slice(at + 1).trim() });
	}
	const names = Object.keys(labels);
	return html`<div class="field"><label for="label-new">Labels <span class="muted">(optional)</span></label>
		<div class="row">${names.map((name) => html`<span class="chip" key=${name}><code class="break">${name}=${labels[name]}</code>
			<${IconButton} icon="close" size="small" label=${`Remove label ${name}`} onClick=${() => onInput(Object.fromEntries(Object.entries(labels).filter(([one]) => one !== name)))} /></span>`)}
			${names.length < 32 && html`<input id="label-new" class="input label-field" placeholder="team=payments" value=${text} aria-invalid=${wrong ? 'true' : undefined} aria-describedby=${wrong ? 'label-error' : undefined}
				onInput=${(event) => setText(event.currentTarget.value)} onKeyDown=${(event) => { if (event.key === 'Enter') { event.preventDefault(); add(); } }} />
			<${Button} size="small" onClick=${add} disabled=${!text.trim()}>Add label<//>`}</div>
		${(wrong || error) && html`<p class="field-error" id="label-error"><${Icon} name="alert" /><span>${wrong || error}</span></p>`}</div>`;
}
