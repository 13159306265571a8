import { readBounded, reasonOf, UnreadableFile } from '../../common/text/bounded-file.js';
import { CliError } from '../cli-error.js';

/** No value and no file that the gateway takes is longer. */
const largestFile = 32 * 1024 * 1024;

/** The text of a file; `-` is standard input. To name one that cannot be read is wrong usage. */
export function readInput(file: string, mostBytes = largestFile): string {
  try {
    return readBounded(file === '-' ? 0 : file, mostBytes);
  } catch (error) {
    const name = file === '-' ? 'standard input' : file;
    if (error instanceof UnreadableFile) throw new CliError(`${name} ${error.message}.`, 2);
    throw new CliError(`${name} cannot be read: ${reasonOf(error)}.`, 2);
  }
}

/** Was a value not typed itself, but where it is: `@file`, or `-` for standard input? */
export const isElsewhere = (text: string): boolean => text === '-' || text.startsWith('@');

/** A value as it was typed, or from where it is. */
export const textOf = (text: string): string =>
  isElsewhere(text) ? readInput(text.replace(/^@/, '')) : text;
