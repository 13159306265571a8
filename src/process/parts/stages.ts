import type { ProcessPart } from '../part-list.js';
import { type StageParts, startStageParts } from '../stage-parts.js';
import type { Base } from './base.js';
import type { IngestionGiven } from './ingestion.js';
import type { RedisGiven } from './redis.js';
import type { SchedulesGiven } from './schedules.js';
import type { WorkerProcesses } from './worker-processes.js';

interface StagesGiven {
  readonly stages: StageParts;
}

/** The parts of stages in the control process, and the state that stages share. */
export const stagesPart: ProcessPart<
  Base & WorkerProcesses & RedisGiven & SchedulesGiven & IngestionGiven,
  StagesGiven
> = {
  name: 'parts of stages',
  async start({ settings, workers, redis, schedules, spent, log }) {
    const stages = await startStageParts({
      settings,
      workers: workers.options.count,
      shared: workers.shared,
      redis,
      schedules,
      spent,
      log,
    });
    workers.onGone((worker) => stages.workerGone(worker));
    return { stages };
  },
  stop: ({ stages }) => stages.close(),
};
