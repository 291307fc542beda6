/*
 * address-list.js: e-mail addresses in a text.
 */

/** The addresses in a text, once each, in lower case; of `Ann <ann@example.org>` what is in brackets. */
export const addressesIn = (text) => [...new Set(text.toLowerCase().replace(/(?:"[^"]*"|(?<![@.\w-])[^<>,;\n@"]*)\s*<([^<>]*)>/g, ' $1 ').split(/[\s,;]+/).filter(Boolean))];
