/*
 * address-list.js: e-mail addresses in a text.
 */

/** The addresses in a text, once each, in lower case. */
export const addressesIn = (text) => [...new Set(text.toLowerCase().split(/[\s,;]+/).filter(Boolean))];
