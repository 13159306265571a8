/** C0 without the newline, DEL, C1; line and paragraph separators; marks, embeddings and isolates of direction. */
const active =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** As JSON has it: JSON stays JSON. */
const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A text of several lines without active control characters for a terminal: they are escaped, `\u001b`. */
export const printableLines = (text: string): string => text.replace(active, escaped);

/** The same as one line. */
export const printable = (text: string): string => printableLines(text).replaceAll('\n', '\\n');
