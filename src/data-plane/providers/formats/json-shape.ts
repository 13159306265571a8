import type { JsonObject } from '../../../common/core/exchange.js';

/** The value if it is a JSON object, else null. A number too large for a double is an object of a class and is not one. */
export function asObject(value: unknown): JsonObject | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
  const proto: unknown = Object.getPrototypeOf(value);
  return proto === Object.prototype || proto === null ? (value as JsonObject) : null;
}

export function asArray(value: unknown): readonly unknown[] | null {
  return Array.isArray(value) ? value : null;
}

export function asString(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** No answer uses more. Sums of such counts are exact. */
const mostCounted = 1_000_000_000_000;

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= mostCounted;

/** A token count as providers report it; what is no count is 0. */
export function count(value: unknown): number {
  return isCount(value) ? Math.trunc(value) : 0;
}

/**
 * Is there a count under at least one of these names, and nothing else under any of them? Otherwise the report cannot be used:
 * an answer without a report is counted, and one with an empty report would be free.
 */
export function hasCounts(raw: JsonObject | null, names: readonly string[]): boolean {
  let found = false;
  for (const name of names) {
    const value = raw?.[name] ?? null;
    if (value === null) continue;
    if (!isCount(value)) return false;
    found = true;
  }
  return found;
}

/** Characters of a client's own text in an error message. */
const longestShown = 64;

/** A client's own value in an error message, as JSON; of a long text its beginning, of a list or an object nothing. */
export function shortJson(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > longestShown ? `${value.slice(0, longestShown)}…` : value);
  if (Array.isArray(value)) return '[…]';
  return typeof value === 'object' && value !== null ? '{…}' : (JSON.stringify(value) ?? 'none');
}

/** The content of an assistant message; of one without content, its refusal, for which OpenAI has a field of its own. */
export function contentOrRefusal(message: JsonObject): unknown {
  const { content, refusal } = message;
  const isEmpty = content === undefined || content === null || content === '';
  return isEmpty && typeof refusal === 'string' && refusal !== '' ? refusal : content;
}
