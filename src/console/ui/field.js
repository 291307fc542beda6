/*
 * field.js: form fields: a label, a control, a hint, and the error at the field.
 */
import { html, useId, useState } from '../view.js';
import { Icon } from './icon.js';

/**
 * The frame of a field. children: a function that gets the attributes of its control ({id, 'aria-describedby',
 * 'aria-invalid', required}).
 */
export function FieldFrame({ label, hint, error, required, optional, hideLabel, children })
{
	const id = useId();
	const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined;
	return html`<div class=${`field ${error ? 'field-invalid' : ''}`}>
		<label for=${id} class=${hideLabel ? 'visually-hidden' : ''}>${label}${optional && html` <span class="muted">(optional)</span>`}</label>
		${children({ id, 'aria-describedby': described, 'aria-invalid': error ? 'true' : undefined, required })}
		${hint && html`<p class="field-hint" id=${`${id}-hint`}>${hint}</p>`}
		${error && html`<p class="field-error" id=${`${id}-error`}><${Icon} name="alert" /><span>${error}</span></p>`}
	</div>`;
}

const frameOf = ({ label, hint, error, required, optional, hideLabel }) => ({ label, hint, error, required, optional, hideLabel });
function controlOf(props)
{
	const { label, hint, error, optional, hideLabel, onInput, value, options, children, ...rest } = props;
	return rest;
}

/** A line of text. onInput gets the text. Everything else goes to the input (type, name, autocomplete, ...). */
export function Field(props)
{
	return html`<${FieldFrame} ...${frameOf(props)}>${(control) => html`<input class="input" type="text" ...${controlOf(props)} ...${control}
		value=${props.value} onInput=${(event) => props.onInput?.(event.currentTarget.value)} />`}<//>`;
}

/** A text of several lines. */
export function TextArea(props)
{
	return html`<${FieldFrame} ...${frameOf(props)}>${(control) => html`<textarea class="input" rows="4" ...${controlOf(props)} ...${control}
		value=${props.value} onInput=${(event) => props.onInput?.(event.currentTarget.value)}></textarea>`}<//>`;
}

/** A choice of few: options are {value, label, disabled} or texts. onInput gets the value. */
export function Select(props)
{
	const options = props.options.map((one) => (typeof one === 'object' ? one : { value: one, label: one }));
	return html`<${FieldFrame} ...${frameOf(props)}>${(control) => html`<span class="select"><select class="input" ...${controlOf(props)}
		...${control} value=${props.value} onChange=${(event) => props.onInput?.(event.currentTarget.value)}>
		${options.map((one) => html`<option key=${one.value} value=${one.value} disabled=${one.disabled}
			selected=${one.value === props.value}>${one.label}</option>`)}</select><${Icon} name="down" /></span>`}<//>`;
}

/** A password with a button that shows it. autocomplete: current-password or new-password. */
export function PasswordField(props)
{
	const [shown, setShown] = useState(false);
	return html`<${FieldFrame} ...${frameOf(props)}>${(control) => html`<span class="input-group">
		<input class="input" ...${controlOf(props)} ...${control} type=${shown ? 'text' : 'password'} value=${props.value}
			spellcheck=${false} autocapitalize="off" onInput=${(event) => props.onInput?.(event.currentTarget.value)} />
		<button type="button" class="button button-ghost button-small" aria-pressed=${shown ? 'true' : 'false'}
			onClick=${() => setShown(!shown)}><span>${shown ? 'Hide' : 'Show'}<span class="visually-hidden"> password</span></span></button>
	</span>`}<//>`;
}

/** A box to tick, with a hint or the reason why it cannot be. onInput gets true or false. */
export function Checkbox({ label, hint, checked, reason, disabled, onInput, ...rest })
{
	const id = useId();
	const note = reason ?? hint;
	return html`<div class="check">
		<input type="checkbox" id=${id} checked=${checked} disabled=${disabled || Boolean(reason)} aria-describedby=${note ? `${id}-hint` : undefined}
			onChange=${(event) => onInput?.(event.currentTarget.checked)} ...${rest} />
		<div><label for=${id}>${label}</label>${note && html`<p class="field-hint" id=${`${id}-hint`}>${note}</p>`}</div>
	</div>`;
}

/** One of few, each with a text: options are {value, label, hint, reason}; reason says why it cannot be chosen. */
export function RadioCards({ label, name, options, value, onInput, error })
{
	const id = useId();
	return html`<fieldset class=${`field ${error ? 'field-invalid' : ''}`} aria-describedby=${error ? `${id}-error` : undefined}>
		<legend>${label}</legend>
		<div class="radio-cards">${options.map((one) => html`<label key=${one.value} class=${`radio-card ${one.value === value ? 'is-chosen' : ''}
			${one.reason ? 'is-off' : ''}`}>
			<input type="radio" name=${name} value=${one.value} checked=${one.value === value} disabled=${Boolean(one.reason)}
				onChange=${() => onInput(one.value)} />
			<span><strong>${one.label}</strong>${(one.reason ?? one.hint) && html`<span class="field-hint">${one.reason ?? one.hint}</span>`}</span>
		</label>`)}</div>
		${error && html`<p class="field-error" id=${`${id}-error`}><${Icon} name="alert" /><span>${error}</span></p>`}
	</fieldset>`;
}
