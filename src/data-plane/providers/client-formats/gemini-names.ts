import type { JsonObject } from '../../../common/core/exchange.js';

/** A member by its name, or as protobuf's JSON also takes it: `systemInstruction`, `system_instruction`. */
export function member(object: JsonObject | null | undefined, name: string): unknown {
  if (object === null || object === undefined) return undefined;
  return object[name] ?? object[memberSnake(name)];
}

/** The API's own names are few and asked for in every request, so each is spelt once. */
const spelt = new Map<string, string>();

function memberSnake(name: string): string {
  let other = spelt.get(name);
  if (other === undefined) {
    other = snake(name);
    spelt.set(name, other);
  }
  return other;
}

export const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** `system_instruction` → `systemInstruction`. */
export const camel = (name: string): string =>
  name.includes('_') ? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name;
