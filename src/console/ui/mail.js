/*
 * mail.js: what is said of mails, which a service without a mail server does not send.
 */
import { config } from '../session.js';

/** Does the service send mails? */
export const sendsMail = () => config.value?.mail !== false;

/** Where a link is when no mail brings it. */
export const withoutMail = 'This service sends no mails: whoever operates it has the link.';
