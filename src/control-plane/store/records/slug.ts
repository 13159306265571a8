import { randomBytes } from 'node:crypto';

/** A readable slug that is not taken: `pc-` + `Fast models` → `pc-fast-models-3f9a1c`. */
export function makeSlug(prefix: string, name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  return `${prefix}${words === '' ? '' : `${words}-`}${randomBytes(3).toString('hex')}`;
}
