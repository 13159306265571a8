/**
 * The end of a chunked body, written directly: `end('', true)` would write `Connection: close` into the middle of it.
 * `writeHeader` joins name and value by ": ", so there has to be a trailer field; RFC 9112 §7.1.2 allows any.
 */
export const lastChunk = '\r\n0\r\nx-end';
export const lastChunkValue = '1\r\n';
