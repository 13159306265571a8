/** The text and usage of a simulated model: a function of the request alone, so that a test can compute it too. */

export type Json = Record<string, unknown>;

/** A quarter of the UTF-8 bytes, rounded up: the rule of thumb for tokens, and easy to repeat in a test. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** The text of a message's content, whatever its shape. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  let text = '';
  for (const part of content) {
    const block = part as Json | null;
    if (typeof block?.['text'] === 'string') text += block['text'];
    else if (block?.['type'] === 'tool_result') text += textOf(block['content']);
  }
  return text;
}

/** Three tokens a message beside its text, as chat formats have it. */
export function countMessages(messages: readonly unknown[]): number {
  let tokens = 0;
  for (const message of messages) tokens += 3 + countTokens(textOf((message as Json | null)?.['content']));
  return tokens;
}

/** Cuts an answer to so many tokens. */
export function cutToTokens(text: string, tokens: number): { text: string; cut: boolean } {
  if (countTokens(text) <= tokens) return { text, cut: false };
  const bytes = Buffer.from(text).subarray(0, tokens * 4);
  // A character that was cut in two goes altogether.
  return { text: bytes.toString('utf8').replace(/\ufffd+$/, ''), cut: true };
}

/** In `pieces` parts of like length, or by words. Joined they are the text again. */
export function split(text: string, pieces: number | null): string[] {
  if (text === '') return [''];
  if (pieces === null) return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text];
  const chars = Array.from(text);
  const parts: string[] = [];
  for (let i = 0; i < pieces; i++) {
    const part = chars.slice(
      Math.floor((i * chars.length) / pieces),
      Math.floor(((i + 1) * chars.length) / pieces),
    );
    parts.push(part.join(''));
  }
  return parts;
}

/** A value that fits a JSON schema, for tool arguments and structured answers. */
export function fill(schema: unknown, text: string, depth = 0): unknown {
  const node = schema as Json | null;
  if (node === null || typeof node !== 'object' || depth > 16) return text;
  if (node['const'] !== undefined) return node['const'];
  if (Array.isArray(node['enum'])) return node['enum'][0];
  const either = node['anyOf'] ?? node['oneOf'];
  if (Array.isArray(either)) return fill(either[0], text, depth + 1);
  // Gemini's own schemas name types in upper case.
  switch (String(Array.isArray(node['type']) ? node['type'][0] : node['type']).toLowerCase()) {
    case 'integer':
      return Math.ceil(typeof node['minimum'] === 'number' ? node['minimum'] : 7);
    case 'number':
      return typeof node['minimum'] === 'number' ? node['minimum'] : 7.5;
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return [fill(node['items'], text, depth + 1)];
    case 'string':
      return text;
    default: {
      const out: Json = {};
      const properties = (node['properties'] ?? {}) as Json;
      for (const key of Object.keys(properties)) out[key] = fill(properties[key], text, depth + 1);
      return out;
    }
  }
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
let state = (Date.now() ^ (process.pid << 16)) >>> 0 || 1;

/** An id as providers make them, unlike any other of this process. */
export function newId(prefix: string, length = 24): string {
  let id = prefix;
  for (let i = 0; i < length; i++) {
    // xorshift32: unguessable it need not be, quick it must.
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    id += alphabet[(state >>> 0) % 62];
  }
  return id;
}
