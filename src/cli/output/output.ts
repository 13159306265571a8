import { callerVariable } from '../../common/settings/environment/caller-environment.js';
import { printable, printableLines } from '../../common/text/printable.js';

export { printable, printableLines };

/**
 * Everything that the command line prints goes through here: a terminal acts on control characters, and texts of servers,
 * callers and files can hold some. They could move its cursor, hide lines, set its title, or turn the order of words.
 */

/** Lines for people, on standard output. */
export function writeLine(text: string): void {
  console.log(printableLines(text));
}

/** Lines for people, on standard error. */
export function writeErrorLine(text: string): void {
  console.error(printableLines(text));
}

/** A line on standard error that takes the place of the one before, until the last one. For a terminal. */
export function writeProgress(text: string, isLast: boolean): void {
  process.stderr.write(`\r${printable(text)}${isLast ? '\n' : ''}`);
}

/** JSON with the same meaning, without control characters that a terminal acts on. */
export const jsonText = (value: unknown, indent?: number): string =>
  printableLines(JSON.stringify(value, null, indent));

const codes = { red: 31, green: 32, yellow: 33 } as const;
export type Colour = keyof typeof codes;

/** A line for people, in a colour where it goes to a terminal that shows colours (https://no-color.org). */
export function writeColoured(text: string, colour?: Colour): void {
  const isPlain = colour === undefined || !process.stdout.isTTY || Boolean(callerVariable('NO_COLOR'));
  const line = printable(text);
  console.log(isPlain ? line : `\u001b[${codes[colour]}m${line}\u001b[0m`);
}

/** A value for programs, on standard output. */
export function writeJson(value: unknown, indent?: number): void {
  console.log(jsonText(value, indent));
}

/** Pieces of a file for standard output: as they are, unless they are shown in a terminal. */
export function fileText(
  isTerminal = process.stdout.isTTY,
): (piece: Uint8Array | string) => Uint8Array | string {
  if (!isTerminal) return (piece) => piece;
  // A character may come in two pieces.
  const decoder = new TextDecoder();
  return (piece) =>
    printableLines(typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true }));
}

/** A whole file for standard output. */
export function writeFile(text: string): void {
  const piece = fileText()(text);
  process.stdout.write(piece);
}
