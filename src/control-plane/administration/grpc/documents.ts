import { changeOf } from '../audit/mask.js';

interface Update {
  readonly update_mask?: readonly string[] | null;
}

/**
 * A document of settings after an update: what the update names inside of `path` is set, or taken out where it is
 * cleared; the rest stays.
 */
export function mergedDocument<T extends object>(
  request: Update,
  path: string,
  names: readonly (keyof T & string)[],
  before: T,
): T {
  const next = { ...before } as Record<string, unknown>;
  for (const name of names) {
    const value = changeOf<unknown>(request, `${path}.${name}`);
    if (value === null) delete next[name];
    else if (value !== undefined) next[name] = value;
  }
  return next as T;
}
