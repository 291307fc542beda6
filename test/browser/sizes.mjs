/*
 * sizes.mjs: what the bytes of the console's scripts and styles are spent on. Argument: a folder with these files and their source
 * maps. Prints rows "metric value unit"; test/bench/console_size.pl starts it.
 *
 * The compressed bytes of a file are divided among its parts (folders of src/console) in proportion to what the file is smaller
 * without each: so texts that compress badly count for what they cost, and the parts add up to the whole.
 */
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';

const folder = process.argv[2];
const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = zlib.constants;
const compressed = (text) => {
	const bytes = Buffer.from(text);
	return zlib.brotliCompressSync(bytes, { params: { [BROTLI_PARAM_QUALITY]: 11, [BROTLI_PARAM_LGWIN]: 22, [BROTLI_PARAM_SIZE_HINT]: bytes.length } }).length;
};
const metric = (name, value, unit) => console.log(`${name} ${value} ${unit}`);

/** The numbers of a segment of a source map. */
function numbers(segment)
{
	const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
	const read = [];
	let value = 0;
	let shift = 0;
	for (const digit of segment) {
		const bits = digits.indexOf(digit);
		value |= (bits & 31) << shift;
		shift += 5;
		if (!(bits & 32)) {
			read.push(value & 1 ? -(value >> 1) : value >> 1);
			value = 0;
			shift = 0;
		}
	}
	return read;
}

/** For each part that a file has: where its text is in the file, as [from, to]. */
function partsOf(text, map)
{
	const folderOf = (source) => {
		const inside = source.replace(/^.*?\.source\//, '');
		return inside.includes('/') ? inside.replace(/\/.*/, '') : 'start';
	};
	const begins = [];
	let source = 0;
	let line = 0;
	const lines = text.split('\n');
	for (const [index, segments] of map.mappings.split(';').entries()) {
		let column = 0;
		for (const segment of segments.split(',').filter(Boolean)) {
			const read = numbers(segment);
			column += read[0];
			source += read[1] ?? 0;
			begins.push([line + column, folderOf(map.sources[source])]);
		}
		line += (lines[index] ?? '').length + 1;
	}
	const parts = {};
	begins.forEach(([from, folder], index) => (parts[folder] ??= []).push([from, begins[index + 1]?.[0] ?? text.length]));
	return parts;
}

const parts = {};
let total = 0;
let texts = 0;
for (const file of fs.readdirSync(folder).filter((one) => /\.(js|css)$/.test(one))) {
	const text = fs.readFileSync(path.join(folder, file), 'utf8');
	const map = JSON.parse(fs.readFileSync(path.join(folder, `${file}.map`), 'utf8'));
	// What only names another file is not served.
	if (!map.sources.length)
		continue;
	const whole = compressed(text);
	metric(`size_file_${file.replace(/\.\w+(\.\w+)$/, '$1')}`, whole, 'bytes_compressed');
	if (file.startsWith('time-series.'))
		continue;
	total += whole;
	if (file.endsWith('.js'))
		texts += whole - compressed(text.replace(/"[A-Z][^"\\\n]* [^"\\\n]*"/g, '""'));
	const of = Object.entries(partsOf(text, map)).map(([name, ranges]) => {
		let rest = '';
		let end = 0;
		for (const [from, to] of ranges) {
			rest += text.slice(end, from);
			end = to;
		}
		return { name: file.endsWith('.css') ? `${name}_styles` : name, plain: ranges.reduce((sum, [from, to]) => sum + to - from, 0), saved: whole - compressed(rest + text.slice(end)) };
	});
	const saved = of.reduce((sum, one) => sum + one.saved, 0);
	for (const one of of) {
		const part = parts[one.name] ??= { plain: 0, compressed: 0 };
		part.plain += one.plain;
		part.compressed += whole * one.saved / saved;
	}
}
for (const [name, part] of Object.entries(parts).sort((one, other) => other[1].compressed - one[1].compressed)) {
	metric(`size_part_${name}`, Math.round(part.compressed), 'bytes_compressed');
	metric(`size_part_${name}_plain`, part.plain, 'bytes');
}
metric('size_texts', texts, 'bytes_compressed_less_without_texts_of_several_words');
metric('size_all_but_uplot', total, 'bytes_compressed');
