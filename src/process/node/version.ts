import { readFileSync } from 'node:fs';

/** The program's version, from the nearest package.json above this file. */
export function version(): string {
  for (const up of ['../../../', '../../../../', '../../../../../']) {
    try {
      const text = readFileSync(new URL(`${up}package.json`, import.meta.url), 'utf8');
      return (JSON.parse(text) as { version: string }).version;
    } catch {
      // Source, build and bundle lie at different depths: another one it is.
    }
  }
  return 'unknown';
}
