/*
 * people.js: names for the ids of users and keys that resources carry.
 */
import { html, signal, useEffect } from '../view.js';
import { allRows, currentOrganization } from '../api.js';
import { can, session } from '../session.js';

const people = signal({ of: null, rows: [] });

function load()
{
	const of = currentOrganization.value;
	if (people.peek().of === of)
		return;
	people.value = { of, rows: [] };
	if (can('roles:read'))
		allRows('/api/v1/members').then(({ rows }) => {
			if (people.peek().of === of)
				people.value = { of, rows };
		}, () => {});
}

/** The members of the organization: [] until they are known. They are read once for each organization. */
export function useMembers()
{
	useEffect(load, [currentOrganization.value]);
	return people.value.of === currentOrganization.value ? people.value.rows : [];
}

/** The name of who did something: a user, an API key, an operator; none: what stands for nobody. */
export function Person({ id, none = '-' })
{
	const members = useMembers();
	if (!id)
		return html`<span class="muted">${none}</span>`;
	if (id === session.value?.user.id)
		return 'you';
	const found = members.find((one) => one.userId === id);
	if (found)
		return html`<span class="break" title=${found.email}>${found.name || found.email}</span>`;
	return id.startsWith('key_') ? 'an API key' : id.startsWith('usr_') ? 'a former member' : id;
}
