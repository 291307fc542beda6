/*
 * query-values.js: the values of variables in queries that the page itself runs.
 */
const literal = (value) => (/^-?\d+(\.\d+)?$/.test(value) || value === '*' ? value : `"${value.replace(/(["\\])/g, '\\$1')}"`);

/**
 * A query with literals in the place of its variables, for the live result of the editor. The service does the same with
 * those of a saved dashboard. Inside quotes nothing is replaced.
 */
export function withValues(query, values)
{
	return query.replace(/("(?:[^"\\]|\\.)*")|(!?=)?\s*\$([A-Za-z_]\w*)/g, (all, quoted, compared, name) => {
		const found = quoted || !Object.hasOwn(values, name) ? [] : values[name] ?? [];
		if (quoted || !found.length)
			return all;
		if (found.length === 1)
			return (compared ?? ' ') + literal(found[0]);
		const literals = found.map(literal);
		return compared ? `${compared === '!=' ? ' NOT IN' : ' IN'} (${literals.join(', ')})` : ` (${literals.join(' OR ')})`;
	});
}
