/*
 * provider-names.js: what people call identity providers.
 */

/** The name of a provider of GET /api/v1/config. `google` may be any provider with OpenID Connect. */
export const providerNames = { google: 'Google', github: 'GitHub' };
