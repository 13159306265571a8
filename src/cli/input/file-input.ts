import { readFileSync } from 'node:fs';
import { CliError } from '../cli-error.js';

/** The text of a file; `-` is standard input. */
export function readInput(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    const name = file === '-' ? 'standard input' : file;
    throw new CliError(`${name} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

/** Was a value not typed itself, but where it is: `@file`, or `-` for standard input? */
export const isElsewhere = (text: string): boolean => text === '-' || text.startsWith('@');

/** A value as it was typed, or from where it is. */
export const textOf = (text: string): string =>
  isElsewhere(text) ? readInput(text.replace(/^@/, '')) : text;
