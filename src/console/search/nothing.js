/*
 * nothing.js: what to do when a search has found no events.
 */
import { html } from '../view.js';
import { Button } from '../ui/button.js';
import { EmptyState } from '../ui/empty-state.js';
import { formatRelative } from '../ui/time.js';

/** q: of the search; newest: see useNewest; onRange(range). */
export function Nothing({ q, newest, onRange })
{
	if (newest)
		return html`<${EmptyState} icon="clock" title="No events in this time" action=${html`<${Button} kind="primary" onClick=${() => {
			const at = Date.parse(newest.timestamp);
			onRange({ earliest: new Date(at - 3_600_000).toISOString(), latest: new Date(at + 1000).toISOString() });
		}}>Show the hour before it<//>`}><p>The newest event came ${formatRelative(newest.timestamp)}.</p><//>`;
	return html`<${EmptyState} icon="search" title="Nothing found" action=${html`<${Button} onClick=${() => onRange({ earliest: '-7d', latest: 'now' })}>Search the last 7 days<//>`}>
		<p>${q ? 'No event of this time is found by the query.' : 'There are no events in this time.'}</p><//>`;
}
