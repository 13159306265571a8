import type { Exchange, Reply } from '../../src/core/exchange.js';
import { definePlugin } from '../../src/core/plugin.js';
import { Admission } from './admission.js';
import { isAllOpen } from './all-open.js';
import { Breakers, type OpenTargets } from './breaker.js';
import { Chooser } from './choose.js';
import { Hedger } from './hedge.js';
import { Meters } from './meters.js';
import { Mirrors } from './mirror.js';
import { planOf } from './plan.js';
import { RetryBudget } from './retry-budget.js';
import { Sessions } from './sessions.js';
import { ask, type Ground, maxWaitMs, settled, unasked, Walk } from './walk.js';

interface RouterOptions {
  /** Milliseconds: the first backoff; each further one is twice as long. Default 1000. */
  readonly backoffMs?: number;
}

/**
 * Asks the provider that the routing config chooses, or several in turn.
 *
 *   choose.ts        which child of a strategy is asked: by weight, by session, by what meters saw (meters.ts)
 *   plan.ts          what would be asked, of a request that is not sent
 *   walk.ts          what is asked next when one fails, and when the same is asked again
 *   outcome.ts       what counts as failed
 *   breaker.ts       which targets are left alone for that
 *   retry-budget.ts  how often the same is asked again, of all requests
 *   admission.ts     how many at a time an upstream is asked, and who is next (adaptive-limit.ts, fair-queue.ts)
 *   hedge.ts         when a second target is asked beside one that is late
 *   mirror.ts        what is sent once more, for nobody to wait for
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
    const breakers = new Breakers(host.shared);
    const sessions = new Sessions();
    const onlooker = new Chooser(host, breakers, meters, {
      find: (x, node, open) => sessions.peek(x, node, open),
    });
    const budget = new RetryBudget();
    const mirrors = new Mirrors(host);
    host.metrics.show(() => mirrors.metrics());
    const admission = new Admission(host);
    host.metrics.show(() => admission.metrics());
    const ground: Ground = {
      host,
      chooser: new Chooser(host, breakers, meters, sessions),
      meters,
      breakers,
      budget,
      hedger: new Hedger(host.log),
      mirrors,
      admission,
      backoffMs: options.backoffMs ?? 1000,
    };
    host.metrics.show(() => [
      { name: 'gateway_retries_refused_total', labels: { reason: 'budget' }, value: budget.refused },
    ]);
    return {
      request: (x) => route(ground, x),
      explain(x, plan) {
        plan.route = planOf(onlooker, breakers, x);
      },
      close: () => mirrors.close(),
      log: (x, outcome) => {
        const { target } = x;
        if (target !== null && target.breaker !== null) breakers.ended(x, target, target.breaker, outcome);
      },
    };
  },
});

function route(ground: Ground, x: Exchange): Promise<Reply> {
  if (ground.breakers.open > 0) {
    const open = ground.breakers.opened(x);
    if (open !== null) return routeAround(ground, x, open);
  }
  const node = settled(ground.chooser, x, x.config.root);
  if (
    node.kind === 'target' &&
    node.target.retry === null &&
    node.target.metadata === undefined &&
    !x.config.metered
  ) {
    const { target } = node;
    x.target = target;
    const answer = ask(ground, x, target, null);
    if (target.mirror !== null) ground.mirrors.copy(x, target.mirror);
    return answer;
  }
  return new Walk(ground, x, null).node(node, 0);
}

/** Where no target is left that may be asked, all are: a breaker saves a target's time, it does not refuse a client. */
async function routeAround(ground: Ground, x: Exchange, open: OpenTargets): Promise<Reply> {
  const { root } = x.config;
  for (const [target, { openedAt, reason }] of open) {
    x.decided({ kind: 'open', target, since: openedAt, because: reason });
  }
  if (!isAllOpen(x, root, open)) {
    const reply = await new Walk(ground, x, open).node(root, 0);
    if (reply !== unasked) return reply;
  }
  x.decided({ kind: 'all_open', target: root.path });
  return new Walk(ground, x, null).node(root, 0);
}
