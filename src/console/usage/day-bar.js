/*
 * day-bar.js: what is used of a limit in a period: marks at 80% and 100%, and where it goes at this pace.
 */
import { html } from '../view.js';

// The bar shows a fifth more than the limit, so that one can see what is beyond it.
const most = 1.2;
const width = (share) => `${(Math.min(most, Math.max(0, share)) / most) * 100}%`;

/** A bar. used, limit; projected: at the end of the period, or null; label: all of it in a sentence. */
export function DayBar({ used, limit, projected, label })
{
	const share = used / limit;
	const ahead = projected === null ? 0 : projected / limit;
	return html`<div class="day-bar" role="img" aria-label=${label}>
		<div class="day-track">
			${ahead > share && html`<span class="day-ahead" style=${{ width: width(ahead) }}></span>`}
			${used > 0 && html`<span class=${`day-used ${share >= 1 ? 'is-full' : share >= 0.8 ? 'is-high' : ''}`} style=${{ width: width(share) }}></span>`}
			<span class="day-mark" style=${{ left: width(0.8) }}></span><span class="day-mark day-end" style=${{ left: width(1) }}></span>
		</div>
		<div class="day-labels small muted" aria-hidden="true"><span style=${{ left: width(0.8) }}>80%</span><span style=${{ left: width(1) }}>100%</span></div>
	</div>`;
}
