import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';

/** A data worker's main thread is blocked. */
export interface Stall {
  readonly ms: number;
  /** The one in which it does; several, if only open promises of theirs are known. */
  readonly hooks: readonly { readonly plugin: string; readonly hook: string }[];
}

/** Characters of a report. */
const maxLength = 64 * 1024;

/** Gets the reports of a data worker's watching thread. */
export function onStall(child: ChildProcess, listener: (stall: Stall) => void): void {
  const pipe = child.stdio?.[4] as Readable | null | undefined;
  if (!pipe) return;
  let text = '';
  pipe.setEncoding('utf8');
  pipe.on('error', () => {});
  pipe.on('data', (piece: string) => {
    text = (text + piece).slice(-maxLength);
    const end = text.indexOf('\n');
    if (end < 0) return;
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    listener(JSON.parse(line) as Stall);
  });
}
