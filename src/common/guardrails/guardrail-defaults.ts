import { knownCheck } from './known-checks.js';

/** The parameters of a check with its defaults, deeply frozen. */
export function withDefaults(
  check: string,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const all: Record<string, unknown> = {};
  for (const [name, { default: fallback }] of Object.entries(
    knownCheck(check)?.parameters.properties ?? {},
  )) {
    if (fallback !== undefined) all[name] = fallback;
  }
  return frozen({ ...all, ...given });
}

function frozen<T extends object>(value: T): T {
  for (const item of Object.values(value)) if (typeof item === 'object' && item !== null) frozen(item);
  return Object.freeze(value);
}
