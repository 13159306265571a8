import type { Exchange, Reply } from '../../../src/common/core/exchange.js';
import type { Target } from '../../../src/common/core/target.js';
import { whenEnded } from '../ended.js';
import type { Meters } from './meters.js';

/** One attempt at a target whose balancer uses measurements: `ask` makes it, the meter records the outcome. */
export async function metered(
  meters: Meters,
  x: Exchange,
  target: Target,
  ask: () => Promise<Reply>,
): Promise<Reply> {
  const meter = meters.of(x, target);
  const began = performance.now();
  meter.inFlight++;
  try {
    const reply = await ask();
    const now = performance.now();
    // The reply of a stream arrives with its first token. An error of the client is no evidence about the target.
    if (reply.status < 300) meter.observe(now - began, now);
    else if (reply.status === 429 || reply.status >= 500) meter.failed(now - began, now);
    return whenEnded(reply, () => {
      meter.inFlight--;
      meters.sawOutput(x);
    });
  } catch (thrown) {
    meter.inFlight--;
    const now = performance.now();
    if (x.aborted === null) meter.failed(now - began, now);
    else if (x.aborted.code === 'hedge_lost') meter.outlasted(now - began, now);
    throw thrown;
  }
}
