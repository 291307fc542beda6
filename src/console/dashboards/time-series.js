/*
 * time-series.js: lines and areas over time, drawn by uPlot. Loaded with the first of them.
 */
import { html, useEffect, useRef } from '../view.js';
import UPlot from '../vendor/uplot.js';
import { formatDay, formatTime, zone, zoneChoice } from '../ui/time.js';
import { formatValue } from './answer.js';

// A canvas knows no custom properties: ask an element which colours they are.
function colours(box, names)
{
	const probe = document.createElement('span');
	box.append(probe);
	const found = names.map((name) => {
		probe.style.color = `var(--${name})`;
		return getComputedStyle(probe).color;
	});
	probe.remove();
	return found;
}

const levels = { trace: 'level-trace', debug: 'level-debug', info: 'level-info', warn: 'level-warn', error: 'level-error', fatal: 'level-fatal' };
const fade = (colour, share) => colour.replace(/^rgb\((.*)\)$/, (_, parts) => `rgba(${parts.replace(/,? +/g, ',')},${share})`);

// Stacked: each series is drawn on top of those below it.
function stacked(series)
{
	const sums = Array(series[0]?.values.length ?? 0).fill(0);
	return series.map((one) => one.values.map((value, index) => {
		sums[index] += value ?? 0;
		return sums[index];
	}));
}

// A small panel has no room for the whole legend: the largest series come first in it, in whatever order they are drawn.
function sortLegend(root, series, order)
{
	const sums = series.map((one) => one.values.reduce((sum, value) => sum + Math.abs(value ?? 0), 0));
	const [time, ...rows] = root.querySelectorAll('.u-series');
	time?.after(...rows.map((row, at) => [row, sums[order[at]]]).sort((a, b) => b[1] - a[1]).map(([row]) => row));
}

/**
 * The chart. data: {times, series, part: {first, last}}; options: of the panel; marks: [{at (ms), text}]; onZoom(from, to) in ms;
 * group: charts of one group share their cursor.
 */
export default function TimeSeries({ data, options = {}, marks = [], onZoom, group, label })
{
	const box = useRef(null);
	const zoom = useRef(onZoom);
	zoom.current = onZoom;
	const choice = zoneChoice.value;
	useEffect(() => {
		let chart = null;
		let frame = 0;
		function draw()
		{
			chart?.destroy();
			const area = box.current;
			const names = data.series.map((one, index) => levels[one.name] ?? `series-${(index % 6) + 1}`);
			const [axis, grid, mark, shade, ...lines] = colours(area, ['text-muted', 'border', 'danger', 'hover', ...names]);
			const last = data.times.length - 1;
			const isPart = (at) => (at === 0 && data.part?.first) || (at === last && data.part?.last);
			// The highest is drawn first, so that all are seen.
			const order = options.stack ? data.series.map((_, index) => index).reverse() : data.series.map((_, index) => index);
			const values = options.stack ? stacked(data.series) : data.series.map((one) => one.values);
			const legend = options.legend !== false;
			chart = new UPlot({
				width: Math.max(60, area.clientWidth), height: 60,
				tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), zone()),
				cursor: { sync: group ? { key: group, setSeries: false } : undefined, drag: { x: Boolean(zoom.current), y: false, setScale: false }, points: { size: 6 } },
				legend: { show: legend, live: true },
				scales: { y: { range: (_, min, max) => [Math.min(0, min ?? 0), max > 0 ? max * 1.06 : min < 0 ? 0 : 1] } },
				axes: [
					{ stroke: axis, grid: { show: false }, ticks: { stroke: grid, width: 1, size: 4 }, font: '11px system-ui, sans-serif', size: 26, space: 70,
						values: (_, splits, __, ___, step) => splits.map((one) => (step >= 86_400 ? formatDay(one * 1000).slice(5) : formatTime(one * 1000, { date: false, seconds: step < 60 }))) },
					{ stroke: axis, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif', space: 28,
						size: (self, labels) => Math.max(32, 14 + Math.max(0, ...(labels ?? []).map((one) => one.length)) * 6.4),
						values: (_, splits) => splits.map((one) => formatValue(one, { unit: options.unit?.length <= 3 ? options.unit : undefined })) },
				],
				series: [{ label: 'Time', value: (_, seconds) => (seconds === null || seconds === undefined ? '–' : formatTime(seconds * 1000)) },
					...order.map((index) => ({ label: data.series[index].name, stroke: lines[index], width: 1.5, fill: options.stack ? fade(lines[index], 0.4) : data.series.length === 1 ? fade(lines[index], 0.16) : undefined,
						points: { show: data.times.length === 1, size: 6 }, spanGaps: false, value: (_, __, ___, at) => (at === null || at === undefined ? '' : `${formatValue(data.series[index].values[at], options)}${isPart(at) ? ' (part)' : ''}`) }))],
				// Each fills down to the one below it: colours that lie over each other would say nothing.
				bands: options.stack ? order.slice(1).map((_, at) => ({ series: [at + 1, at + 2] })) : [],
				hooks: {
					drawClear: [({ ctx, bbox, valToPos }) => {
						// What the range has a part of only lies on a shade, as in the histogram of a search.
						ctx.save();
						ctx.fillStyle = shade;
						for (const [from, to] of last > 0 ? [isPart(0) && [0, 1], isPart(last) && [last - 1, last]].filter(Boolean) : []) {
							const left = valToPos(data.times[from], 'x', true);
							ctx.fillRect(left, bbox.top, valToPos(data.times[to], 'x', true) - left, bbox.height);
						}
						ctx.restore();
					}],
					setSelect: [(self) => {
						if (self.select.width > 4)
							zoom.current?.(self.posToVal(self.select.left, 'x') * 1000, self.posToVal(self.select.left + self.select.width, 'x') * 1000);
						self.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
					}],
					draw: [(self) => {
						const { ctx, bbox } = self;
						ctx.save();
						ctx.strokeStyle = mark;
						ctx.setLineDash([4, 3]);
						for (const one of marks) {
							const x = self.valToPos(one.at / 1000, 'x', true);
							if (x >= bbox.left && x <= bbox.left + bbox.width) {
								ctx.beginPath();
								ctx.moveTo(x, bbox.top);
								ctx.lineTo(x, bbox.top + bbox.height);
								ctx.stroke();
							}
						}
						ctx.restore();
					}],
				},
			}, [data.times, ...order.map((index) => values[index])], area);
			sortLegend(chart.root, data.series, order);
			fit();
		}
		function fit()
		{
			// The legend is as wide as the chart, and its height depends on that.
			const width = Math.max(60, box.current.clientWidth);
			chart.setSize({ width, height: 50 });
			const legend = chart.root.querySelector('.u-legend')?.offsetHeight ?? 0;
			chart.setSize({ width, height: Math.max(50, box.current.clientHeight - legend) });
		}
		const later = (what) => () => {
			cancelAnimationFrame(frame);
			frame = requestAnimationFrame(() => { if (box.current && chart) what(); });
		};
		draw();
		const sizes = new ResizeObserver(later(fit));
		sizes.observe(box.current);
		const theme = new MutationObserver(later(draw));
		theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
		const system = window.matchMedia('(prefers-color-scheme: dark)');
		const again = later(draw);
		system.addEventListener('change', again);
		return () => {
			cancelAnimationFrame(frame);
			sizes.disconnect();
			theme.disconnect();
			system.removeEventListener('change', again);
			chart.destroy();
		};
	}, [data, options.stack, options.legend, options.unit, options.decimals, group, choice, marks.length]);
	return html`<div class="series-chart" ref=${box} role="img" aria-label=${label}></div>`;
}
