import { createHash } from 'node:crypto';
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
function revalue(field: string, from: unknown, to: unknown): Quirk {
  return {
    name: `send ${field} ${String(from)} as ${String(to)}`,
    apply: (body: JsonObject) => (body[field] === from ? { ...body, [field]: to } : body),
  };
}

/** Writes `system` where OpenAI has `developer`, for providers that support only the former. */
export const developerAsSystem: Quirk = {
  name: 'send developer messages as system messages',
  apply: (body) =>
    withMessages(body, (message) =>
      message['role'] === 'developer' ? { ...message, role: 'system' } : message,
    ),
};

/** Each message as `edit` returns it; the body itself where that is always the same message. */
function withMessages(body: JsonObject, edit: (message: JsonObject) => JsonObject): JsonObject {
  const { messages } = body;
  if (!Array.isArray(messages)) return body;
  const edited = withObjects(messages, edit);
  return edited === messages ? body : { ...body, messages: edited };
}

/** Each object of a list as `edit` returns it; the list itself where that is always the same object. */
function withObjects(list: readonly unknown[], edit: (item: JsonObject) => JsonObject): readonly unknown[] {
  let edited: unknown[] | null = null;
  for (const [i, item] of list.entries()) {
    const made = isJsonObject(item) ? edit(item) : item;
    if (made === item) continue;
    edited ??= [...list];
    edited[i] = made;
  }
  return edited ?? list;
}

const shortId = /^[a-zA-Z0-9]{9}$/;
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The same id always becomes the same id. */
function shortIdOf(id: unknown): unknown {
  if (typeof id !== 'string' || shortId.test(id)) return id;
  const bytes = createHash('sha256').update(id).digest().subarray(0, 9);
  return Array.from(bytes, (byte) => letters[byte % letters.length]).join('');
}

/** For those who refuse ids of tool calls other than nine letters or digits: ids that other providers made. */
const shortCallIds: Quirk = {
  name: 'send ids of tool calls as nine letters or digits',
  apply: (body) =>
    withMessages(body, (message) => {
      const { tool_calls: calls, tool_call_id: id } = message;
      if (id !== undefined) {
        const short = shortIdOf(id);
        return short === id ? message : { ...message, tool_call_id: short };
      }
      if (!Array.isArray(calls)) return message;
      const edited = withObjects(calls, (call) => {
        const short = shortIdOf(call['id']);
        return short === call['id'] ? call : { ...call, id: short };
      });
      return edited === calls ? message : { ...message, tool_calls: edited };
    }),
};

/** For those who refuse the thinking of earlier answers in the field in which the gateway's answers have it. */
const withoutThinkingBack: Quirk = {
  name: 'do not send reasoning_content of messages',
  apply: (body) =>
    withMessages(body, (message) => {
      if (message['reasoning_content'] === undefined) return message;
      const { reasoning_content: _, ...rest } = message;
      return rest;
    }),
};

/** For providers that refuse fields which have no effect on the answer. */
function without(...fields: readonly string[]): Quirk {
  return {
    name: `do not send ${fields.join(', ')}`,
    apply(body) {
      if (!fields.some((field) => body[field] !== undefined)) return body;
      return Object.fromEntries(Object.entries(body).filter(([key]) => !fields.includes(key)));
    },
  };
}

/** Mistral's part for a file, whose own part `file` names one that it stores (docs.mistral.ai/capabilities/document_ai). */
const documentUrls: Quirk = {
  name: 'send file_data as document_url',
  apply: (body) =>
    withMessages(body, (message) => {
      if (!Array.isArray(message['content'])) return message;
      const content = withObjects(message['content'], (part) => {
        const file = part['type'] === 'file' && isJsonObject(part['file']) ? part['file'] : null;
        if (typeof file?.['file_data'] !== 'string') return part;
        const { file_data: url, filename: name } = file;
        const named = typeof name === 'string' ? { document_name: name } : {};
        return { type: 'document_url', document_url: url, ...named };
      });
      return content === message['content'] ? message : { ...message, content };
    }),
};

/** For those who send usage with every stream and refuse to be asked for it. */
const usageUnasked: Quirk = {
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

/**
 * Mistral's models, wherever they run. Unknown fields are refused with 422 `extra_forbidden`
 * (github.com/editor-code-assistant/eca/issues/231, github.com/dnakov/anon-kode/issues/53), thinking of earlier answers
 * too (github.com/BerriAI/litellm/issues/30835), `user` (github.com/michelle-avery/openai-compatible-conversation/issues/26), and longer ids with 400 (github.com/langchain-ai/langchain/pull/24668).
 */
export const mistralQuirks: readonly Quirk[] = [
  developerAsSystem,
  usageUnasked,
  rename('max_completion_tokens', 'max_tokens'),
  rename('seed', 'random_seed'),
  revalue('tool_choice', 'required', 'any'),
  shortCallIds,
  documentUrls,
  withoutThinkingBack,
  without('user', 'safety_identifier', 'service_tier', 'store'),
];
