import { hash } from 'node:crypto';
import type { Exchange } from '../../../src/common/core/exchange.js';
import type { HostWith } from '../../../src/common/plugin-host/plugin.js';
import { type Entry, isFresh } from '../answers/entry.js';
import type { Asked } from '../asked.js';
import { type Keys, part } from '../key.js';
import { questionIn } from '../question.js';
import { TimeoutGuard } from '../shared/timeout-guard.js';
import { type Embedder, type Embedding, vectorText } from './embedder.js';

/** A call's question, and the parts that must be equal in another call to share its answer. */
export interface Question {
  readonly text: string;
  /** Hash of everything but the text. */
  readonly scope: string;
  readonly embedding: Embedding;
  /** Hash of embedder and tenant. */
  readonly embedder: string;
}

/** An answer to a question with the same meaning. */
export interface Resemblance {
  readonly entry: Entry;
  readonly key: string;
  /** The scope of the vectors that it was found in. */
  readonly scope: string;
}

/** Tokens: a request with this many or more is not compared. */
const tooManyTokens = 8191;
/** A look-up that takes longer is a miss. */
const guarded = { deadlineMs: 250, maxFailures: 3, restMs: 1000 };

/** Finds answers by the meaning of their questions. Every failure is a miss: nothing here rejects. */
export class Semantic {
  readonly #guard = new TimeoutGuard(guarded);
  /** There is no index, so embeddings would be useless. */
  #isOff = false;

  constructor(
    readonly host: Pick<HostWith<'channel' | 'tokens'>, 'shared' | 'inputTokens' | 'log'>,
    readonly keys: Pick<Keys, 'scope' | 'identity'>,
    readonly embedder: Pick<Embedder, 'embed'>,
    /** The embedder where a config names none. */
    readonly fallback: Embedding | null,
    /** The answer that is kept under this key; undefined: unknown at the moment. */
    readonly entry: (key: string) => Promise<Entry | null | undefined>,
  ) {}

  /**
   * null: this call is not of the kind that is compared, or there is no embedder. Called before any target is tried.
   */
  async question(x: Exchange, asked: Asked): Promise<Question | null> {
    const embedding = asked.rule.embedding ?? this.fallback;
    if (embedding === null || this.#isOff) return null;
    try {
      if (!(await this.#isShort(x))) return null;
      const said = questionIn(x);
      if (said === null) return null;
      const identity = await this.keys.identity(x, embedding.provider);
      const { organisationId, workspaceId } = x.principal;
      const who = part(embedding.provider) + part(embedding.model) + part(identity);
      const embedder = part(organisationId) + part(workspaceId ?? '') + part(x.config.fingerprint) + who;
      const scope = part(await this.keys.scope(x, asked)) + part(who) + part(said.rest);
      return {
        text: said.text,
        scope: hash('sha256', scope, 'base64url'),
        embedding,
        embedder: hash('sha256', embedder, 'base64url'),
      };
    } catch (error) {
      this.host.log.error(
        { err: error, request_id: x.id },
        'a question could not be taken out of its request',
      );
      return null;
    }
  }

  /** A text has no more tokens than bytes, and usually more than an eighth as many. */
  async #isShort(x: Exchange): Promise<boolean> {
    const { length } = x.request.bytes!;
    if (length < tooManyTokens) return true;
    if (length >= 8 * tooManyTokens) return false;
    const tokens = await this.host.inputTokens(x);
    return tokens !== null && tokens < tooManyTokens;
  }

  /** undefined: it could not be compared; null: no stored question has the same meaning. */
  async find(x: Exchange, asked: Asked, question: Question): Promise<Resemblance | null | undefined> {
    const vector = await this.#vector(x, question);
    if (vector === null) return undefined;
    const scope = scopeOf(question, vector);
    const { similarity } = asked.rule;
    const found = await this.#guard.ask(() =>
      this.host.shared.ask('vector-find', { scope: scope, vector: vectorText(vector), similarity }),
    );
    if (found === null) return undefined;
    if (found.keys === null) {
      this.#isOff = true;
      return undefined;
    }
    for (const key of found.keys) {
      const entry = await this.entry(key);
      if (entry === null) this.drop(scope, key);
      else if (entry !== undefined && isFresh(entry, asked.maxAge, x.startedAt))
        return { entry, key, scope: scope };
    }
    return null;
  }

  /** Stores the question, whose answer is kept under `key`. `ttl`: seconds. */
  async add(x: Exchange, question: Question, key: string, ttl: number): Promise<void> {
    const vector = await this.#vector(x, question);
    if (vector === null) return;
    this.host.shared.send('vector-add', {
      scope: scopeOf(question, vector),
      key,
      vector: vectorText(vector),
      ttl,
    });
  }

  /** The answer no longer belongs to this question. */
  drop(scope: string, key: string): void {
    this.host.shared.send('vector-drop', { scope: scope, key });
  }

  #vector(x: Exchange, { embedding, embedder, text }: Question): Promise<Float32Array | null> {
    return this.embedder.embed(x, embedding, embedder, text);
  }
}

/** A model may change its dimensions: only vectors with the same dimensions can be compared. */
const scopeOf = ({ scope }: Question, { length }: Float32Array): string => `${scope}.${length}`;
