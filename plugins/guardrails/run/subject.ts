import type { JsonObject } from '../../../src/common/core/exchange.js';
import type { HeaderList } from '../../../src/common/http/headers.js';
import { type TextAt, withoutTokens, withTexts } from '../../../src/common/plugin-host/texts/found-text.js';
import type { CheckPhase, RequestContext } from '../check.js';
import type { BodyTexts } from '../texts/parts.js';

/** Facts about the request that do not change while guardrails run. */
export interface Facts
  extends Pick<RequestContext, 'requestType' | 'format' | 'provider' | 'model' | 'metadata'> {
  /** The client's headers: few checks look at them. */
  readonly headers: () => HeaderList;
}

/** What checks see of a request. */
class SubjectContext implements RequestContext {
  readonly requestType: string;
  readonly format: RequestContext['format'];
  readonly provider: string | null;
  readonly model: string | null;
  readonly metadata: RequestContext['metadata'];
  readonly #headers: Facts['headers'];

  constructor(
    readonly phase: CheckPhase,
    readonly texts: readonly string[],
    readonly text: string,
    readonly body: JsonObject | null,
    readonly answer: JsonObject | null,
    facts: Facts,
  ) {
    this.requestType = facts.requestType;
    this.format = facts.format;
    this.provider = facts.provider;
    this.model = facts.model;
    this.metadata = facts.metadata;
    this.#headers = facts.headers;
  }

  get headers(): HeaderList {
    return this.#headers();
  }
}

/** A request or an answer while guardrails look at it and change it. */
export class Subject {
  /** Was anything changed? */
  isChanged = false;
  #texts: readonly string[] | null = null;
  #text: string | null = null;
  #context: RequestContext | null = null;

  constructor(
    readonly phase: CheckPhase,
    readonly facts: () => Facts,
    /** The request's body. */
    public body: JsonObject | null,
    /** The answer's; null before the request, and for a stream. */
    public answer: JsonObject | null,
    /** Reads the texts again once a check has replaced the body. */
    readonly read: (json: JsonObject) => BodyTexts,
    public parts: BodyTexts,
  ) {}

  get texts(): readonly string[] {
    this.#texts ??= this.parts.judged.map(({ text }) => text);
    return this.#texts;
  }

  get text(): string {
    this.#text ??= this.texts.length === 1 ? this.texts[0]! : this.texts.join('\n');
    return this.#text;
  }

  get context(): RequestContext {
    if (this.#context === null) {
      const { phase, facts, texts, text, body, answer } = this;
      this.#context = new SubjectContext(phase, texts, text, body, answer, facts());
    }
    return this.#context;
  }

  /** The same, which may be changed by itself. */
  copy(): Subject {
    return new Subject(this.phase, this.facts, this.body, this.answer, this.read, this.parts);
  }

  /** The texts that a check has made of `judged` or `others`, in their order. */
  replace(which: keyof BodyTexts, texts: readonly string[]): void {
    const before = this.parts[which];
    const changed = before.flatMap(({ path, text }, i): TextAt[] =>
      texts[i] === undefined || texts[i] === text ? [] : [{ path, text: texts[i] }],
    );
    if (changed.length === 0) return;
    const json = this.phase === 'before' ? this.body : this.answer;
    if (json !== null) {
      const made = withTexts(json, changed);
      this.#set(this.phase === 'before' ? made : withoutTokens(made));
    }
    this.parts = {
      ...this.parts,
      [which]: before.map(({ path, text }, i) => ({ path, text: texts[i] ?? text })),
    };
    this.#changed();
  }

  /** A whole new body or answer. */
  replaceBody(json: JsonObject): void {
    this.#set(json);
    this.parts = this.read(json);
    this.#changed();
  }

  #changed(): void {
    this.isChanged = true;
    this.#texts = null;
    this.#text = null;
    this.#context = null;
  }

  #set(json: JsonObject): void {
    if (this.phase === 'before') this.body = json;
    else this.answer = json;
  }
}
