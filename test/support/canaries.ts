import { randomBytes } from 'node:crypto';
import type { Message } from '../../proto/codec.js';
import type { FieldShape, Shape } from '../../proto/shape.js';
import type { AdminMethod } from '../../proto/tree.js';
import {
  type CredentialField,
  credentialFields,
} from '../../src/control-plane/administration/credentials/credential-fields.js';

/** Secrets that can be told again wherever they turn up, and the requests that bring them. */

export interface Canaries {
  /** A new one. `where` says in a failure what was put there. */
  make(where: string): string;
  /** One that was made by the gateway: a key's text, a link. */
  keep(where: string, text: string): void;
  /** Says of each that `bytes` hold, plain or encoded, where it had been put. */
  foundIn(bytes: Buffer | string): string[];
}

/** The middles of the three ways that base64 writes a text, wherever in the bytes around it the text stands. */
function base64Of(text: string): string[] {
  return [0, 1, 2].map((before) => {
    const whole = Buffer.from('\0'.repeat(before) + text).toString('base64');
    return whole.slice(Math.ceil((before * 4) / 3), Math.floor(((before + text.length) * 4) / 3));
  });
}

function formsOf(text: string): string[] {
  const hex = Buffer.from(text).toString('hex');
  const base64 = base64Of(text);
  const url = base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'));
  return [...new Set([text, encodeURIComponent(text), hex, hex.toUpperCase(), ...base64, ...url])];
}

/** What every canary begins with. */
const stem = 'cnry';
/** Each form of a canary begins with one of these: bytes without them need not be searched for every canary there is. */
const stems = formsOf(stem);

interface Form {
  readonly where: string;
  readonly form: Buffer;
}

export function startCanaries(): Canaries {
  const made: Form[] = [];
  const kept: Form[] = [];
  const forms = (where: string, text: string): Form[] =>
    formsOf(text).map((form) => ({ where, form: Buffer.from(form) }));
  return {
    make(where) {
      const heart = `${stem}${randomBytes(12).toString('hex')}`;
      made.push(...forms(where, heart));
      // What stands around it is changed by encodings.
      return `sk-~${heart}~/+=`;
    },
    keep: (where, text) => void kept.push(...forms(where, text)),
    foundIn(bytes) {
      const all = Buffer.from(bytes);
      const possible = stems.some((form) => all.includes(form)) ? [...kept, ...made] : kept;
      return [...new Set(possible.filter(({ form }) => all.includes(form)).map(({ where }) => where))];
    },
  };
}

/** A secret field of a request: the fields that lead to it, the last of which it is. */
export type SecretPath = readonly FieldShape[];

/** Every field of a request that the proto files call secret, inside of messages too. */
export function secretPaths(shape: Shape, before: SecretPath = []): SecretPath[] {
  return shape.fields.flatMap((field): SecretPath[] => {
    const path = [...before, field];
    if (field.rules.secret === true) return [path];
    if (field.kind !== 'message' || before.includes(field)) return [];
    return secretPaths(field.message!, path);
  });
}

/** A canary in the form that the field takes. */
export function inForm({ kind, map }: FieldShape, canary: string): unknown {
  if (map) return { 'X-Secret': canary };
  return kind === 'struct' ? { private_key: canary, inner: [{ more: canary }] } : canary;
}

const plain: CredentialField = { providers: null };

/** The provider that has such a field. */
export const providerWith = (field: string): string =>
  (credentialFields[field] ?? plain).providers?.at(-1) ?? 'openai';

function example({ rules, kind }: FieldShape): unknown {
  if (rules.in !== undefined) return rules.in.split(' ')[0];
  if (rules.uri === true) return 'https://example.com';
  return kind === 'bool' ? true : 'example';
}

/** What else the message needs beside `base` and that field, and what the provider needs with the field. */
export function companions(field: string, shape: Shape, base: Message): Message {
  const own = credentialFields[field] ?? plain;
  const provider = providerWith(field);
  const given: Record<string, unknown> = { ...base };
  for (const place of shape.fields)
    if (place.rules.required === true && place.name !== field) given[place.name] ??= example(place);
  for (const [name, { providers, needed, when }] of Object.entries(credentialFields)) {
    const place = shape.field(name);
    const goesWith = when === undefined || when.join() === own.when?.join();
    if (place === undefined || name === field || needed !== true || !goesWith) continue;
    if (providers?.includes(provider) === true)
      given[name] = own.when?.[0] === name ? own.when[1] : example(place);
  }
  return given;
}

/** A message whose field at `path` is `value`; `beside` stands beside it. */
export function nested(path: SecretPath, value: unknown, beside: Message): Message {
  const [first, ...rest] = path as [FieldShape, ...FieldShape[]];
  if (rest.length === 0) return { ...beside, [first.name]: value };
  const inner = nested(rest, value, beside);
  return { [first.name]: first.list ? [inner] : inner };
}

/** The same message by the names that JSON has for its fields. */
export function asJson(shape: Shape, message: Message): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(message).map(([name, value]) => {
      const field = shape.field(name);
      if (field?.kind !== 'message') return [field?.jsonName ?? name, value];
      const inner = (item: unknown) => asJson(field.message!, item as Message);
      return [field.jsonName, field.list ? (value as unknown[]).map(inner) : inner(value)];
    }),
  );
}

/** Where a method is over REST, for that message: what stands in the path is not in the body. */
export function placeOf(
  { bindings, request: shape }: AdminMethod,
  message: Message,
): { readonly verb: string; readonly path: string; readonly body: Record<string, unknown> } {
  const { verb, path } = bindings[0]!;
  const rest = { ...message };
  const filled = path.replace(/\{([^}]*)\}/g, (_, name: string) => {
    const value = String(rest[name]);
    delete rest[name];
    return encodeURIComponent(value);
  });
  return { verb, path: filled, body: asJson(shape, rest) };
}
