import type { Exchange } from '../../../src/common/core/exchange.js';
import { editJsonBytes } from '../../../src/common/json/json-edit.js';
import type { Metric } from '../../../src/common/plugin-host/metrics.js';
import type { Host } from '../../../src/common/plugin-host/plugin.js';
import { answerText } from '../answers/answer-text.js';
import { convertStored } from '../answers/chat-replay.js';
import type { Entry } from '../answers/entry.js';
import type { Asked } from '../asked.js';
import { factsOf } from '../config-facts.js';
import { isConvertible, withoutStream } from '../key.js';
import type { Asides } from './asides.js';
import { cosine, type Embedder } from './embedder.js';
import type { Question, Resemblance, Semantic } from './semantic.js';

/** Checks that run at the same time; a further hit is not checked. */
const mostRunning = 2;

/**
 * Checks a share of the semantic hits: the target that gave the answer is called again, with the new
 * question. If the two answers disagree, the stored question no longer leads to that answer.
 */
export class Checks {
  #running = 0;
  readonly #counts = { agreed: 0, disagreed: 0, failed: 0, skipped: 0 };

  constructor(
    readonly host: Pick<Host, 'random' | 'log'>,
    readonly asides: Pick<Asides, 'ask'>,
    readonly embedder: Pick<Embedder, 'embed'>,
    readonly semantic: Pick<Semantic, 'drop'>,
    /** 0 to 1. */
    readonly share: number,
  ) {}

  metrics(): readonly Metric[] {
    return Object.entries(this.#counts).map(([outcome, value]) => ({
      name: 'gateway_cache_semantic_checks_total',
      labels: { outcome },
      value,
    }));
  }

  /** Checks a call that was just answered with `found`, or not. Its client does not wait for this. */
  maybe(x: Exchange, asked: Asked, question: Question, found: Resemblance): void {
    if (this.host.random() >= this.share) return;
    if (this.#running >= mostRunning) {
      this.#counts.skipped++;
      return;
    }
    this.#running++;
    this.#check(x, asked, question, found)
      .then((agrees) => {
        if (agrees === null) this.#counts.failed++;
        else if (agrees) this.#counts.agreed++;
        else {
          this.#counts.disagreed++;
          this.semantic.drop(found.scope, found.key);
          this.host.log.warn({ request_id: x.id }, 'a semantic hit does not agree with a fresh answer');
        }
      })
      .catch((error: unknown) => {
        this.#counts.failed++;
        this.host.log.error({ err: error, request_id: x.id }, 'a semantic hit could not be checked');
      })
      .finally(() => this.#running--);
  }

  /** null: unknown. */
  async #check(x: Exchange, asked: Asked, question: Question, found: Resemblance): Promise<boolean | null> {
    const stored = plainOf(x, found.entry);
    const target = factsOf(x.config).targets.get(found.entry.target);
    if (stored === null || target === undefined) return null;
    // Lets the hit finish its work of this turn of the event loop first.
    await new Promise((turn) => setImmediate(turn));
    const { stream: _, stream_options: __, ...json } = x.request.json!;
    const fresh = await this.asides.ask(x, {
      target,
      endpoint: x.endpoint,
      path: x.request.path,
      bytes: editJsonBytes(x.request.bytes!, withoutStream),
      json,
      asClient: true,
      keepsBodies: true,
      mark: '_cache_check_of',
    });
    const before = answerText(x, stored);
    const now = fresh === null ? null : answerText(x, fresh);
    if (before === null || now === null) return null;
    if (before === now) return true;
    const { embedding, embedder } = question;
    const [a, b] = await Promise.all(
      [before, now].map((text) => this.embedder.embed(x, embedding, embedder, text)),
    );
    if (!a || !b || a.length !== b.length) return null;
    return cosine(a, b) >= asked.rule.similarity;
  }
}

/** The answer in its whole form; null: it cannot be converted. */
function plainOf(x: Exchange, { forms, usage }: Entry): Buffer | null {
  if (forms.plain !== undefined) return forms.plain;
  const from = forms['stream-usage'] === undefined ? 'stream' : 'stream-usage';
  const stream = forms[from];
  return stream !== undefined && isConvertible(x) ? convertStored(stream, from, 'plain', usage) : null;
}
