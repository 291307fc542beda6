/*
 * palette-sources.js: what screens add to the palette.
 */

/** Functions that the palette asks when it opens. */
export const sources = new Set();

/**
 * Adds a source: source(abort) answers a promise of entries {label, group, icon, run}. Call it when the module of the
 * screen is loaded; it must ask the service at most once each time.
 */
export function addPaletteSource(source)
{
	sources.add(source);
}
