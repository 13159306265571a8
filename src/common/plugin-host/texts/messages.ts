import type { JsonObject } from '../../core/exchange.js';
import { isJsonObject } from '../../json/json.js';
import { type FoundText, items, type TextPath } from './found-text.js';
import type { RequestTexts } from './text-format.js';
import type { TextKind, TextRole } from './text-piece.js';

const roles: Readonly<Record<string, TextRole>> = {
  system: 'system',
  developer: 'system',
  assistant: 'assistant',
  model: 'assistant',
  tool: 'tool',
  function: 'tool',
};

export const roleOf = (role: unknown): TextRole =>
  (typeof role === 'string' ? roles[role] : undefined) ?? 'user';

/** Steps of a path: a body that is nested deeper is refused before it gets here. */
const mostSteps = 256;

/** Collects the texts of messages. */
export class TextCollector {
  readonly texts: FoundText[] = [];

  constructor(
    public role: TextRole,
    public index: number,
  ) {}

  text(value: unknown, path: TextPath, part: TextKind = 'content', role = this.role): void {
    if (typeof value === 'string') this.texts.push({ path, text: value, role, part, index: this.index });
  }

  /** A text, or a list of parts of which some have a `text`. */
  content(value: unknown, path: TextPath, role = this.role): void {
    if (!Array.isArray(value)) return this.text(value, path, 'content', role);
    for (const [i, part] of value.entries()) {
      if (typeof part === 'string') this.text(part, [...path, i], 'content', role);
      if (!isJsonObject(part)) continue;
      this.text(part['text'], [...path, i, 'text'], part['thought'] === true ? 'thinking' : 'content', role);
      this.text(part['thinking'], [...path, i, 'thinking'], 'thinking', role);
      this.text(part['refusal'], [...path, i, 'refusal'], 'refusal', role);
      this.#insideOf(part, [...path, i], role);
    }
  }

  /** Content of its own: of a result of a tool, a document, a search result. */
  #insideOf(part: JsonObject, path: TextPath, role: TextRole): void {
    const { type, source, functionResponse } = part;
    if (type === 'tool_result') this.content(part['content'], [...path, 'content'], 'tool');
    else if (type === 'search_result') this.content(part['content'], [...path, 'content'], role);
    else if (type === 'document' && isJsonObject(source)) {
      if (source['type'] === 'text') this.text(source['data'], [...path, 'source', 'data'], 'content', role);
      if (source['type'] === 'content') this.content(source['content'], [...path, 'source', 'content'], role);
    } else if (isJsonObject(functionResponse))
      this.#leaves(functionResponse['response'], [...path, 'functionResponse', 'response']);
  }

  /** Every text that a function returned. */
  #leaves(value: unknown, path: TextPath): void {
    if (typeof value === 'string') this.text(value, path, 'content', 'tool');
    else if (typeof value === 'object' && value !== null && path.length < mostSteps)
      for (const [key, child] of Object.entries(value))
        this.#leaves(child, [...path, Array.isArray(value) ? Number(key) : key]);
  }

  /** Calls of tools whose arguments are JSON text. */
  calls(value: unknown, path: TextPath): void {
    for (const [i, call] of items(value).entries())
      if (isJsonObject(call)) this.arguments(call['function'], [...path, i, 'function']);
  }

  /** The arguments of one. */
  arguments(value: unknown, path: TextPath): void {
    if (isJsonObject(value)) this.text(value['arguments'], [...path, 'arguments'], 'arguments');
  }
}

/** The texts of a list of messages, each with a role; what is beside them comes first. */
export function messageTexts(
  list: unknown,
  path: TextPath,
  read: (message: Record<string, unknown>, into: TextCollector, path: TextPath) => void,
  besides: readonly FoundText[] = [],
): RequestTexts {
  const messages = items(list);
  const texts = [...besides];
  for (const [i, message] of messages.entries()) {
    if (!isJsonObject(message)) continue;
    const collector = new TextCollector(roleOf(message['role']), i);
    read(message, collector, [...path, i]);
    texts.push(...collector.texts);
  }
  return { texts, last: messages.length - 1 };
}

/** The texts beside the messages. */
export function besideMessages(fill: (into: TextCollector) => void): readonly FoundText[] {
  const collector = new TextCollector('system', -1);
  fill(collector);
  return collector.texts;
}

/** Texts that are no messages: all of them are one. */
export function plainTexts(fill: (into: TextCollector) => void): RequestTexts {
  const collector = new TextCollector('user', 0);
  fill(collector);
  return { texts: collector.texts, last: 0 };
}
