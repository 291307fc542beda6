/*
 * range.js: the time that a dashboard shows.
 */
import { html, useState } from '../view.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { Field } from '../ui/field.js';
import { Menu } from '../ui/menu.js';
import { formatTime } from '../ui/time.js';

const presets = [['-15m', 'Last 15 minutes'], ['-1h', 'Last hour'], ['-4h', 'Last 4 hours'], ['-24h', 'Last 24 hours'], ['-7d', 'Last 7 days'], ['-30d', 'Last 30 days']];

const isMoment = (text) => /^\d{4}-\d\d-\d\dT/.test(text ?? '');

/** A range in words. */
export function rangeText({ earliest, latest })
{
	const preset = presets.find(([value]) => value === earliest);
	if (preset && (!latest || latest === 'now'))
		return preset[1];
	const back = /^-(\d+)([mhd])$/.exec(earliest ?? '');
	if (back && (!latest || latest === 'now'))
		return `Last ${back[1]} ${{ m: 'minutes', h: 'hours', d: 'days' }[back[2]]}`;
	const text = (value) => (isMoment(value) ? formatTime(value, { seconds: false }) : value);
	return `${text(earliest)} to ${text(latest ?? 'now')}`;
}

function Custom({ range, close })
{
	const [earliest, setEarliest] = useState(range.earliest);
	const [latest, setLatest] = useState(range.latest ?? 'now');
	const done = (event) => {
		event?.preventDefault();
		if (earliest.trim())
			close({ earliest: earliest.trim(), latest: latest.trim() || 'now' });
	};
	return html`<${Dialog} title="Other time" size="small" onClose=${() => close(null)} footer=${html`<${Button} onClick=${() => close(null)}>Cancel<//>
		<${Button} kind="primary" disabled=${!earliest.trim()} onClick=${done}>Show<//>`}><form class="stack" onSubmit=${done}>
		<${Field} label="From" name="earliest" hint="-90m, -1d@d, 2026-11-23T08:00:00Z" value=${earliest} onInput=${setEarliest} data-autofocus />
		<${Field} label="To" name="latest" hint="now, -5m, or a time" value=${latest} onInput=${setLatest} />
		<button type="submit" hidden></button></form><//>`;
}

/** The picker. onRange gets {earliest, latest}. */
export function RangePicker({ range, onRange })
{
	return html`<${Menu} label="Time" items=${[...presets.map(([earliest, label]) => ({ label, checked: range.earliest === earliest && (range.latest ?? 'now') === 'now',
		onSelect: () => onRange({ earliest, latest: 'now' }) })), { separator: true },
	{ label: 'Other time', icon: 'clock', onSelect: async () => {
		const chosen = await openDialog((close) => html`<${Custom} range=${range} close=${close} />`);
		if (chosen)
			onRange(chosen);
	} }]}><span class="visually-hidden">Time: </span><span>${rangeText(range)}</span><//>`;
}
