import type { JsonObject } from '../../common/core/exchange.js';
import { isJsonObject } from '../../common/json/json.js';
import type { Quirk } from './provider.js';

/** A body as the provider wants it. */
export function withQuirks(quirks: readonly Quirk[] | undefined, body: JsonObject): JsonObject {
  let out = body;
  for (const quirk of quirks ?? []) out = quirk.apply(out);
  return out;
}

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

/** Writes `system` where OpenAI has `developer`, for providers that support only the former. */
export const developerAsSystem: Quirk = {
  name: 'send developer messages as system messages',
  apply(body) {
    const { messages } = body;
    if (!Array.isArray(messages) || !messages.some(isDeveloper)) return body;
    return {
      ...body,
      messages: messages.map((message) => (isDeveloper(message) ? { ...message, role: 'system' } : message)),
    };
  },
};

function isDeveloper(message: unknown): message is JsonObject {
  return isJsonObject(message) && message['role'] === 'developer';
}

/** For those who send usage with every stream and refuse to be asked for it. */
export const usageUnasked: Quirk = {
  name: 'do not ask for usage in streams, it comes by itself',
  apply(body) {
    const options = body['stream_options'];
    if (!isJsonObject(options) || options['include_usage'] === undefined) return body;
    const { include_usage: _, ...others } = options;
    const { stream_options: __, ...rest } = body;
    return Object.keys(others).length === 0 ? rest : { ...rest, stream_options: others };
  },
};

/** OpenAI turns thinking off by an effort of none, DeepSeek by a switch of its own. */
export const noEffortAsNoThinking: Quirk = {
  name: 'send reasoning_effort none as thinking disabled',
  apply(body) {
    if (body['reasoning_effort'] !== 'none') return body;
    const { reasoning_effort: _, ...rest } = body;
    return { thinking: { type: 'disabled' }, ...rest };
  },
};
