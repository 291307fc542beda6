/*
 * icon.js: small line icons, 16 by 16. They say nothing to a screen reader: the text beside them does.
 */
import { html } from '../view.js';

const paths = {
	search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14 14',
	close: 'M4 4l8 8M12 4l-8 8',
	check: 'M3 8.5 6.5 12 13 4.5',
	plus: 'M8 3v10M3 8h10',
	minus: 'M3 8h10',
	copy: 'M6 5.5h7v8H6zM10 5.5v-3H3v8h3',
	trash: 'M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 9h6l.5-9',
	edit: 'M3 13l.5-3L10.8 2.8l2.4 2.4L6 12.5 3 13Z',
	more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
	down: 'M4 6l4 4 4-4',
	up: 'M4 10l4-4 4 4',
	right: 'M6 4l4 4-4 4',
	external: 'M9 3h4v4M13 3 7.5 8.5M11.5 9.5V13H3V4.5h3.5',
	menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
	screen: 'M2 3h12v8H2zM6 13.5h4',
	user: 'M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8ZM2.8 13.5a5.3 5.3 0 0 1 10.4 0',
	users: 'M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13a4.6 4.6 0 0 1 9 0M10.5 3.2a2.5 2.5 0 0 1 0 4.6M12 9.3a4.6 4.6 0 0 1 2.5 3.7',
	key: 'M10.5 8.5a3 3 0 1 0-2.8-2L3 11.2V13h2v-1.5h1.5V10H8l.7-.7a3 3 0 0 0 1.8-.8ZM11 5h.01',
	ticket: 'M2 4h12v8H2zM10 4v8',
	shield: 'M8 1.8 13 3.5v4c0 3.2-2 5.6-5 6.7-3-1.1-5-3.5-5-6.7v-4L8 1.8Z',
	bell: 'M4 11V7a4 4 0 0 1 8 0v4l1 1H3l1-1ZM6.7 14h2.6',
	chart: 'M2.5 13.5h11M4.5 11V7.5M8 11V3.5M11.5 11V6',
	grid: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
	flow: 'M2 4h4v3H2zM10 9h4v3h-4zM6 5.5h3.5a1.5 1.5 0 0 1 1.5 1.5v2',
	flask: 'M6 2h4M6.7 2v4.3L3 12.5a1 1 0 0 0 .9 1.5h8.2a1 1 0 0 0 .9-1.5L9.3 6.3V2M5 10h6',
	pulse: 'M1.5 8h3l2-5 3 10 2-5h3',
	list: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01',
	gear: 'M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM6.8 2.1h2.4l.4 1.7 1.2.7 1.7-.5 1.2 2.1-1.3 1.2v1.4l1.3 1.2-1.2 2.1-1.7-.5-1.2.7-.4 1.7H6.8l-.4-1.7-1.2-.7-1.7.5-1.2-2.1 1.3-1.2V7.3L2.3 6.1 3.5 4l1.7.5 1.2-.7z',
	clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.6',
	alert: 'M8 2 14.5 13.5h-13L8 2ZM8 6.5v3M8 11.6h.01',
	info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 7.5V11M8 5.1h.01',
	refresh: 'M13 4v3h-3M13 7A5.2 5.2 0 1 0 13 9.8',
	play: 'M5 3.5v9l7-4.5-7-4.5Z',
	stop: 'M4.5 4.5h7v7h-7z',
	filter: 'M2.5 3.5h11L9.5 8.3v4.2l-3-1.3V8.3L2.5 3.5Z',
	columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
	save: 'M3 3h8l2 2v8H3zM5.5 3v3.5h4.5V3M5 13v-4h6v4',
	star: 'm8 2 1.8 3.8 4.2.5-3.1 2.9.8 4.1L8 11.3l-3.7 2 .8-4.1L2 6.3l4.2-.5L8 2Z',
	link: 'M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2a2.6 2.6 0 1 0-3.7-3.7l-.7.7M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9a2.6 2.6 0 1 0 3.7 3.7l.7-.7',
	signout: 'M6.5 2.5H3v11h3.5M10 5l3 3-3 3M13 8H6.5',
	database: 'M3 4c0-1.1 2.2-2 5-2s5 .9 5 2-2.2 2-5 2-5-.9-5-2ZM3 4v8c0 1.1 2.2 2 5 2s5-.9 5-2V4M3 8c0 1.1 2.2 2 5 2s5-.9 5-2',
	mail: 'M2 3.5h12v9H2zM2 4l6 5 6-5',
	card: 'M2 4h12v8.5H2zM2 7h12M4.5 10h2',
	grip: 'M6 4h.01M10 4h.01M6 8h.01M10 8h.01M6 12h.01M10 12h.01',
	download: 'M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13.5h10',
};

/** An icon by its name (see the list in this file), or by its path: those that only one screen has come with that. */
export function Icon({ name })
{
	return html`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false"
		fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"><path d=${paths[name] ?? name} /></svg>`;
}
