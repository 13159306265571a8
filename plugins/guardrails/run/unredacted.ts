import type { Exchange } from '../../../src/common/core/exchange.js';
import { getHeader } from '../../../src/common/http/headers.js';
import type { UnredactedBody } from '../../../src/common/ipc/shared.js';
import type { Metric } from '../../../src/common/plugin-host/metrics.js';
import type { HostWith } from '../../../src/common/plugin-host/plugin.js';

/** Bytes of a body that are kept. */
const maxBytes = 256 * 1024;
/** Bytes that a body takes besides its text, so that many small bodies are bounded too. */
const bodyBytes = 512;
/** Bytes that this worker has on their way to the control process; a further body is not kept. */
const maxOpenBytes = 8 * 1024 * 1024;
/** Milliseconds after which a body without an answer counts as lost; until then it may still be in the channel. */
const answerMs = 60_000;

/**
 * Bodies as they were before guardrails changed them, for organisations that keep them: the control process seals them and
 * writes them into the store. Nothing waits for that, and nothing of it is written to the journal.
 */
export class UnredactedBodies {
  #openBytes = 0;
  readonly #lost = { full: 0, failed: 0 };

  constructor(readonly host: Pick<HostWith<'channel'>, 'shared' | 'headerPrefixes'>) {}

  keep(x: Exchange, part: UnredactedBody['part'], body: Buffer): void {
    const { keepUnredacted, keepBodies, organisationId } = x.principal;
    if (keepUnredacted !== true || keepBodies === false || !this.#wants(x)) return;
    const length = Math.min(body.length, maxBytes);
    // A JavaScript string has one or two bytes for each UTF-16 code unit.
    const bytes = bodyBytes + 2 * length;
    if (this.#openBytes + bytes > maxOpenBytes) {
      this.#lost.full++;
      return;
    }
    this.#openBytes += bytes;
    const text = body.toString('utf8', 0, length);
    const question = { organisationId, id: x.id, part, text, cut: body.length > length };
    this.host.shared
      .ask('unredacted-text', question, { withinMs: answerMs })
      .then((answer) => {
        if (answer === 'full') this.#lost.full++;
      })
      .catch(() => {
        this.#lost.failed++;
      })
      .finally(() => {
        this.#openBytes -= bytes;
      });
  }

  /** A call may keep its bodies out of the log. */
  #wants({ request }: Exchange): boolean {
    return this.host.headerPrefixes.every(
      (prefix) => getHeader(request.headers, `${prefix}debug`)?.toLowerCase() !== 'false',
    );
  }

  metrics(): Metric[] {
    return Object.entries(this.#lost)
      .filter(([, value]) => value > 0)
      .map(([reason, value]) => ({
        ...{ name: 'gateway_guardrails_unredacted_lost_total', labels: { reason }, value },
      }));
  }
}
