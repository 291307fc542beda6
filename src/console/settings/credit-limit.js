/*
 * credit-limit.js: how many AI credits a month a member or a token may use.
 */
import { html, useId } from '../view.js';
import { Button } from '../ui/button.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { Field } from '../ui/field.js';
import { formatNumber } from '../ui/numbers.js';
import { useForm } from '../ui/use-form.js';
import { checkCap } from './new-token.js';

function CreditLimit({ close, of, used, limit, send })
{
	const id = useId();
	const form = useForm({
		values: { aiCreditLimit: limit === null ? '' : String(limit) },
		check: (values) => (checkCap(values.aiCreditLimit) ? { aiCreditLimit: checkCap(values.aiCreditLimit) } : {}),
		send: async (values) => close(await send(values.aiCreditLimit === '' ? null : Number(values.aiCreditLimit))),
	});
	return html`<${Dialog} title="Cap of AI credits" size="small" onClose=${form.busy ? undefined : () => close(null)} footer=${html`
		<${Button} onClick=${() => close(null)} disabled=${form.busy}>Cancel<//>
		<${Button} kind="primary" type="submit" form=${id} busy=${form.busy}>Save<//>`}>
		<form class="stack" id=${id} onSubmit=${form.submit} novalidate>
			<p class="break"><strong><bdi>${of}</bdi></strong> has used ${formatNumber(used)} AI credits this month.</p>
			<${Field} label="At most, a month" inputmode="numeric" maxlength="10" placeholder="no cap" data-autofocus
				hint="Nothing: as many as the organization has. 0: none." ...${form.bind('aiCreditLimit')} />
			<${ErrorNotice} error=${form.error} />
		</form>
	<//>`;
}

/** Asks for a cap; send(number or null) sets it and answers what this answers. Null: the user went back. */
export const askCreditLimit = (options) => openDialog((close) => html`<${CreditLimit} close=${close} ...${options} />`);

/** "12 of 100", or "12". */
export const creditsText = (one) => (one.aiCreditLimit === null ? formatNumber(one.aiCreditsUsed)
	: `${formatNumber(one.aiCreditsUsed)} of ${formatNumber(one.aiCreditLimit)}`);
