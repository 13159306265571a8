import { isJsonObject } from '../../common/json/json.js';
import type { RequestFacts } from '../../common/vocabulary/request-facts.js';
import { fieldReader } from './conditions.js';

type SessionReader = (facts: RequestFacts) => string | null;

/** Characters of each part of a conversation's beginning that identify it, in addition to the lengths of its texts. */
const maxPart = 256;
/** Turns before the first question that are read: the first few are enough to identify a conversation. */
const maxTurns = 16;
/** Characters of a field's value: it may be the client's whole body. */
const maxValue = 4096;

/** A session by the values of fields. A request without any of them has no session; without fields a key has one session. */
export function sessionReader(fields: readonly string[]): SessionReader {
  if (fields.length === 0) return () => '';
  const readers = fields.map((field) => fieldReader(field)!);
  return (facts) => {
    let some = false;
    const values = readers.map((read) => {
      const value = read(facts) ?? null;
      if (value !== null) some = true;
      return bounded(value);
    });
    return some ? JSON.stringify(values) : null;
  };
}

/** A field's value, cut to the part that identifies it. */
function bounded(value: unknown): unknown {
  const isShort = typeof value === 'string' ? value.length <= maxValue : typeof value !== 'object';
  if (isShort || value === null) return value;
  const beginning = new Beginning(maxValue);
  beginning.add(value);
  return beginning.text;
}

/**
 * A session by the parts of a conversation that stay the same while it grows: the model, the messages before its first
 * question and that question, in every client format. A provider's prompt cache uses the same beginning.
 */
export function conversationOf(facts: RequestFacts): string | null {
  const body = facts.request.json;
  if (body === null) return null;
  const turns = body['messages'] ?? body['contents'] ?? body['input'] ?? body['prompt'];
  const beginning = new Beginning(maxPart);
  beginning.add(facts.modelAsked);
  beginning.add(body['system'] ?? body['systemInstruction'] ?? body['instructions']);
  beginning.add(body['tools']);
  if (!Array.isArray(turns)) {
    if (typeof turns !== 'string') return null;
    beginning.add(turns);
    return beginning.text;
  }
  for (const turn of turns.slice(0, maxTurns)) {
    beginning.add(turn);
    if (isJsonObject(turn) && (turn['role'] ?? 'user') === 'user') return beginning.text;
  }
  return beginning.text;
}

/** Joins the texts of JSON values, each up to its limit. */
class Beginning {
  text = '';
  #end = 0;

  /** `maxPart`: characters. */
  constructor(readonly maxPart: number) {}

  /** Each part has its own limit: a long system text must not displace the question after it. */
  add(value: unknown): void {
    this.#end = this.text.length + this.maxPart;
    this.#walk(value);
  }

  #walk(value: unknown): void {
    const room = this.#end - this.text.length;
    if (room <= 0 || value === undefined || value === null) return;
    // With its length, so that two texts never look like one.
    if (typeof value === 'string') this.text += `${value.length}:${value.slice(0, room)}`;
    else if (typeof value !== 'object') this.text += String(value);
    else if (Array.isArray(value)) {
      for (const item of value) if (!this.#item(item)) return;
    } else {
      for (const key in value) if (!this.#item((value as Record<string, unknown>)[key])) return;
    }
  }

  /** Is there room for another item? Even an empty one uses some, since a list may have a million. */
  #item(value: unknown): boolean {
    this.text += ',';
    this.#walk(value);
    return this.text.length < this.#end;
  }
}
