import type { Exchange, Reply } from '../../src/common/core/exchange.js';
import { targetOf } from '../../src/common/core/target.js';
import { definePlugin, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import { Chooser } from './balance/choose.js';
import { Meters } from './balance/meters.js';
import { Sessions } from './balance/sessions.js';
import { isAllOpen } from './health/all-open.js';
import { type OpenTargets, WorkerBreakers } from './health/breaker.js';
import { RetryBudget } from './health/retry-budget.js';
import { Hedger } from './hedge.js';
import { Admission } from './limits/admission.js';
import { Mirrors } from './mirror.js';
import { requireOneTarget } from './one-target.js';
import { planOf } from './plan.js';
import stage from './stage.js';
import { ask, type RouterDeps, settled, unasked, Walk } from './walk.js';

interface RouterOptions {
  /** Milliseconds: the first backoff; each further one is twice as long. Default 1000. */
  readonly backoffMs?: number;
}

/**
 * Calls the provider that the routing config chooses, or several in turn.
 *
 *   choose.ts        chooses a strategy's child: by weight, session or measurements (meters.ts)
 *   plan.ts          the plan of a request that is not sent
 *   one-target.ts    calls that must not choose among several
 *   walk.ts          the next target after a failure, and retries
 *   outcome.ts       what counts as failed
 *   breaker.ts       which targets are skipped for that
 *   retry-budget.ts  limits the retries of all requests
 *   admission.ts     concurrency limit and queue of an upstream (adaptive-limit.ts, fair-queue.ts)
 *   hedge.ts         when a second target is called beside a late one
 *   mirror.ts        copies of requests that no client waits for
 */
export default definePlugin<RouterOptions, NeedsOf<typeof stage>>({
  ...stage,
  setup(options, host) {
    const meters = new Meters();
    const breakers = new WorkerBreakers(host.shared);
    const sessions = new Sessions();
    const onlooker = new Chooser(host, breakers, meters, {
      find: (x, node, open) => sessions.peek(x, node, open),
    });
    const budget = new RetryBudget();
    const mirrors = new Mirrors(host);
    host.metrics.show(() => mirrors.metrics());
    const admission = new Admission(host);
    host.metrics.show(() => admission.metrics());
    const deps: RouterDeps = {
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
      request(x) {
        const { root } = x.config;
        if (deps.breakers.open === 0 && root.kind === 'target' && !x.config.metered) {
          // The usual case, without what other configs need.
          const target = x.config.layer === null ? root.target : targetOf(x.config, root);
          const { retry, mirror, concurrency, breaker, metadata } = target;
          const isPlain = retry === null && mirror === null && concurrency === null && breaker === null;
          if (isPlain && metadata === undefined) {
            x.target = target;
            return host.attempt(x, target);
          }
        }
        return route(deps, x);
      },
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

function route(deps: RouterDeps, x: Exchange): Promise<Reply> {
  requireOneTarget(x);
  if (deps.breakers.open > 0) {
    const open = deps.breakers.opened(x);
    if (open !== null) return routeAround(deps, x, open);
  }
  const node = settled(deps.chooser, x, x.config.root);
  if (node.kind === 'target' && !x.config.metered) {
    const target = targetOf(x.config, node);
    if (target.retry === null && target.metadata === undefined) {
      x.target = target;
      const answer = ask(deps, x, target, null);
      if (target.mirror !== null) deps.mirrors.copy(x, target.mirror);
      return answer;
    }
  }
  return new Walk(deps, x, null).node(node, 0);
}

/** If every target has an open breaker, all are called: a breaker saves time, it never refuses a request. */
async function routeAround(deps: RouterDeps, x: Exchange, open: OpenTargets): Promise<Reply> {
  const { root } = x.config;
  for (const [target, { openedAt, reason }] of open) {
    x.decided({ kind: 'open', target, since: openedAt, because: reason });
  }
  if (!isAllOpen(x, root, open)) {
    const reply = await new Walk(deps, x, open).node(root, 0);
    if (reply !== unasked) return reply;
  }
  x.decided({ kind: 'all_open', target: root.path });
  return new Walk(deps, x, null).node(root, 0);
}
