import type { JsonObject } from '../../../src/common/core/exchange.js';

/** A text in a body, and where it is. */
export interface TextPart {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

/** The texts of a body: those that are judged, and those beside them. */
export interface BodyTexts {
  readonly judged: readonly TextPart[];
  readonly others: readonly TextPart[];
}

type Container = Record<string | number, unknown>;

/** The same body with other texts; what is not changed is shared with it. */
export function withTexts(json: JsonObject, changes: readonly TextPart[]): JsonObject {
  const root = { ...json };
  const copies = new Set<unknown>();
  for (const { path, text } of changes) {
    let at: Container = root;
    for (const key of path.slice(0, -1)) {
      const child = at[key];
      if (!copies.has(child)) {
        const copy = Array.isArray(child) ? [...child] : { ...(child as object) };
        copies.add(copy);
        at[key] = copy;
      }
      at = at[key] as Container;
    }
    at[path.at(-1)!] = text;
  }
  return root;
}

const step = /([A-Za-z_][\w-]*)|\[(\d+|\*)\]/g;

/** Texts at paths such as `messages[*].content`. What is no text there is passed over. */
export function partsAt(json: JsonObject, paths: readonly string[]): TextPart[] {
  const found: TextPart[] = [];
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
  found: TextPart[],
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
