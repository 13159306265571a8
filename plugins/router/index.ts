import type { Exchange, Reply } from '../../src/core/exchange.js';
import { definePlugin } from '../../src/core/plugin.js';
import { Chooser } from './choose.js';
import { Meters } from './meters.js';
import { type Ground, maxWaitMs, settled, Walk } from './walk.js';

interface RouterOptions {
  /** Milliseconds: the first backoff; each further one is twice as long. Default 1000. */
  readonly backoffMs?: number;
}

/**
 * Asks the provider that the routing config chooses, or several in turn.
 *
 *   choose.ts   which child of a strategy is asked: by weight, by session, by what meters saw (meters.ts)
 *   walk.ts     what is asked next when one fails, and when the same is asked again
 *   outcome.ts  what counts as failed
 */
export default definePlugin<RouterOptions>({
  name: 'router',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: { backoffMs: { type: 'number', minimum: 0, maximum: maxWaitMs } },
  },
  setup(options, host) {
    const meters = new Meters();
    const ground: Ground = {
      host,
      chooser: new Chooser(host, { available: () => true }, meters),
      meters,
      backoffMs: options.backoffMs ?? 1000,
    };
    return { request: (x) => route(ground, x) };
  },
});

function route(ground: Ground, x: Exchange): Promise<Reply> {
  const node = settled(ground.chooser, x, x.config.root);
  if (
    node.kind === 'target' &&
    node.target.retry === null &&
    node.target.metadata === undefined &&
    !x.config.metered
  ) {
    x.target = node.target;
    return ground.host.attempt(x, node.target);
  }
  return new Walk(ground, x).node(node, 0);
}
