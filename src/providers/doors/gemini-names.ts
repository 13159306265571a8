import type { JsonObject } from '../../core/exchange.js';

/** A member by its name, or as protobuf's JSON also takes it: `systemInstruction`, `system_instruction`. */
export function member(object: JsonObject | null | undefined, name: string): unknown {
  if (object === null || object === undefined) return undefined;
  return object[name] ?? object[snake(name)];
}

export const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** `system_instruction` → `systemInstruction`. */
export const camel = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
