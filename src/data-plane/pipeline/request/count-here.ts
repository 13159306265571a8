import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange, Reply } from '../../../common/core/exchange.js';
import type { Address } from '../outgoing/address.js';
import type { Pipeline } from '../parts.js';
import { countedHere } from '../plugins/exchange-slots.js';

/** The answer to a call that only counts input tokens, for a provider that cannot count. */
export async function countHere(pipeline: Pipeline, x: Exchange, address: Address): Promise<Reply> {
  const write = pipeline.clientFormats.get(x.endpoint.format)?.writeCount;
  if (write === undefined) {
    throw new GatewayError(
      'unsupported_by_provider',
      `${address.provider.name} has no ${x.endpoint.name} endpoint: choose another provider for this call.`,
    );
  }
  const usage = await pipeline.counter.count({
    format: x.endpoint.format,
    model: address.model,
    request: x.request.bytes,
    answer: Buffer.alloc(0),
    events: false,
  });
  if (usage === null) {
    throw new GatewayError('overloaded', 'The gateway has too much to count: send this call again later.');
  }
  x.provider = address.provider.name;
  x.set(countedHere, true);
  return {
    status: 200,
    headers: ['content-type', 'application/json'],
    body: JSON.stringify(write(usage.input)),
    events: false,
    errorOrigin: null,
  };
}
