/*
 * rule-actions.js: enabling, disabling and deleting rules.
 */
import { html } from '../view.js';
import { api } from '../api.js';
import { navigate } from '../router.js';
import { orgPath } from '../session.js';
import { Button } from '../ui/button.js';
import { confirm } from '../ui/confirm.js';
import { Dialog, openDialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/error-notice.js';
import { toast } from '../ui/toast.js';
import { FailingRow } from './rule-tests.js';

/** The failing tests of a RULE_TESTS_FAILING, each with its row. done: what the rule was not. */
export function FailingTests({ error, rule, done = 'enabled' })
{
	const failed = error.details.filter((one) => /^tests\[/.test(one.path ?? ''));
	return html`<${ErrorNotice} error=${{ ...error, message: error.message, details: [], code: error.code, requestId: error.requestId }} title=${`The rule's tests fail: it was not ${done}`}>
		${failed.map((one) => html`<div key=${one.path} class="stack-s"><p class="break">${one.message}</p>
			<${FailingRow} row=${one.row} rows=${rule.tests?.[Number(/\d+/.exec(one.path)[0])]?.rows} /></div>`)}<//>`;
}

function Blocked({ close, error, rule })
{
	return html`<${Dialog} title=${`${rule.name} cannot be enabled`} onClose=${() => close()} footer=${html`<${Button} onClick=${() => close()}>Close<//>
		<${Button} kind="primary" onClick=${() => { close(); navigate(orgPath(`/alert-rules/${rule.id}#tests`)); }} data-autofocus>Open its tests<//>`}>
		${error.code === 'RULE_TESTS_FAILING' ? html`<${FailingTests} error=${error} rule=${rule} />` : html`<${ErrorNotice} error=${error} />`}<//>`;
}

/** Enables or disables a rule; answers the rule as it is then, or null. A refusal is shown with the row that fails. */
export async function setEnabled(rule, enabled, { onDone, quiet } = {})
{
	const change = async (to) => (await api.post(`/api/v1/alert-rules/${rule.id}/${to ? 'enable' : 'disable'}`, {})).data;
	try {
		if (!enabled && rule.state === 'firing') {
			const asked = await confirm({ title: `Disable ${rule.name}?`, danger: true, action: 'Disable',
				text: 'It is firing. Disabling it resolves its alerts, and its channels are told so.', run: () => change(false) });
			if (asked)
				onDone?.(asked.value);
			return asked?.value ?? null;
		}
		const after = await change(enabled);
		onDone?.(after);
		toast(enabled ? `${rule.name} is enabled.` : `${rule.name} is disabled.`, {
			undo: async () => onDone?.(await change(!enabled)) });
		return after;
	} catch (error) {
		if (quiet)
			throw error;
		await openDialog((close) => html`<${Blocked} close=${close} error=${error} rule=${rule} />`);
		return null;
	}
}

/** Deletes a rule after asking for its name; answers whether it did. */
export async function deleteRule(rule)
{
	const done = await confirm({ title: 'Delete this alert rule?', danger: true, action: 'Delete rule', name: rule.name,
		text: 'Its open alerts are resolved. Alerts of the last 90 days stay listed, its tests and deliveries do not.',
		run: () => api.delete(`/api/v1/alert-rules/${rule.id}`, { headers: { 'If-Match': `"${rule.version}"` } }) });
	if (done)
		toast(`${rule.name} is deleted.`);
	return Boolean(done);
}
