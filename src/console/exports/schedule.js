/*
 * schedule.js: when an export runs: cron, its words, and the next three runs by the clock of its zone.
 */
import { html } from '../view.js';
import { organization } from '../session.js';
import { Combobox } from '../ui/combobox.js';
import { Field, Select } from '../ui/field.js';
import { cronWords, nextRuns, parseCron } from './cron.js';

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')];
const presets = [['@hourly', 'Every hour'], ['@daily', 'Every day at midnight'], ['0 6 * * *', 'Every day at 06:00'], ['0 6 * * mon-fri', 'On weekdays at 06:00'], ['@weekly', 'Every week'], ['@monthly', 'Every month']];

/** The words of a cron text, or the text itself. */
export function scheduleWords(text)
{
	try {
		return cronWords(parseCron(text));
	} catch {
		return text;
	}
}

function read(text, zone)
{
	try {
		const cron = parseCron(text);
		const runs = nextRuns(cron, zone, Date.now());
		return { words: cronWords(cron), runs };
	} catch (error) {
		return { wrong: error.message };
	}
}

function inZone(time, zone)
{
	return new Intl.DateTimeFormat('en-GB', { timeZone: zone, weekday: 'short', year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' }).format(time);
}

/** The schedule. cron and timezone of the draft; set changes them; errorAt(path). */
export function Schedule({ cron, timezone, set, errorAt })
{
	const zone = timezone ?? organization.value?.timezone ?? 'UTC';
	const { words, runs, wrong } = read(cron, zone);
	return html`<div class="stack"><div class="field-grid">
			<${Select} label="Runs" value=${presets.some(([one]) => one === cron) ? cron : ''} onInput=${(value) => value && set({ cron: value })}
				options=${[...presets.map(([value, label]) => ({ value, label })), ...(presets.some(([one]) => one === cron) ? [] : [{ value: '', label: 'By a schedule of its own' }])]} />
			<${Field} label="Cron" name="cron" class="input mono" spellcheck=${false} value=${cron} error=${errorAt('cron') ?? (cron.trim() ? wrong : undefined)} onInput=${(text) => set({ cron: text })} hint="Minute, hour, day of the month, month, day of the week." />
			<${Combobox} label="By the clock of" options=${zones} free=${false} value=${zone} error=${errorAt('timezone')} onInput=${(value) => set({ timezone: value })} /></div>
		${words && html`<div class="schedule-words" role="status"><p><strong>${words.charAt(0).toUpperCase() + words.slice(1)}</strong></p>
			<ol aria-label="Next runs">${runs.map((time) => html`<li key=${time} class="number">${inZone(time, zone)}</li>`)}</ol>${!runs.length && html`<p class="muted">Never in the next five years.</p>`}</div>`}</div>`;
}
