import type { JsonObject } from '../../../src/common/core/exchange.js';
import type { TextAt } from '../../../src/common/plugin-host/texts/found-text.js';

/** The texts of a body: those that are judged, and those beside them. */
export interface BodyTexts {
  readonly judged: readonly TextAt[];
  readonly others: readonly TextAt[];
}

type Container = Record<string | number, unknown>;

const step = /([A-Za-z_][\w-]*)|\[(\d+|\*)\]/g;

/** Texts at paths such as `messages[*].content`. What is no text there is passed over. */
export function partsAt(json: JsonObject, paths: readonly string[]): TextAt[] {
  const found: TextAt[] = [];
  for (const path of paths) {
    const steps = [...path.matchAll(step)].map(([, name, index]) =>
      name !== undefined ? name : index === '*' ? null : Number(index),
    );
    visit(json, steps, [], found);
  }
  return found;
}

/** `null` in `steps`: every item of a list. */
function visit(
  value: unknown,
  steps: readonly (string | number | null)[],
  path: readonly (string | number)[],
  found: TextAt[],
): void {
  const [next, ...rest] = steps;
  if (next === undefined) {
    if (typeof value === 'string') found.push({ path, text: value });
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (next === null) {
    if (Array.isArray(value)) for (const [i, item] of value.entries()) visit(item, rest, [...path, i], found);
  } else if (Object.hasOwn(value, next)) {
    visit((value as Container)[next], rest, [...path, next], found);
  }
}
