/*
 * table.js: tables of tens or hundreds of rows. (Events have their own list, which draws only what is seen.)
 */
import { html } from '../view.js';
import { Icon } from './icon.js';
import { Button } from './button.js';

/**
 * A table. columns: {key, title, render(row), align: 'end', class, sort: true, hideTitle, names}; names: on a telephone this cell is the title
 * of the row, instead of the first; rows; rowKey(row);
 * caption: what it lists, for screen readers; sort: {key, descending} with onSort(key); onRow(row) opens its details;
 * empty: an EmptyState; more and onMore: there is a next page; busy: it is being loaded.
 */
export function Table({ columns, rows, rowKey = (row) => row.id, caption, sort, onSort, onRow, selected, empty, more, onMore, busy })
{
	if (!rows.length && empty)
		return empty;
	const title = columns.find((column) => column.names) ?? columns[0];
	return html`<div class="table-box"><div class="table-scroll" tabindex="0" role="group" aria-label=${caption}><table class="table table-cards" role="table">
		<caption class="visually-hidden">${caption}</caption>
		<thead><tr role="row">${columns.map((column) => html`<th key=${column.key} scope="col" role="columnheader" class=${column.align === 'end' ? 'number' : ''}
			aria-sort=${sort?.key === column.key ? (sort.descending ? 'descending' : 'ascending') : undefined}>
			${column.sort ? html`<button type="button" class="table-sort" onClick=${() => onSort(column.key)}>${column.title}
				${sort?.key === column.key && html`<${Icon} name=${sort.descending ? 'down' : 'up'} />`}</button>`
				: html`<span class=${column.hideTitle ? 'visually-hidden' : ''}>${column.title}</span>`}</th>`)}</tr></thead>
		<tbody>${rows.map((row) => html`<tr key=${rowKey(row)} role="row" class=${onRow ? 'is-link' : ''} aria-selected=${selected === rowKey(row) ? 'true' : undefined}
			onClick=${onRow && ((event) => { if (!event.target.closest('a, button, input, select, label')) onRow(row); })}>
			${columns.map((column) => html`<td key=${column.key} role="cell" class=${`${column.align === 'end' ? 'number' : ''} ${column === title ? 'is-title' : ''} ${column.class ?? ''}`}
				data-title=${(!column.hideTitle && column.title) || undefined}>${column.render ? column.render(row) : row[column.key]}</td>`)}</tr>`)}</tbody>
	</table></div>
	${more && html`<div class="table-more"><${Button} size="small" busy=${busy} onClick=${onMore}>Show more<//></div>`}</div>`;
}
