type Json = Record<string, unknown>;

/** The complete texts of an answer: a token may span two of a stream's chunks. */
class Texts {
  readonly #texts = new Map<string, string>();

  add(of: string, text: unknown): void {
    if (typeof text === 'string' && text !== '') this.#texts.set(of, (this.#texts.get(of) ?? '') + text);
  }

  values(): Iterable<string> {
    return this.#texts.values();
  }
}

/**
 * Output tokens of an answer, or of its received part: server-sent events or JSON, OpenAI's shapes, Anthropic's or
 * Gemini's, distinguished by their fields.
 */
export function readAnswer(bytes: Uint8Array, events: boolean, count: (text: string) => number): number {
  const text = new TextDecoder().decode(bytes);
  const texts = new Texts();
  if (events) {
    for (const line of text.split(/\r\n|\n|\r/)) {
      if (!line.startsWith('data:')) continue;
      const event = parse(line.slice(5));
      if (event === null) continue;
      fromOpenAi(event, texts);
      fromAnthropicEvent(event, texts);
      fromGemini(event, texts);
    }
  } else {
    const body = parse(text);
    if (body === null) fromTorn(text, texts);
    else {
      fromOpenAi(body, texts);
      fromParts('answer', body['content'], texts);
      fromItems(body['output'], texts);
      fromGemini(body, texts);
    }
  }
  let tokens = 0;
  for (const each of texts.values()) tokens += count(each);
  return tokens;
}

/** An answer of `chat/completions` or `completions`, or a chunk of one. */
function fromOpenAi(body: Json, texts: Texts): void {
  for (const choice of list(body['choices'])) {
    if (!isObject(choice)) continue;
    const of = `choice ${choice['index'] ?? 0}`;
    texts.add(of, choice['text']);
    const message = choice['delta'] ?? choice['message'];
    if (!isObject(message)) continue;
    if (typeof message['content'] === 'string') texts.add(of, message['content']);
    else fromParts(of, message['content'], texts);
    texts.add(of, message['refusal']);
    texts.add(`${of} reasoning`, message['reasoning_content'] ?? message['reasoning']);
    for (const [position, call] of list(message['tool_calls']).entries()) {
      if (!isObject(call) || !isObject(call['function'])) continue;
      const index = call['index'] ?? position;
      texts.add(`${of} tool ${index} name`, call['function']['name']);
      texts.add(`${of} tool ${index}`, call['function']['arguments']);
    }
  }
}

function fromAnthropicEvent(event: Json, texts: Texts): void {
  const of = `block ${event['index'] ?? 0}`;
  const block = event['content_block'];
  if (isObject(block)) fromPart(of, block, texts);
  const delta = event['delta'];
  if (isObject(delta)) texts.add(of, delta['text'] ?? delta['thinking'] ?? delta['partial_json']);
  // The Responses API has its pieces as plain texts.
  else texts.add(`item ${event['output_index'] ?? 0}`, delta);
}

/** The output of the Responses API. */
function fromItems(items: unknown, texts: Texts): void {
  for (const [index, item] of list(items).entries()) {
    if (!isObject(item)) continue;
    fromParts(`item ${index}`, item['content'] ?? item['summary'], texts);
    texts.add(`item ${index} name`, item['name']);
    texts.add(`item ${index}`, item['arguments']);
  }
}

/** An answer of `generateContent`, or a piece of one. */
function fromGemini(body: Json, texts: Texts): void {
  for (const candidate of list(body['candidates'])) {
    const content = isObject(candidate) ? candidate['content'] : null;
    for (const part of isObject(content) ? list(content['parts']) : []) {
      if (!isObject(part)) continue;
      texts.add('candidate', part['text']);
      if (isObject(part['functionCall'])) texts.add('candidate calls', JSON.stringify(part['functionCall']));
    }
  }
}

function fromParts(of: string, parts: unknown, texts: Texts): void {
  for (const [index, part] of list(parts).entries())
    if (isObject(part)) fromPart(`${of} part ${index}`, part, texts);
}

function fromPart(of: string, part: Json, texts: Texts): void {
  texts.add(of, part['text'] ?? part['thinking']);
  if (part['type'] !== 'tool_use') return;
  texts.add(`${of} name`, part['name']);
  const input = part['input'];
  // A stream begins with an empty one and sends the rest in pieces.
  if (isObject(input) && Object.keys(input).length > 0) texts.add(of, JSON.stringify(input));
}

/** Incomplete JSON: the strings in the members for a model's text, including an unfinished last one. */
const written = /"(?:content|text|thinking|reasoning_content|arguments)"\s*:\s*"((?:[^"\\]|\\.)*)/g;

function fromTorn(text: string, texts: Texts): void {
  for (const [, string = ''] of text.matchAll(written)) {
    // A cut may have gone through an escape.
    for (let end = string.length; end >= Math.max(0, string.length - 6); end--) {
      const whole = parseString(string.slice(0, end));
      if (whole === null) continue;
      texts.add('torn', whole);
      break;
    }
  }
}

function parseString(inside: string): string | null {
  try {
    return JSON.parse(`"${inside}"`) as string;
  } catch {
    return null;
  }
}

function parse(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
