/*
 * charts.js: small charts in SVG. Each has a sentence for those who cannot see it (label), and no text inside, so that
 * it can be stretched. Values that are null are gaps.
 */
import { html } from '../view.js';

const top = (values) => Math.max(1e-9, ...values.filter((one) => one !== null && Number.isFinite(one)));

/** A line without axes, as high as a line of text. values: numbers; threshold: a dashed line. */
export function Sparkline({ values, label, width = 96, height = 20, threshold })
{
	const max = top(threshold === undefined ? values : [...values, threshold]);
	const x = (index) => (values.length < 2 ? width / 2 : (index / (values.length - 1)) * (width - 2) + 1);
	const y = (value) => height - 1.5 - (value / max) * (height - 3);
	let path = '';
	values.forEach((value, index) => {
		if (value !== null)
			path += `${path && values[index - 1] !== null ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
	});
	return html`<svg class="spark" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${label}>
		${threshold !== undefined && html`<line class="chart-threshold" x1="0" x2=${width} y1=${y(threshold)} y2=${y(threshold)} />`}
		<path class="spark-line" d=${path} /></svg>`;
}

/**
 * Bars over time or over classes. bars: {key, value, title, parts: [{value, class}]}; parts are stacked from below and
 * get classes such as level-error. onBar(bar) makes them buttons for the pointer; offer the same by keyboard elsewhere.
 */
export function Bars({ bars, label, height = 64, onBar })
{
	const max = top(bars.map((one) => one.value));
	const width = 1000 / Math.max(1, bars.length);
	return html`<svg class="bars" height=${height} viewBox=${`0 0 1000 ${height}`} preserveAspectRatio="none" role="img" aria-label=${label}>
		${bars.map((bar, index) => {
			let from = height;
			const parts = bar.parts ?? [{ value: bar.value, class: 'series-1' }];
			return html`<g key=${bar.key ?? index} class=${onBar ? 'is-link' : ''} onClick=${onBar && (() => onBar(bar))}>
				<title>${bar.title ?? String(bar.value)}</title>
				<rect class="bar-hit" x=${index * width} y="0" width=${width} height=${height} />
				${parts.filter((part) => part.value > 0).map((part, at) => {
					const size = Math.max((part.value / max) * height, 1);
					from -= size;
					return html`<rect key=${at} class=${`bar ${part.class}`} x=${index * width + width * 0.08} y=${from} width=${width * 0.84} height=${size} />`;
				})}</g>`;
		})}</svg>`;
}

/** Lines with an area of time below: series: {name, values, class}. marks: {at: 0..1, class} vertical lines. */
export function LineChart({ series, label, height = 160, threshold, marks = [] })
{
	const max = top([...series.flatMap((one) => one.values), threshold ?? null]);
	const y = (value) => height - 2 - (value / max) * (height - 6);
	return html`<svg class="lines" height=${height} viewBox=${`0 0 1000 ${height}`} preserveAspectRatio="none" role="img" aria-label=${label}>
		${[0.25, 0.5, 0.75].map((at) => html`<line key=${at} class="chart-grid" x1="0" x2="1000" y1=${y(max * at)} y2=${y(max * at)} />`)}
		${marks.map((mark, index) => html`<line key=${index} class=${`chart-mark ${mark.class ?? ''}`} x1=${mark.at * 1000} x2=${mark.at * 1000} y1="0" y2=${height} />`)}
		${threshold !== undefined && html`<line class="chart-threshold" x1="0" x2="1000" y1=${y(threshold)} y2=${y(threshold)} />`}
		${series.map((one, at) => {
			let path = '';
			one.values.forEach((value, index) => {
				if (value !== null)
					path += `${path && one.values[index - 1] !== null ? 'L' : 'M'}${((index / Math.max(1, one.values.length - 1)) * 1000).toFixed(1)} ${y(value).toFixed(1)}`;
			});
			return html`<path key=${one.name} class=${`line ${one.class ?? `series-${(at % 6) + 1}`}`} d=${path}><title>${one.name}</title></path>`;
		})}</svg>`;
}

/** How much of a limit is used: a bar with a mark at 80%. value and limit: numbers; limit null: unlimited. */
export function Meter({ value, limit, label })
{
	const share = limit ? Math.min(1, value / limit) : 0;
	const state = share >= 1 ? 'is-full' : share >= 0.8 ? 'is-high' : '';
	return html`<div class=${`meter ${state}`} role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax=${limit ?? undefined}
		aria-valuenow=${limit ? Math.min(value, limit) : value}>${share > 0 && html`<span style=${{ width: `${(share * 100).toFixed(1)}%` }}></span>`}</div>`;
}
