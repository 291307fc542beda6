/*
 * index-dialog.js: the form for a new index, and for the settings of one that is there.
 */
import { html, useId } from '../view.js';
import { api } from '../api.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field, Select, TextArea } from '../ui/field.js';
import { useForm } from '../ui/use-form.js';
import { Consequence } from './retention.js';

const parsing = [{ value: '', label: 'as the organization' }, { value: 'yes', label: 'yes' }, { value: 'no', label: 'no' }];
const own = { '': null, yes: true, no: false };

/** What is wrong with a number of days, or undefined; '' is allowed. */
export const checkDays = (text) => (text === '' || /^[1-9]\d{0,5}$/.test(text) ? undefined : 'A whole number of days, at least 1.');

function IndexForm({ close, index, defaultDays })
{
	const id = useId();
	const before = { name: index?.name ?? '', days: index ? String(index.retentionDays ?? '') : '', description: index?.description ?? '', parse: '' };
	const form = useForm({
		values: before,
		fields: { retentionDays: 'days', parseJson: 'parse' },
		check: (values) => ({
			...(!index && !/^[a-z][a-z0-9_-]{0,63}$/.test(values.name) && { name: 'A letter from a to z, then letters, digits, _ and -; at most 64.' }),
			...(checkDays(values.days) && { days: checkDays(values.days) }),
		}),
		send: async (values) => {
			// Only what was changed: what was left alone may be the organization's.
			const json = {
				...(values.days !== before.days && { retentionDays: values.days === '' ? null : Number(values.days) }),
				...(values.description !== before.description && { description: values.description }),
				...(values.parse !== before.parse && { parseJson: own[values.parse] }),
			};
			close((index ? await api.patch(`/api/v1/indexes/${encodeURIComponent(index.name)}`, json)
				: await api.post('/api/v1/indexes', { name: values.name, ...json })).data);
		},
	});
	return html`<${Dialog} title=${index ? `Index ${index.name}` : 'New index'} onClose=${form.busy ? undefined : () => close(null)} closeBeside=${false} footer=${html`
		<${Button} onClick=${() => close(null)} disabled=${form.busy}>Cancel<//>
		<${Button} kind="primary" type="submit" form=${id} busy=${form.busy}>${index ? 'Save' : 'Create index'}<//>`}>
		<form class="stack" id=${id} onSubmit=${form.submit} novalidate>
			${!index && html`<${Field} label="Name" placeholder="web" maxlength="64" required autocomplete="off" spellcheck=${false} data-autofocus
				hint="Events name it as their index. It cannot be changed." ...${form.bind('name')} />`}
			<${Field} label="Retention in days" inputmode="numeric" maxlength="6" placeholder=${defaultDays ? String(defaultDays) : 'as the plan'}
				hint=${`Older events are deleted. Nothing: as the organization${defaultDays ? `, now ${defaultDays} days` : ''}.`} data-autofocus=${Boolean(index)} ...${form.bind('days')} />
			${index && html`<${Consequence} index=${index} days=${Number(form.values.days || defaultDays)} />`}
			<${Select} label=${index ? `JSON in texts of events: taken apart now: ${index.parseJson ? 'yes' : 'no'}` : 'Take JSON in texts of events apart'}
				options=${index ? [{ value: '', label: 'leave as it is' }, ...parsing.slice(1)] : parsing}
				hint="The members of a text that is a JSON object become attributes." ...${form.bind('parse')} />
			<${TextArea} label="Description" optional rows="2" maxlength="2000" ...${form.bind('description')} />
			<${ErrorNotice} error=${form.error} />
		</form>
	<//>`;
}

/** Asks for a new index (without `index`), or for settings of one. Answers it as it is then, or null. */
export const askIndex = (options) => openDialog((close) => html`<${IndexForm} close=${close} ...${options} />`);
