import { GatewayError } from '../../../common/core/errors.js';

/** Characters; a piece of text counts as a few more, which it takes in memory. */
const mostCharacters = 16 * 1024 * 1024;
const pieceCharacters = 32;
/** Choices, blocks and calls of tools. */
const mostParts = 10_000;

/**
 * Counts what the conversion of one stream keeps until its end. Throws `upstream_stream_error` if it becomes too much: a stream
 * may last for as long as its provider sends, but not take the worker's memory.
 */
export class KeptParts {
  #characters = 0;
  #parts = 0;

  /** A piece of text is kept, of so many characters. */
  text(characters: number): void {
    if (characters === 0) return;
    this.#characters += characters + pieceCharacters;
    if (this.#characters > mostCharacters)
      throw tooMuch(`texts and calls of tools of more than ${mostCharacters / 1024 / 1024} MiB`);
  }

  /** A choice, a block or a call has begun. */
  part(): void {
    if (++this.#parts > mostParts) throw tooMuch(`more than ${mostParts} choices, blocks and calls of tools`);
  }
}

const tooMuch = (what: string): GatewayError =>
  new GatewayError('upstream_stream_error', `The provider sent a stream with ${what}.`);
