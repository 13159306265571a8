import { readFileSync } from 'node:fs';

/** The program's version, from the nearest package.json above this file. */
export const version = (): string => ownPackage()?.version ?? 'unknown';

/** Folder and version of the package that this program belongs to; null: its package.json cannot be read. */
export function ownPackage(): { readonly folder: URL; readonly version: string } | null {
  for (const up of ['../../../', '../../../../', '../../../../../']) {
    try {
      const folder = new URL(up, import.meta.url);
      const text = readFileSync(new URL('package.json', folder), 'utf8');
      const { version } = JSON.parse(text) as { version?: string };
      // The one of dist/bundle has no version.
      if (version !== undefined) return { folder, version };
    } catch {
      // Source, build and bundle are at different depths: the next one is tried.
    }
  }
  return null;
}
