import { GatewayError } from '../../../../common/core/errors.js';
import type { Exchange, JsonObject } from '../../../../common/core/exchange.js';
import { isJsonObject, parseJson, stringifyJson } from '../../../../common/json/json.js';
import { type TextAt, withoutTokens, withTexts } from '../../../../common/plugin-host/texts/found-text.js';
import type { EventText, TextFormat } from '../../../../common/plugin-host/texts/text-format.js';
import { OpenText, type Pausing, type TextHook } from './open-text.js';

/** Texts of one stream. */
const maxTexts = 1024;
/** Characters of texts that later events repeat. */
const maxRepeated = 8 * 1024 * 1024;

export type StreamFormat = NonNullable<TextFormat['stream']>;

/** One text of a stream. */
interface StreamedText {
  /** null: it has ended. */
  open: OpenText | null;
  /** The last event with a piece of it. */
  name: string | null;
  json: JsonObject;
  at: EventText;
  /** Characters that came. */
  length: number;
  /** What went on, if later events repeat it. */
  out: string;
}

/** Passes the texts of a stream's events through hooks, and writes the events that this changes or adds. */
export class EventRewriter {
  readonly #texts = new Map<string, StreamedText>();
  #repeated = 0;
  /** Events that were added to a stream whose events are numbered, and the number of the last event. */
  #added = 0;
  #number = -1;

  /** `add`: writes an event that the provider did not send. */
  constructor(
    readonly x: Exchange,
    readonly format: StreamFormat,
    readonly hooks: readonly TextHook[],
    readonly add: (name: string | null, data: string) => void,
  ) {}

  /** What is sent in place of the data of an event; null: it goes on as it is. */
  *event(name: string | null, data: string): Pausing<string | null> {
    const json = parsed(data);
    if (json === null) {
      yield* this.end();
      return null;
    }
    const { texts, ends } = this.format.event(json);
    const here = new Set(texts.flatMap(({ key, whole }) => (whole === true ? [] : [key])));
    if (ends.length > 0) yield* this.#end(ends, here);
    const changes: TextAt[] = [];
    for (const at of texts) {
      const text =
        at.whole === true
          ? yield* this.#whole(at)
          : yield* this.#piece(name, json, at, endsWith(ends, at.key));
      if (text !== at.text) changes.push({ path: at.path, text });
    }
    return this.#written(json, data, changes);
  }

  /** The stream has ended: what is held goes on. */
  *end(): Pausing<void> {
    yield* this.#end([''], new Set());
  }

  /** What is held for too long goes on. */
  *late(now: number): Pausing<void> {
    for (const text of this.#texts.values()) {
      if (text.open === null || text.open.until > now) continue;
      this.#insert(text, yield* text.open.late(now));
    }
  }

  /** When `late` is to be called; Infinity: nothing is held. */
  get until(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { open } of this.#texts.values()) if (open !== null) first = Math.min(first, open.until);
    return first;
  }

  #written(json: JsonObject, data: string, changes: readonly TextAt[]): string | null {
    const { sequence_number: number } = json;
    const isNumbered = typeof number === 'number';
    if (isNumbered) this.#number = number + this.#added;
    const isMoved = isNumbered && this.#added > 0;
    if (changes.length === 0 && !isMoved) return null;
    let made = parseJson(data) as JsonObject;
    if (changes.length > 0) made = withoutTokens(withTexts(made, changes));
    if (isMoved) made = { ...made, sequence_number: this.#number };
    return stringifyJson(made);
  }

  *#piece(name: string | null, json: JsonObject, at: EventText, last: boolean): Pausing<string> {
    const text = this.#texts.get(at.key) ?? this.#begun(name, json, at);
    text.open ??= new OpenText(this.x, 'answer', this.hooks, at, at.key, true);
    Object.assign(text, { name, json, at });
    text.length += at.text.length;
    const out = yield* text.open.push(at.text, last);
    this.#keep(text, out);
    if (last) this.#close(text);
    return out;
  }

  /** A text that came in pieces before is what became of these; one that did not is a text of its own. */
  *#whole(at: EventText): Pausing<string> {
    const known = this.#texts.get(at.key);
    if (known !== undefined && known.open === null && known.length === at.text.length) return known.out;
    if (at.text === '') return '';
    const text = this.#begun(null, {}, at);
    text.length = at.text.length;
    const open = new OpenText(this.x, 'answer', this.hooks, at, at.key, true);
    this.#keep(text, yield* open.push(at.text, true));
    this.#close(text);
    return text.out;
  }

  #begun(name: string | null, json: JsonObject, at: EventText): StreamedText {
    if (this.#texts.size >= maxTexts)
      throw new GatewayError(
        'upstream_stream_error',
        `The provider sent a stream of more than ${maxTexts} texts.`,
      );
    const text = { open: null, name, json, at, length: 0, out: '' };
    this.#texts.set(at.key, text);
    return text;
  }

  *#end(ends: readonly string[], except: ReadonlySet<string>): Pausing<void> {
    for (const text of [...this.#texts.values()]) {
      if (text.open === null || except.has(text.at.key) || !endsWith(ends, text.at.key)) continue;
      const { open } = text;
      this.#insert(text, yield* open.push('', true));
      this.#close(text);
    }
  }

  /** A piece that belongs to no event of the provider. */
  #insert(text: StreamedText, rest: string): void {
    if (rest === '') return;
    this.#keep(text, rest);
    let json = withoutTokens(this.format.piece(text.json, text.at, rest));
    if (typeof text.json['sequence_number'] === 'number') {
      this.#added++;
      json = { ...json, sequence_number: ++this.#number };
    }
    this.add(text.name, stringifyJson(json));
  }

  #keep(text: StreamedText, out: string): void {
    if (this.format.repeats !== true) return;
    this.#repeated += out.length;
    if (this.#repeated > maxRepeated)
      throw new GatewayError(
        'upstream_too_large',
        'The provider sent a stream that is too long to be changed.',
      );
    text.out += out;
  }

  #close(text: StreamedText): void {
    text.open = null;
    text.json = {};
    if (this.format.repeats !== true) this.#texts.delete(text.at.key);
  }
}

const endsWith = (ends: readonly string[], key: string): boolean => ends.some((end) => key.startsWith(end));

/** null: it is no JSON object, as the mark at the end of a stream. */
function parsed(data: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
