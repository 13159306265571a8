import { isSource, type Source } from '../core/body.js';
import { GatewayError } from '../core/errors.js';
import type { Exchange, Reply } from '../core/exchange.js';
import type { Target } from '../core/target.js';
import { attempt } from './attempt.js';
import { finish } from './finish.js';
import type { Pipeline } from './parts.js';

/**
 * One upstream try of an exchange that no client waits for: its answer is read to its end, and what it used is settled.
 * A stream is let go: what is given back of it has no body. null: no whole answer came. Never rejects; `x.abort` ends
 * it sooner.
 */
export async function aside(pipeline: Pipeline, x: Exchange, target: Target): Promise<Reply | null> {
  let status = 0;
  let whole: Reply | null = null;
  let error: GatewayError | null = null;
  x.target = target;
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
  finish(pipeline, x, {
    status: status === 0 ? (error?.status ?? 0) : status,
    error,
    totalMs: x.elapsedMs(),
  });
  return whole;
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
