import { isSource, type Source } from '../../../common/bytes/body.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange, Reply } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import { attempt } from '../attempt.js';
import { enterChain } from '../chain.js';
import { finish } from '../finish.js';
import type { OpenExchange } from '../open-exchanges.js';
import type { Pipeline } from '../parts.js';

/**
 * One upstream attempt of an exchange without a waiting client: its answer is read to the end, and its usage is
 * settled. A stream is discarded: the returned reply has no body. null: no whole answer came. Never rejects; `x.abort`
 * ends it early.
 */
export async function aside(pipeline: Pipeline, x: Exchange, target: Target): Promise<Reply | null> {
  let status = 0;
  let whole: Reply | null = null;
  let error: GatewayError | null = null;
  x.target = target;
  enterChain(pipeline, x);
  const open = new Unattended(pipeline, x);
  pipeline.open.add(open);
  // Its key may have been revoked while it waited.
  pipeline.open.recheck(open);
  try {
    const reply = await attempt(pipeline, x, target);
    status = reply.status;
    if (reply.body !== null && isSource(reply.body)) {
      await drained(reply.body, pipeline.limits.maxAnswerBytes);
      whole = { ...reply, body: null };
    } else {
      whole = reply;
    }
  } catch (thrown) {
    error = GatewayError.from(thrown);
  }
  pipeline.open.remove(open);
  finish(pipeline, x, {
    status: status === 0 ? (error?.status ?? 0) : status,
    error,
    totalMs: x.elapsedMs(),
  });
  return whole;
}

/** An exchange without a client, which also ends when its key becomes invalid. */
class Unattended implements OpenExchange {
  previous: OpenExchange | null = null;
  next: OpenExchange | null = null;

  constructor(
    readonly pipeline: Pipeline,
    readonly x: Exchange,
  ) {}

  revoke(error: GatewayError): void {
    this.x.abort(error, (thrown) =>
      this.pipeline.log.error({ err: thrown, request_id: this.x.id }, 'an abort listener threw'),
    );
  }
}

function drained(body: Source, maxBytes: number): Promise<void> {
  let bytes = 0;
  return new Promise((resolve, reject) => {
    body.start({
      data(chunk) {
        bytes += chunk.length;
        if (bytes > maxBytes) {
          body.cancel();
          reject(new GatewayError('upstream_too_large', `More than ${maxBytes} bytes were answered.`));
        }
        return true;
      },
      end: resolve,
      error: reject,
    });
  });
}
