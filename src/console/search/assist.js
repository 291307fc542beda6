/*
 * assist.js: what the service knows that helps to write a query: fields and values. Each list is asked for once for a time
 * range; one that was cut is asked for again with what was typed.
 */
import { api } from '../api.js';
import { formatNumber } from '../ui/numbers.js';

const seconds = 60;

/** A cache of fields and values for the time range of a search. */
export class Assist
{
	constructor()
	{
		this.values = new Map();
		this.fields = null;
		this.range = '';
		this.until = 0;
	}

	/** Sets the time range {earliest, latest}; another one forgets what was found. */
	setRange(range)
	{
		const key = JSON.stringify(range);
		if (key === this.range && Date.now() < this.until)
			return;
		this.range = key;
		this.query = range;
		this.values.clear();
		this.fields = null;
		this.until = Date.now() + seconds * 1000;
	}

	/** The fields of the range: a promise of {name, builtin, hint}. */
	listFields()
	{
		this.fields ??= api.get('/api/v1/search/fields', { query: this.query }).then((answer) => answer.data.map((one) => ({
			name: one.name, builtin: one.builtin, hint: one.types?.join(', ') ?? '' }))).catch((error) => {
			this.fields = null;
			throw error;
		});
		return this.fields;
	}

	/** Values of a field that begin with a prefix, most frequent first: {values: [{value, hint}], complete}. */
	async listValues(field, prefix, abort)
	{
		const name = field.replace(/^attributes\./, '');
		const known = this.values.get(name);
		if (known?.complete || known?.asked.has(prefix))
			return known.asked.get(prefix) ?? known.all;
		const answer = await api.get(`/api/v1/search/fields/${encodeURIComponent(name)}/values`, { query: { ...this.query, prefix, limit: 50 }, abort });
		const found = { values: answer.data.map((one) => ({ value: one.value, hint: formatNumber(one.count) })), complete: Boolean(answer.meta?.complete) };
		const entry = this.values.get(name) ?? { complete: false, all: null, asked: new Map() };
		entry.asked.set(prefix, found);
		// All values are known only when nothing was left out of the list without a prefix.
		if (prefix === '' && found.complete) {
			entry.complete = true;
			entry.all = found;
		}
		this.values.set(name, entry);
		return found;
	}
}
