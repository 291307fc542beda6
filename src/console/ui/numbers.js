/*
 * numbers.js: numbers as people read them.
 */
const plain = new Intl.NumberFormat('en-US');
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** 1,234,567 */
export const formatNumber = (value) => plain.format(value);
/** 1.2M */
export const formatShort = (value) => short.format(value);
/** 12.5%, from 0.125; small shares keep a digit. */
export const formatPercent = (share) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;

/** 1.5 MB; units of 1,024, as the quotas of the service have them: a plan's 1 GB is 2^30 bytes. */
export function formatBytes(bytes)
{
	const names = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
	let at = 0;
	let value = Number(bytes);
	while (Math.abs(value) >= 1024 && at < names.length - 1) {
		value /= 1024;
		at++;
	}
	return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1).replace('.0', '')} ${names[at]}`;
}
