import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `<file>:<line>` where the code of a file threw `error`, by its stack; null: no file is in it. */
export function thrownAt(error: unknown): string | null {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  // The line above the message, for syntax errors of CommonJS files and for imports without an export.
  const above = /^(file:\/\/\/.+|\/.+|[A-Za-z]:\\.+):(\d+)\n/.exec(stack);
  if (above !== null) return `${fileOf(above[1]!)}:${above[2]}`;
  for (const frame of stack.split('\n    at ').slice(1)) {
    const place = /(file:\/\/\/[^()]+|\/[^()]+|[A-Za-z]:\\[^()]+):(\d+):\d+\)?$/.exec(frame);
    if (place !== null) return `${fileOf(place[1]!)}:${place[2]}`;
  }
  return null;
}

const fileOf = (place: string): string => (place.startsWith('file://') ? fileURLToPath(place) : place);

/** `<file>:<line>` of the error that prevents the module `path` from loading; null: unknown. */
export function loadFaultAt(path: string, error: unknown): string | null {
  const place = thrownAt(error);
  // A place in the gateway's own code is of no use.
  return place?.startsWith(dirname(path)) === true ? place : null;
}
