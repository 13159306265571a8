import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Files of a plugin's folder that are checked for a syntax error, some 40 ms each. */
const maxChecked = 20;
const checkMs = 5_000;

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

/**
 * `<file>:<line>` of the error that prevents the module `path` from loading; null: unknown. The stack of a syntax error
 * in an ES module has no line, so files are parsed again without being executed: `path`, then the others of its folder.
 */
export function loadFaultAt(path: string, error: unknown): string | null {
  if (!(error instanceof SyntaxError) || /^\S+:\d+\n/.test(error.stack ?? '')) {
    const place = thrownAt(error);
    // The import itself is in the gateway's own code.
    return place?.startsWith(dirname(path)) === true ? place : null;
  }
  const folder = dirname(path);
  const others = readdirSync(folder)
    .filter((name) => ['.js', '.mjs', '.cjs'].includes(extname(name)))
    .map((name) => join(folder, name))
    .filter((file) => file !== path);
  for (const file of [path, ...others].slice(0, maxChecked)) {
    const line = syntaxErrorLine(file);
    if (line !== null) return `${file}:${line}`;
  }
  return null;
}

function syntaxErrorLine(file: string): string | null {
  const { status, stderr } = spawnSync(process.execPath, ['--check', file], {
    encoding: 'utf8',
    timeout: checkMs,
    env: {},
  });
  return status === 0 ? null : (/^\S.*:(\d+)$/m.exec(stderr ?? '')?.[1] ?? null);
}
