/*
 * time-range.js: which times are searched: a button with the range, and the panel that changes it.
 */
import { html } from '../view.js';
import { Popover } from '../ui/popover.js';
import { Lazy } from '../ui/lazy.js';
import { isRelative, rangeText, zoneOffset } from './time-text.js';

const panel = () => import('./time-panel.js').then((module) => module.TimePanel);

/** The picker. range: {earliest, latest}; inQuery: the query sets it itself, so that this one has no effect. */
export function TimeRange({ range, inQuery, onChange })
{
	const text = inQuery ? 'Set in the query' : rangeText(range);
	const fixed = !isRelative(range.earliest) && !inQuery;
	return html`<${Popover} icon="clock" caret label="Time range" class="time-range" hint=${fixed && `${rangeText(range, true)} ${zoneOffset()}`}
		text=${html`<span class="visually-hidden">Time range: </span>${text}${fixed && html` <span class="faint">${zoneOffset()}</span>`}`}>
		${(close) => html`<${Lazy} load=${panel} range=${range} inQuery=${inQuery} onChange=${onChange} close=${close} />`}<//>`;
}
