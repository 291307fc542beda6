/*
 * use-form.js: the state of a form: values, errors at their fields, sending once.
 */
import { useRef, useState } from '../view.js';
import { isAbort } from '../api.js';

/**
 * useForm({values, check, send}): check(values) answers {field: text} of what is wrong; send(values) is called when
 * nothing is, and may throw an ApiError, whose details go to the fields of the same name (fields: {path: field} for
 * others). Answers {values, set, bind, errors, error, busy, submit}: ...${form.bind('email')} gives a field its name,
 * value, error and onInput; error is what belongs to no field, for ErrorNotice; submit is for onSubmit.
 */
export function useForm({ values: initial, check, send, fields = {} })
{
	const [values, setValues] = useState(initial);
	const [errors, setErrors] = useState({});
	const [error, setError] = useState(null);
	const [busy, setBusy] = useState(false);
	const sending = useRef(false);

	function set(changes)
	{
		setValues((now) => ({ ...now, ...changes }));
		setErrors((now) => Object.fromEntries(Object.entries(now).filter(([name]) => !(name in changes))));
	}

	function focusFirst(form, wrong)
	{
		requestAnimationFrame(() => {
			const names = Object.keys(wrong);
			[...form?.elements ?? []].find((one) => names.includes(one.name))?.focus();
		});
	}

	async function submit(event)
	{
		event?.preventDefault();
		const form = event?.currentTarget?.closest?.('form') ?? event?.target?.closest?.('form');
		if (sending.current)
			return;
		const wrong = check?.(values) ?? {};
		setError(null);
		setErrors(wrong);
		if (Object.keys(wrong).length) {
			focusFirst(form, wrong);
			return;
		}
		sending.current = true;
		setBusy(true);
		try {
			await send(values);
		} catch (caught) {
			if (!isAbort(caught)) {
				const told = {};
				for (const [path, text] of Object.entries(caught.fields ?? {})) {
					const name = fields[path] ?? path;
					if (name in values)
						told[name] = text.charAt(0).toUpperCase() + text.slice(1);
				}
				setErrors(told);
				if (Object.keys(told).length)
					focusFirst(form, told);
				else
					setError(caught);
			}
		} finally {
			sending.current = false;
			setBusy(false);
		}
	}

	const bind = (name) => ({ name, value: values[name], error: errors[name], onInput: (value) => set({ [name]: value }) });
	return { values, set, bind, errors, error, setError, busy, submit };
}
