import { deepFreeze } from '../../../../../common/bytes/deep-freeze.js';
import type { JsonObject } from '../../../../../common/core/exchange.js';
import { getHeader } from '../../../../../common/http/headers.js';
import type { FormatAnswer, PluginFormat } from '../../../../../common/vocabulary/plugin-format.js';
import { droppedPath, mostDropped } from '../../../../providers/dropped-fields.js';
import { asObject } from '../../../../providers/formats/json-shape.js';
import { readProviderError } from '../../../../providers/formats/provider-error.js';
import type {
  CanonicalReply,
  CanonicalRequest,
  ConversionContext,
  WireError,
  WireFormat,
  WireRequest,
} from '../../../../providers/provider.js';
import type { Watched } from '../watched.js';

/** Characters of an error's message, and of its other members. */
const longestMessage = 4096;
const longestName = 200;

const bounded = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** The `call` that functions of a plugin's format get with an answer. */
export const answerOf = (context: ConversionContext): FormatAnswer => ({
  provider: context.provider,
  model: context.model ?? null,
  header: (name) => getHeader(context.headers ?? [], name.toLowerCase()),
});

/** The body written by a plugin's format. `read`: the request in OpenAI's format, and the fields that were dropped already. */
export function writtenBy(own: PluginFormat, run: Watched, read: WireRequest): WireRequest {
  const dropped = [...read.dropped];
  const drop = (path: string): void => {
    if (dropped.length < mostDropped) dropped.push(droppedPath(String(path)));
  };
  deepFreeze(read.body);
  const body = run('request', () => {
    const written = asObject(own.request(read.body, { drop }));
    if (written === null) throw new TypeError('It must return the body, an object.');
    return written;
  });
  return { body, dropped };
}

/** Reads an error by the plugin's function; by the usual shapes if it has none, or if that fails. */
export function errorBy(own: PluginFormat, run: Watched): WireFormat['errorFromWire'] {
  return (status, body, context): WireError => {
    const usual = readProviderError(status, body, context);
    if (own.error === undefined) return usual;
    try {
      return run('error', () => {
        const result = own.error!(status, body, answerOf(context));
        const given: JsonObject = typeof result === 'string' ? { message: result } : { ...result };
        if (typeof given['message'] !== 'string')
          throw new TypeError('It must return a text, or { message, type?, param?, code? }.');
        const textOf = (name: 'type' | 'param' | 'code'): string | null =>
          typeof given[name] === 'string' ? bounded(given[name], longestName) : usual[name];
        return {
          message: `${context.provider} error: ${bounded(given['message'], longestMessage)}`,
          ...{ type: textOf('type') ?? usual.type, param: textOf('param'), code: textOf('code') },
        };
      });
    } catch {
      return usual;
    }
  };
}

/** Converts each answer once, although its usage is read before. */
export class OwnReplies {
  readonly #seen = new WeakMap<JsonObject, CanonicalReply>();

  constructor(
    readonly own: PluginFormat,
    readonly run: Watched,
    /** Throws a TypeError for an invalid answer. */
    readonly complete: (reply: JsonObject, context: ConversionContext) => CanonicalReply,
  ) {}

  of(body: JsonObject, context: ConversionContext): CanonicalReply {
    const seen = this.#seen.get(body);
    if (seen !== undefined) return seen;
    const reply = this.run('reply', () => {
      const given = asObject(this.own.reply(body, answerOf(context)));
      if (given === null) throw new TypeError('It must return the answer, an object.');
      return this.complete(given, context);
    });
    this.#seen.set(body, reply);
    return reply;
  }
}

/** Does the request have `stream: true`? */
export const isStreamed = (request: CanonicalRequest): boolean => request['stream'] === true;
