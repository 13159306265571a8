import type { ControlHost, RunningPart } from '../../src/common/plugin-host/control.js';
import { Questions } from './control/questions.js';
import { serveAnswers } from './control/shared-answers.js';
import type { CacheStore } from './control/store.js';
import { redisCacheStore } from './control/store-redis.js';
import { openSqliteCache } from './control/store-sqlite.js';

export interface ControlSettings {
  readonly storeBytes: number;
  readonly vectorBytes: number;
}

/**
 * The cache's part in the control process: the answers that all workers and nodes share, and the index of their
 * questions.
 *
 *   shared-answers.ts  which worker asks an upstream, and which wait for its answer
 *   store*.ts          answers that are kept: in Redis, else in `<data dir>/cache.db`
 *   questions.ts       questions as vectors
 */
export default async function start(settings: ControlSettings, host: ControlHost): Promise<RunningPart> {
  const { storeBytes, vectorBytes } = settings;
  const questions = new Questions(host.shared, () => host.openVectors(vectorBytes));
  const answers = serveAnswers(host.shared, await openStore(host, storeBytes), host.nodes, host.log);
  return {
    workerGone: (worker) => answers.gone(worker),
    async close() {
      await answers.close();
      await questions.close();
    },
  };
}

async function openStore(host: ControlHost, maxBytes: number): Promise<CacheStore | null> {
  if (host.nodes !== null) return redisCacheStore(host.nodes);
  return maxBytes === 0 ? null : openSqliteCache(host, maxBytes);
}
