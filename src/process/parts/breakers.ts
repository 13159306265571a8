import { BreakerNodes } from '../../control-plane/shared-state/breaker-nodes.js';
import { SharedBreakers } from '../../control-plane/shared-state/breakers.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { RedisGiven } from './redis.js';
import type { WorkerProcesses } from './worker-processes.js';

export interface BreakersGiven {
  readonly breakers: SharedBreakers;
}

/** The circuit breakers of all workers, shared with other nodes where there is Redis. */
export const breakersPart: ProcessPart<Base & WorkerProcesses & RedisGiven, BreakersGiven> = {
  name: 'circuit breakers',
  start({ workers, redis, log }) {
    const breakers = new SharedBreakers(workers.shared, log);
    workers.onGone((worker) => breakers.workerGone(worker));
    if (redis !== null) breakers.share(new BreakerNodes(redis, log));
    return { breakers };
  },
  stop: ({ breakers }) => breakers.close(),
};
