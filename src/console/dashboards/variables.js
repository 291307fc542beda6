/*
 * variables.js: the bar of variables, and their values in the address.
 */
import { html } from '../view.js';
import { navigate } from '../router.js';
import { Combobox } from '../ui/combobox.js';
import { Icon } from '../ui/icon.js';

const list = (value) => (value === null || value === undefined ? [] : Array.isArray(value) ? value : [value]);

/** The values of variables: those of the address (var-NAME), otherwise the defaults. */
export function valuesOf(variables, query)
{
	return Object.fromEntries((variables ?? []).map((one) => {
		const given = query.getAll(`var-${one.name}`);
		return [one.name, given.length ? given : list(one.default)];
	}));
}

/** Puts the values of a variable into the address. */
export function chooseValues(name, values)
{
	const next = new URLSearchParams(window.location.search);
	next.delete(`var-${name}`);
	for (const value of values)
		next.append(`var-${name}`, value);
	return navigate(`${window.location.pathname}?${next}${window.location.hash}`, { replace: true });
}

/** The member `variables` of a load: only those that differ from their defaults. */
export function changedValues(variables, values)
{
	const changed = {};
	for (const one of variables ?? [])
		if (JSON.stringify(values[one.name]) !== JSON.stringify(list(one.default)) && values[one.name].length)
			changed[one.name] = one.multi ? values[one.name] : values[one.name][0];
	return changed;
}

function Multi({ variable, values, options, onValues, label })
{
	return html`<div class="variable-multi"><${Combobox} label=${label} value="" options=${options.filter((one) => !values.includes(one.value ?? one))} free=${variable.kind !== 'list'}
		placeholder=${values.length ? 'add' : 'choose'} onChoose=${(value) => onValues([...values.filter((one) => one !== '*' && value !== '*'), value])} />
		<span class="row">${values.map((value) => html`<button key=${value} type="button" class="tag-chip" aria-label=${`Remove ${value} of ${label}`} onClick=${() => onValues(values.filter((one) => one !== value))}>
			<span class="truncate">${value === '*' ? 'any' : value}</span><${Icon} name="close" /></button>`)}</span></div>`;
}

/** The bar. found: values of variables of kind query, as the load answered; onValues(name, values). shared: as for viewers of a link. */
export function VariablesBar({ variables, values, found = {}, onValues, shared })
{
	const shown = (variables ?? []).filter((one) => !shared || one.kind === 'list');
	if (!shown.length)
		return null;
	return html`<div class="variables" role="group" aria-label="Variables">${shown.map((one) => {
		const label = one.label || one.name;
		const any = one.kind === 'query' ? [{ value: '*', label: 'any' }] : [];
		const options = one.kind === 'list' ? one.values ?? [] : [...any, ...(found[one.name]?.values ?? []).map(String)];
		if (one.multi)
			return html`<${Multi} key=${one.name} variable=${one} values=${values[one.name]} options=${options} label=${label} onValues=${(next) => onValues(one.name, next)} />`;
		if (one.kind === 'text')
			return html`<form key=${one.name} onSubmit=${(event) => { event.preventDefault(); onValues(one.name, [event.currentTarget.elements.value.value]); }}>
				<div class="field"><label for=${`var-${one.name}`}>${label}</label><input class="input" id=${`var-${one.name}`} name="value" defaultValue=${values[one.name][0] ?? ''}
					onBlur=${(event) => { if (event.currentTarget.value !== (values[one.name][0] ?? '')) onValues(one.name, [event.currentTarget.value]); }} /></div></form>`;
		return html`<${Combobox} key=${one.name} label=${label} value=${values[one.name][0] ?? ''} free=${false} options=${options} onChoose=${(value) => onValues(one.name, [value])} />`;
	})}</div>`;
}
