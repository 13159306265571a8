import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LineOf, SentRow } from './sink.js';

/** Characters that are written before other work of the process has its turn. */
const turnCharacters = 256 * 1024;

/** The lines of a batch, written over several turns of the event loop: with bodies they are megabytes. */
export async function linesOf(rows: readonly SentRow[], lineOf: LineOf): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let text = '';
  for (const row of rows) {
    text += `${lineOf(row)}\n`;
    if (text.length < turnCharacters) continue;
    pieces.push(Buffer.from(text));
    text = '';
    await nextTurn();
  }
  return Buffer.concat([...pieces, Buffer.from(text)]);
}
