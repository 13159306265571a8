/** Node reads and writes headers as latin1; HTTP libraries send UTF-8 there, if they send more than ASCII at all. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is the whole of ASCII.
const notAscii = /[^\x00-\x7f]/;
export const fromWire = (value: string): string =>
  notAscii.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
export const toWire = (value: string): string =>
  notAscii.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value;
