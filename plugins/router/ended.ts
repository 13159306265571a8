import { isSource, type Sink, type Source } from '../../src/common/bytes/body.js';
import type { GatewayError } from '../../src/common/core/errors.js';
import type { Reply } from '../../src/common/core/exchange.js';

/** The same reply; `ended` is called once, when its body has ended, broken, or was discarded. */
export function whenEnded(reply: Reply, ended: () => void): Reply {
  const { body } = reply;
  if (!isSource(body)) {
    ended();
    return reply;
  }
  return { ...reply, body: new Watched(body, ended) };
}

class Watched implements Source, Sink {
  #sink: Sink | null = null;
  #ended: (() => void) | null;

  constructor(
    readonly source: Source,
    ended: () => void,
  ) {
    this.#ended = ended;
  }

  start(sink: Sink): void {
    this.#sink = sink;
    this.source.start(this);
  }

  resume(): void {
    this.source.resume();
  }

  cancel(): void {
    this.source.cancel();
    this.#over();
  }

  data(chunk: Buffer): boolean {
    return this.#sink!.data(chunk);
  }

  end(): void {
    this.#over();
    this.#sink!.end();
  }

  error(error: GatewayError): void {
    this.#over();
    this.#sink!.error(error);
  }

  #over(): void {
    const ended = this.#ended;
    this.#ended = null;
    ended?.();
  }
}
