/*
 * time-panel.js: ranges to choose, a range to type, and the zone of times.
 */
import { html, useState } from '../view.js';
import { organization } from '../session.js';
import { Button } from '../ui/button.js';
import { Field } from '../ui/field.js';
import { chooseZone, zone } from '../ui/time.js';
import { isRelative, presets, writeTime } from './time-text.js';
import { parseTime, zoneText } from './typed-time.js';

const forms = 'Write 2026-11-23 14:05, or -2h, -1d@d, now.';

function Custom({ range, onChange, close })
{
	const [from, setFrom] = useState(writeTime(range.earliest));
	const [to, setTo] = useState(writeTime(range.latest));
	const [errors, setErrors] = useState({});
	function apply(event)
	{
		event.preventDefault();
		const earliest = parseTime(from);
		const latest = parseTime(to);
		const wrong = {
			...(!earliest && { from: forms }),
			...(!latest && { to: forms }),
			...(earliest && latest && !isRelative(earliest) && !isRelative(latest) && Date.parse(earliest) >= Date.parse(latest) && { to: 'This is not after the beginning.' }),
		};
		setErrors(wrong);
		if (Object.keys(wrong).length)
			return;
		close();
		onChange({ earliest, latest });
	}
	return html`<form class="stack-s" onSubmit=${apply} novalidate>
		<${Field} label="From" name="from" value=${from} onInput=${setFrom} error=${errors.from} autocomplete="off" spellcheck=${false} class="input mono" />
		<${Field} label="To" name="to" value=${to} onInput=${setTo} error=${errors.to} autocomplete="off" spellcheck=${false} class="input mono" />
		<div class="row-between"><span class="small muted">${zoneText()}</span><${Button} type="submit" size="small" kind="primary">Apply<//></div>
	</form>`;
}

/** In which zone times are shown. */
export function Zones()
{
	const choices = [['browser', Intl.DateTimeFormat().resolvedOptions().timeZone, 'this browser'],
		['organization', organization.value?.timezone ?? 'UTC', 'the organization'], ['utc', 'UTC', '']];
	// The same zone once.
	const shown = choices.filter(([, label], at) => choices.findIndex((one) => one[1] === label) === at);
	return html`<fieldset class="zone-choice"><legend class="small muted">Times in</legend>
		${shown.map(([name, label, hint]) => html`<label key=${name}><input type="radio" name="zone" checked=${zone() === label}
			onChange=${() => chooseZone(name)} /> <span>${label} ${hint && html`<span class="faint">${hint}</span>`}</span></label>`)}</fieldset>`;
}

/** The panel. range, inQuery, onChange: as of the picker; close(). */
export function TimePanel({ range, inQuery, onChange, close })
{
	return html`<div class="time-panel">
		${inQuery && html`<p class="small muted">The query has earliest or latest. A choice here takes them out of it.</p>`}
		<ul class="time-presets">${presets.map((one) => html`<li key=${one.earliest}><button type="button" class="menu-item"
			aria-pressed=${!inQuery && range.earliest === one.earliest && range.latest === 'now' ? 'true' : 'false'}
			onClick=${() => { close(); onChange({ earliest: one.earliest, latest: 'now' }); }}>${one.label}</button></li>`)}</ul>
		<div class="stack time-custom"><${Custom} range=${range} onChange=${onChange} close=${close} /><${Zones} /></div>
	</div>`;
}
