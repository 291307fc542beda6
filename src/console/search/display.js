/*
 * display.js: what the list shows and how: in the address, and remembered on this machine for the next search.
 */
import { remember, remembered } from '../storage.js';
import { builtins } from './query-text.js';

// What says where an event comes from; senders put it into different fields.
const origins = ['service', 'attributes.service', 'source', 'host'];

/** The columns of a list that nobody has changed; fields: those of what was found, total: of how many events. */
export function usualColumns(fields, total)
{
	const countOf = (column) => fields?.find((one) => (one.builtin ? one.name : builtins.has(one.name) ? `attributes.${one.name}` : one.name) === column)?.count ?? 0;
	return ['timestamp', 'level', origins.find((one) => countOf(one) * 2 >= Math.max(1, total)) ?? origins[0], 'event'];
}

/** The title of a column. */
export const columnTitle = (name) => ({ timestamp: 'Time', level: 'Level', event: 'Event' })[name] ?? name.replace(/^attributes\./, '');

// More than a screen can show; each costs a cell in each row.
const mostColumns = 50;

/** The names of columns: of other addresses than ours too, which may have a bare % or thousands of names. */
function namesOf(text)
{
	return text.split(',', mostColumns).map((one) => {
		try {
			return decodeURIComponent(one);
		} catch {
			return one;
		}
	}).filter((one) => one !== '');
}

const densities = ['compact', 'normal', 'roomy'];

/**
 * The display that the parameters of an address name: {columns (null: the usual ones), wrap, density, chart, fields};
 * what they do not name is as the last time here.
 */
export function displayOf(params)
{
	let last = {};
	try {
		last = JSON.parse(remembered('columns') ?? '{}') ?? {};
	} catch {
		// Somebody else has written there.
	}
	const given = params.get('cols');
	const names = given !== null ? namesOf(given) : Array.isArray(last.columns) ? last.columns.filter((one) => typeof one === 'string') : [];
	const columns = [...new Set(names)].slice(0, mostColumns);
	const flag = (name, usual) => (params.has(name) ? params.get(name) === '1' : typeof last[name] === 'boolean' ? last[name] : usual);
	const density = params.get('density') ?? last.density;
	return {
		columns: columns.length ? columns : null,
		wrap: flag('wrap', false),
		density: densities.includes(density) ? density : 'normal',
		chart: flag('chart', true),
		fields: flag('fields', true),
	};
}

/** The parameters of the address for a display. */
export function displayParams({ columns, wrap, density, chart, fields })
{
	return {
		cols: columns?.map((one) => encodeURIComponent(one).replace(/%(2E|2D|5F)/g, decodeURIComponent)).join(',') ?? null,
		wrap: wrap ? '1' : null, density: density === 'normal' ? null : density, chart: chart ? null : '0', fields: fields ? null : '0',
	};
}

/** Remembers a display for the next search on this machine. */
export function rememberDisplay(display)
{
	remember('columns', JSON.stringify(display));
}
