/*
 * code-points.js: the service counts characters, the browser counts UTF-16 units; an emoji is one and two.
 */

/** The UTF-16 offset of a character: utf16Offset('😀x', 1) is 2. */
export function utf16Offset(text, characters)
{
	let at = 0;
	for (let left = characters; left > 0 && at < text.length; left--)
		at += text.codePointAt(at) > 0xffff ? 2 : 1;
	return at;
}

/** The UTF-16 range of a position {offset, length} that the service sent; at least one character, if there is one. */
export function rangeOf(text, position)
{
	const start = utf16Offset(text, position.offset);
	const end = start + utf16Offset(text.slice(start), Math.max(1, position.length ?? 1));
	return { start: start === text.length && start > 0 ? start - 1 : start, end: Math.min(Math.max(end, start + 1), text.length) };
}
