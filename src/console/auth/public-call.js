/*
 * public-call.js: requests that need no session.
 */
import { api } from '../api.js';

/** Posts without a session and without an organization; answers the data. */
export const publicCall = async (path, json) => (await api.post(path, json, { organization: null, signIn: false })).data;

/** Does it look like an e-mail address? The service decides. */
export const isAddress = (text) => /^\S+@\S+$/.test(text.trim());
