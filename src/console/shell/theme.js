/*
 * theme.js: light, dark, or as the system says.
 */
import { signal } from '../view.js';
import { remember, remembered } from '../storage.js';

/** 'system', 'light' or 'dark'. */
export const theme = signal(remembered('theme') ?? 'system');

/** Shows the chosen theme. */
export function applyTheme()
{
	if (theme.value === 'system')
		delete document.documentElement.dataset.theme;
	else
		document.documentElement.dataset.theme = theme.value;
}

/** Chooses a theme for this machine. */
export function chooseTheme(choice)
{
	theme.value = choice;
	remember('theme', choice === 'system' ? null : choice);
	applyTheme();
}
