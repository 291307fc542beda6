/*
 * reasons.js: why events could not be stored, in words.
 */

/** By the reason of the service: a title, and what to do. */
export const reasonTexts = {
	store_unavailable: { title: 'The store was away', text: 'It could not be written to for too long. When it is well again, replay them.' },
	rejected: { title: 'The store did not take them', text: 'The store works, but refused these. Open one to see its error; when the cause is mended, replay them.' },
	corrupt: { title: 'The bytes are damaged', text: 'What the queue kept cannot be read any more. The operator of the service has the details in the log of the server.' },
};
