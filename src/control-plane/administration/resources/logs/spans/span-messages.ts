import type { Attributes, OtlpSpan } from './otlp-request.js';
import { SpanAttributes } from './span-attributes.js';

/** The bodies of a call as far as its span has them, in the form of OpenAI's chat. */

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parameters of a request, by their names in its body. */
const parameters: Readonly<Record<string, string>> = {
  temperature: 'gen_ai.request.temperature',
  top_p: 'gen_ai.request.top_p',
  top_k: 'gen_ai.request.top_k',
  max_tokens: 'gen_ai.request.max_tokens',
  frequency_penalty: 'gen_ai.request.frequency_penalty',
  presence_penalty: 'gen_ai.request.presence_penalty',
  stop: 'gen_ai.request.stop_sequences',
  seed: 'gen_ai.request.seed',
  n: 'gen_ai.request.choice.count',
};

/** As JSON; null: the span has nothing of it. */
export function requestBody(span: OtlpSpan, model: string | null): string | null {
  const of = new SpanAttributes(withEvents(span));
  const given = parsedObject(of.json('llm.invocation_parameters'));
  for (const [name, attribute] of Object.entries(parameters)) {
    const value = span.attributes.get(attribute);
    if (value !== undefined && value !== null) given[name] = value;
  }
  const messages = inputMessages(of);
  const input = messages === null ? of.json('input.value') : null;
  const tools = of.json('gen_ai.tool.definitions');
  if (messages === null && input === null && Object.keys(given).length === 0) return null;
  return JSON.stringify({
    ...(model !== null && { model }),
    ...given,
    ...(messages !== null && { messages }),
    ...(input !== null && { input }),
    ...(tools !== null && { tools }),
  });
}

/** As JSON; null: the span has nothing of it. */
export function responseBody(span: OtlpSpan, model: string | null): string | null {
  const of = new SpanAttributes(withEvents(span));
  const id = of.text('gen_ai.response.id');
  const reasons = of.json('gen_ai.response.finish_reasons');
  const messages = outputMessages(of);
  const output = messages === null ? of.json('output.value') : null;
  if (messages === null && output === null && id === null) return null;
  const choices = (messages ?? []).map((message, index) => ({
    ...{ index, message: { role: message['role'] ?? 'assistant', ...without(message, 'finish_reason') } },
    finish_reason: message['finish_reason'] ?? (Array.isArray(reasons) ? (reasons[index] ?? null) : null),
  }));
  return JSON.stringify({
    ...(id !== null && { id }),
    ...(model !== null && { model }),
    ...(choices.length > 0 && { choices }),
    ...(output !== null && { output }),
  });
}

/** Messages may be in events of the span: `gen_ai.client.inference.operation.details`, `gen_ai.content.prompt`. */
function withEvents({ attributes, events }: OtlpSpan): Attributes {
  const withContents = events.filter(({ name }) => name.startsWith('gen_ai.'));
  if (withContents.length === 0) return attributes;
  return new Map([...withContents.flatMap((event) => [...event.attributes]), ...attributes]);
}

function inputMessages(of: SpanAttributes): Fields[] | null {
  const messages = listedMessages(of.json('gen_ai.input.messages', 'gen_ai.prompt'));
  const found = messages ?? numberedMessages(of, 'gen_ai.prompt', 'llm.input_messages', 'llm.prompts');
  const system = listedMessages(of.json('gen_ai.system_instructions'))?.map((message) => ({
    ...message,
    role: 'system',
  }));
  return system === undefined ? found : [...system, ...(found ?? [])];
}

const outputMessages = (of: SpanAttributes): Fields[] | null =>
  listedMessages(of.json('gen_ai.output.messages', 'gen_ai.completion')) ??
  numberedMessages(of, 'gen_ai.completion', 'llm.output_messages', 'llm.completions');

/** A list of messages, a single one, or text. */
function listedMessages(given: unknown): Fields[] | null {
  if (given === null) return null;
  const list = Array.isArray(given) ? given : [given];
  return list.map((message) =>
    isObject(message) ? plainMessage(message) : { role: 'user', content: message },
  );
}

/** The conventions have `parts`; those that are text alone become `content`. */
function plainMessage(message: Fields): Fields {
  const { parts } = message;
  if (typeof message['type'] === 'string' && 'content' in message && !('role' in message))
    return { content: message['content'] };
  if (!Array.isArray(parts)) return message;
  const isText = parts.every((part) => isObject(part) && part['type'] === 'text');
  const content = isText ? parts.map((part) => String((part as Fields)['content'] ?? '')).join('\n') : parts;
  return { ...without(message, 'parts'), content };
}

function numberedMessages(of: SpanAttributes, ...prefixes: readonly string[]): Fields[] | null {
  for (const prefix of prefixes) {
    const found = of.numbered(prefix);
    if (found.length > 0) return found;
  }
  return null;
}

function parsedObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? { ...value } : {};
}

const without = (fields: Fields, name: string): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
