import type { JsonObject } from '../core/exchange.js';
import type { Quirk } from './provider.js';

/** Sends a top-level field under the provider's name for it, unless that one is there already. */
export function rename(from: string, to: string): Quirk {
  return {
    name: `rename ${from} to ${to}`,
    apply(body) {
      if (body[from] === undefined) return body;
      const { [from]: value, ...rest } = body;
      return rest[to] === undefined ? { ...rest, [to]: value } : rest;
    },
  };
}

/** Sends one value of a top-level field as another. */
export function revalue(field: string, from: unknown, to: unknown): Quirk {
  return {
    name: `send ${field} ${String(from)} as ${String(to)}`,
    apply: (body: JsonObject) => (body[field] === from ? { ...body, [field]: to } : body),
  };
}
