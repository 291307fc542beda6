/*
 * signals.js: values that draw the components that read them again when they change. The part of @preact/signals that
 * the console needs, in a tenth of its size.
 */
import { options } from './vendor/preact.js';

// What reads signals now: a component that is being drawn, or a computed value.
let reader = null;

class Signal
{
	readers = new Set();

	constructor(value)
	{
		this.now = value;
	}

	get value()
	{
		if (reader) {
			this.readers.add(reader);
			reader.sources.add(this);
		}
		return this.now;
	}

	set value(next)
	{
		if (Object.is(next, this.now))
			return;
		this.now = next;
		for (const one of [...this.readers])
			one.changed();
	}

	/** The value, for who does not want to hear of changes. */
	peek()
	{
		return this.now;
	}
}

function forget(one)
{
	for (const source of one.sources)
		source.readers.delete(one);
	one.sources.clear();
}

/** A value: components that read `.value` while they are drawn are drawn again when it is set to another one. */
export const signal = (value) => new Signal(value);

/** A value that is computed from others, at once when one of them changes. */
export function computed(read)
{
	const made = signal();
	const own = { sources: new Set(), changed: () => {
		forget(own);
		const before = reader;
		reader = own;
		try {
			made.value = read();
		} finally {
			reader = before;
		}
	} };
	own.changed();
	return made;
}

// Preact calls __r before it draws a component, diffed when that and all below is done, __e when it failed.
function before(name, call)
{
	const next = options[name];
	options[name] = (...all) => {
		call(all[0]);
		next?.(...all);
	};
}
before('__r', ({ __c: component }) => {
	reader = component.reader ??= { sources: new Set(), changed: () => component.forceUpdate() };
	forget(reader);
});
const stop = () => { reader = null; };
before('diffed', stop);
before('unmount', ({ __c: component }) => {
	if (component?.reader)
		forget(component.reader);
});
before('__e', stop);
