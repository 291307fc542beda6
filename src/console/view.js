/*
 * view.js: what every component imports: templates, hooks and signals from one place.
 */
import { h } from './vendor/preact.js';
import htm from './vendor/htm.js';

/** The tag of templates: html`<p class="x">${text}</p>`. Strings become text, never markup. */
export const html = /* @__PURE__ */ htm.bind(h);

export { Fragment, createContext, createRef, h, render } from './vendor/preact.js';
export { useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.js';
export { computed, signal } from './signals.js';
