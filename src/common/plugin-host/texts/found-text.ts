import type { JsonObject } from '../../core/exchange.js';
import type { TextKind, TextRole } from './text-piece.js';

export type TextPath = readonly (string | number)[];

/** A text in a body, and where it is. */
export interface TextAt {
  readonly path: TextPath;
  readonly text: string;
}

/** The same, with what it is there for. */
export interface FoundText extends TextAt {
  readonly role: TextRole;
  readonly part: TextKind;
  /** Of the message or choice, from 0; -1: beside the messages. */
  readonly index: number;
}

type Container = Record<string | number, unknown>;

/** The same body with other texts; what is not changed is shared with it. */
export function withTexts(json: JsonObject, changes: readonly TextAt[]): JsonObject {
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

export const items = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Where a text is repeated token by token, at any depth. */
const holders = ['choices', 'candidates', 'output', 'content', 'response', 'part', 'item'];

/** An answer or an event without the log probabilities of its tokens, which repeat its text. */
export function withoutTokens(json: JsonObject): JsonObject {
  const copy: JsonObject = { ...json };
  const { logprobs } = copy;
  if (logprobs != null) copy['logprobs'] = Array.isArray(logprobs) ? [] : null;
  delete copy['logprobsResult'];
  for (const name of holders) {
    const held = copy[name];
    if (Array.isArray(held)) copy[name] = held.map((one) => (isObject(one) ? withoutTokens(one) : one));
    else if (isObject(held)) copy[name] = withoutTokens(held);
  }
  return copy;
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
