/*
 * save-file.js: files that come as a stream: progress, giving up, and whether they came whole.
 */
import { isAbort } from '../api.js';

/** Offers a Blob as a file of that name. */
export function saveBlob(blob, name)
{
	const url = URL.createObjectURL(blob);
	const link = document.createElement('a');
	link.href = url;
	link.download = name;
	document.body.append(link);
	link.click();
	link.remove();
	// The browser has begun to read it by then.
	setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** The name that an answer gives its file. */
export const fileName = (response, otherwise) => /filename="?([^";]+)"?/.exec(response.headers.get('Content-Disposition') ?? '')?.[1] ?? otherwise;

/**
 * Reads an answer to its end: {parts, bytes}. onBytes gets how many there are so far. An answer that breaks off throws: such
 * a file is incomplete. sink: a stream to write to instead of keeping the parts.
 */
export async function readFile(response, { onBytes, sink } = {})
{
	const reader = response.body.getReader();
	const kept = [];
	let bytes = 0;
	for (;;) {
		let piece;
		try {
			piece = await reader.read();
		} catch (error) {
			if (isAbort(error))
				throw error;
			throw Object.assign(new Error('The file broke off: the server stopped, or the credential was revoked'), { code: 'INCOMPLETE_FILE', status: 0, details: [] });
		}
		if (piece.done)
			return { parts: kept, bytes };
		bytes += piece.value.length;
		if (sink)
			await sink.write(piece.value);
		else
			kept.push(piece.value);
		onBytes?.(bytes);
	}
}
