/*
 * processor-types.js: the processors of pipelines: what they are called, what they do, and their members.
 */
const field = { name: 'field', label: 'Field', kind: 'field', initial: 'event' };

/** The presets of masks. */
export const presets = [
	{ value: 'email', label: 'mail addresses' }, { value: 'creditcard', label: 'card numbers' }, { value: 'ip', label: 'IP addresses' },
	{ value: 'jwt', label: 'JSON Web Tokens' }, { value: 'iban', label: 'bank account numbers' },
];

/** Each type: {type, label, group, hint, make (a new one), members, summary(processor)}. */
export const processorTypes = [
	{ type: 'parse_json', label: 'Parse JSON', group: 'Parse', hint: 'Members of an object become attributes.', make: { field: 'event', target: 'attributes', overwrite: false },
		members: [field, { name: 'target', label: 'Into', kind: 'field', hint: 'attributes: each member becomes one.' }, { name: 'overwrite', label: 'Replace attributes that are there', kind: 'check' }],
		summary: (p) => p.field },
	{ type: 'parse_regex', label: 'Parse by regular expression', group: 'Parse', hint: 'Named groups become fields.', make: { field: 'event', pattern: '' },
		members: [field, { name: 'pattern', label: 'Pattern', kind: 'code', hint: 'PCRE2, such as user=(?<user>\\w+)' }], summary: (p) => p.pattern },
	{ type: 'parse_grok', label: 'Parse by Grok', group: 'Parse', hint: 'Patterns of the usual library become fields.', make: { field: 'event', pattern: '' },
		members: [field, { name: 'pattern', label: 'Pattern', kind: 'code', hint: '%{IP:client} %{NUMBER:ms:int}' },
			{ name: 'customPatterns', label: 'Own patterns', kind: 'pairs', optional: true, hint: 'A line each: NAME=pattern' }], summary: (p) => p.pattern },
	{ type: 'parse_kv', label: 'Parse name=value', group: 'Parse', hint: 'Pairs become attributes.', make: { field: 'event', pairSeparator: ' ', keySeparator: '=' },
		members: [field, { name: 'pairSeparator', label: 'Between pairs', kind: 'raw' }, { name: 'keySeparator', label: 'Between name and value', kind: 'raw' },
			{ name: 'prefix', label: 'Prefix of names', kind: 'text', optional: true }], summary: (p) => p.prefix ?? '' },
	{ type: 'mask', label: 'Mask', group: 'Protect', hint: 'What is masked is never on disk. If a pattern takes too long, the whole field is masked.', make: { field: '*', preset: 'email', replacement: '***', hash: false },
		members: [{ name: 'field', label: 'Field', kind: 'field', hint: '*: the text, all attributes and their names.' }, { name: 'preset', label: 'What', kind: 'preset' },
			{ name: 'pattern', label: 'Pattern', kind: 'code', hint: 'PCRE2. Do not write the secret itself into it.', when: (p) => !p.preset },
			{ name: 'replacement', label: 'Replacement', kind: 'raw', when: (p) => !p.hash }, { name: 'hash', label: 'Replace by a keyed hash', kind: 'check', hint: 'The same for the same value, so that it can be counted and joined by.' }],
		summary: (p) => `${p.preset ?? p.pattern ?? ''} in ${p.field === '*' ? 'everything' : p.field}` },
	{ type: 'remove', label: 'Remove fields', group: 'Protect', make: { fields: [] }, members: [{ name: 'fields', label: 'Fields', kind: 'list', hint: 'Separated by commas.' }], summary: (p) => p.fields.join(', ') },
	{ type: 'set', label: 'Set a field', group: 'Shape', make: { field: '', value: '' },
		members: [{ ...field, initial: '' }, { name: 'value', label: 'Value', kind: 'value', hint: 'A text may be a template: ${service}-${level}' }], summary: (p) => `${p.field} = ${typeof p.value === 'string' ? p.value : JSON.stringify(p.value)}` },
	{ type: 'rename', label: 'Rename a field', group: 'Shape', make: { from: '', to: '' }, members: [{ name: 'from', label: 'From', kind: 'field' }, { name: 'to', label: 'To', kind: 'field' }], summary: (p) => `${p.from} to ${p.to}` },
	{ type: 'copy', label: 'Copy a field', group: 'Shape', make: { from: '', to: '' }, members: [{ name: 'from', label: 'From', kind: 'field' }, { name: 'to', label: 'To', kind: 'field' }], summary: (p) => `${p.from} to ${p.to}` },
	{ type: 'convert', label: 'Convert a field', group: 'Shape', make: { field: '', to: 'number' },
		members: [{ ...field, initial: '' }, { name: 'to', label: 'To', kind: 'choice', options: ['number', 'string', 'boolean', 'timestamp'] },
			{ name: 'format', label: 'Format of the time', kind: 'text', optional: true, hint: 'As of strptime: %d/%b/%Y:%H:%M:%S %z', when: (p) => p.to === 'timestamp' }], summary: (p) => `${p.field} to ${p.to}` },
	{ type: 'drop_if', label: 'Drop events', group: 'Reduce', hint: 'A dropped event is accepted, counts in the quota, and is stored nowhere.', make: { filter: '' },
		members: [{ name: 'filter', label: 'Drop those that match', kind: 'code', hint: 'A filter, such as level=debug path=/health' }], summary: (p) => p.filter },
	{ type: 'sample', label: 'Keep a share', group: 'Reduce', make: { rate: 0.1 },
		members: [{ name: 'rate', label: 'Share that is kept', kind: 'number', min: 0, max: 1, step: 'any', hint: '0.1 keeps a tenth.' },
			{ name: 'key', label: 'Together by', kind: 'field', optional: true, hint: 'Events with the same value are kept or dropped together.' }], summary: (p) => `${p.rate}${p.key ? ` by ${p.key}` : ''}` },
	{ type: 'limit', label: 'Limit a minute', group: 'Reduce', hint: 'Drops what is beyond.', make: { perMinute: 1000 },
		members: [{ name: 'perMinute', label: 'Events a minute', kind: 'number', min: 0, max: 1e9, step: 1 }, { name: 'key', label: 'For each value of', kind: 'field', optional: true }], summary: (p) => `${p.perMinute}${p.key ? ` for each ${p.key}` : ''}` },
	{ type: 'route', label: 'Store in another index', group: 'Route', make: { index: '' }, members: [{ name: 'index', label: 'Index', kind: 'index' }], summary: (p) => p.index },
];

/** The type of a processor, by its name. */
export const typeOf = (name) => processorTypes.find((one) => one.type === name) ?? { type: name, label: name, members: [], summary: () => '' };
