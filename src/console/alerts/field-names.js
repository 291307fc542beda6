/*
 * field-names.js: the names of fields of the events of the last day, for completion.
 */
import { api, currentOrganization } from '../api.js';

let known = { of: null, at: 0, names: [] };

/** What a Combobox's load asks: the names that contain a text. The service is asked once in five minutes. */
export async function loadFieldNames(text, abort)
{
	const of = currentOrganization.value;
	if (known.of !== of || Date.now() - known.at > 300_000) {
		const { data } = await api.get('/api/v1/search/fields', { query: { earliest: '-24h' }, abort });
		known = { of, at: Date.now(), names: data.map((one) => one.name) };
	}
	const needle = text.toLowerCase();
	return { options: known.names.filter((name) => name.toLowerCase().includes(needle)), complete: true };
}
