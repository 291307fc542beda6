/*
 * rule-chart.js: the values that a rule sees over time, its threshold, and when it would fire.
 */
import { html, useState } from '../view.js';
import { formatTime } from '../ui/time.js';
import { groupText, valueText } from './states.js';

const height = 180;
const mostLines = 6;

function nice(max)
{
	if (!(max > 0))
		return 1;
	const size = 10 ** Math.floor(Math.log10(max));
	return [1, 1.5, 2, 3, 4, 5, 7.5, 10].map((one) => one * size).find((one) => one >= max * 1.05) ?? max * 1.1;
}

// At most two points a pixel: of more, the largest of each piece, so that no peak is lost.
function thin(values, most = 1200)
{
	if (values.length <= most)
		return values.map((value, at) => [at, value]);
	const size = Math.ceil(values.length / most);
	const points = [];
	for (let at = 0; at < values.length; at += size) {
		const piece = values.slice(at, at + size);
		const largest = piece.reduce((best, one, index) => (one !== null && (piece[best] === null || one > piece[best]) ? index : best), 0);
		points.push([at + largest, piece[largest]]);
	}
	return points;
}

function pathOf(values, x, y)
{
	let path = '';
	let pen = false;
	for (const [at, value] of thin(values)) {
		if (value === null)
			pen = false;
		else {
			path += `${pen ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
			pen = true;
		}
	}
	return path;
}

/** The chart. ticks and groups as replay() answers them; firings: {from, to} in seconds; threshold: a number or null. */
export function RuleChart({ ticks, groups, firings, threshold, label })
{
	const [at, setAt] = useState(null);
	const shown = groups.slice(0, mostLines);
	const numbers = shown.flatMap((one) => one.values).filter((one) => one !== null);
	const low = Math.min(0, threshold ?? 0, ...thin(numbers).map((one) => one[1]));
	const top = nice(Math.max(threshold ?? 0, numbers.reduce((a, b) => Math.max(a, b), 0)));
	const [from, to] = [ticks[0], ticks.at(-1)];
	const x = (index) => (ticks.length < 2 ? 500 : (index / (ticks.length - 1)) * 1000);
	const xOf = (time) => Math.min(1000, Math.max(0, ((time - from) / Math.max(1, to - from)) * 1000));
	const y = (value) => height - ((value - low) / (top - low)) * height;
	const bare = { date: to - from > 86_400, seconds: to - from < 600 };
	const hover = (event) => {
		const box = event.currentTarget.getBoundingClientRect();
		setAt(Math.min(ticks.length - 1, Math.max(0, Math.round(((event.clientX - box.left) / box.width) * (ticks.length - 1)))));
	};
	return html`<figure class="rule-chart">
		<div class="rule-chart-plot">
			<svg height=${height} viewBox=${`0 0 1000 ${height}`} preserveAspectRatio="none" role="img" aria-label=${label} onPointerMove=${hover} onPointerLeave=${() => setAt(null)}>
				<rect class="bar-hit" x="0" y="0" width="1000" height=${height} />
				${[0.25, 0.5, 0.75].map((one) => html`<line key=${one} class="chart-grid" x1="0" x2="1000" y1=${height * one} y2=${height * one} />`)}
				${firings.map((one, index) => html`<rect key=${index} class="rule-firing" x=${xOf(one.from)} y="0" height=${height} width=${Math.max(2, xOf(one.to ?? to) - xOf(one.from))} />`)}
				${shown.map((one, index) => html`<path key=${index} class=${`line series-${index + 1}`} d=${pathOf(one.values, x, y)} />`)}
				${threshold !== null && html`<line class="chart-threshold" x1="0" x2="1000" y1=${y(threshold)} y2=${y(threshold)} />`}
				${at !== null && html`<line class="rule-chart-cursor" x1=${x(at)} x2=${x(at)} y1="0" y2=${height} />`}
			</svg>
			<span class="rule-chart-top">${valueText(top)}</span>
			${low === 0 ? html`<span class="rule-chart-zero">0</span>` : html`<span class="rule-chart-zero">${valueText(low)}</span>`}
			${threshold !== null && html`<span class="rule-chart-threshold" style=${{ top: `${(y(threshold) / height) * 100}%` }}>${valueText(threshold)}</span>`}
		</div>
		<figcaption class="stack-s">
			<div class="row-between small muted"><span>${formatTime(from * 1000, bare)}</span><span>${formatTime(to * 1000, bare)}</span></div>
			<div class="rule-legend small">${at !== null && html`<strong class="time">${formatTime(ticks[at] * 1000)}</strong>`}
				${shown.map((one, index) => html`<span key=${index} class="row"><svg width="10" height="10" aria-hidden="true"><rect class=${`series-${index + 1}`} width="10" height="10" rx="2" /></svg>
					<span class="break">${groupText(one.key) || 'value'}${at !== null ? `: ${valueText(one.values[at])}` : ''}</span></span>`)}
				${groups.length > mostLines && html`<span class="muted">and ${groups.length - mostLines} more groups</span>`}
				${firings.length > 0 && html`<span class="row"><svg width="10" height="10" aria-hidden="true"><rect class="rule-firing" width="10" height="10" rx="2" /></svg>would fire</span>`}</div>
		</figcaption></figure>`;
}
