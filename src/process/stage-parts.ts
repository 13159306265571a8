import type { SharedServer } from '../common/ipc/shared.js';
import type {
  ControlHost,
  Nodes,
  RunningPart,
  SpentBudgets,
  Vectors,
} from '../common/plugin-host/control.js';
import type { Logger } from '../common/plugin-host/logger.js';
import type { Settings } from '../common/settings/settings.js';
import type { Redis } from '../control-plane/shared-state/redis.js';
import { type RedisScript, redisScript } from '../control-plane/shared-state/redis-script.js';
import { loadControlParts } from '../data-plane/pipeline/plugins/stages.js';
import type { ScheduleRunner } from './node/schedule-runner.js';

/** The parts that stages have in the control process. */
export interface StageParts {
  /** A data worker's process has ended. */
  workerGone(worker: number): void;
  close(): Promise<void>;
}

export interface StagePartsOptions {
  readonly settings: Settings;
  /** Data workers of this node. */
  readonly workers: number;
  readonly shared: SharedServer;
  /** null: the deployment has none. */
  readonly redis: Redis | null;
  readonly schedules: ScheduleRunner;
  readonly spent: SpentBudgets;
  readonly log: Logger;
}

/** Starts every stage's part in this process, and serves the state that stages share. */
export async function startStageParts({
  settings,
  workers,
  shared,
  redis,
  schedules,
  spent,
  log,
}: StagePartsOptions): Promise<StageParts> {
  const [{ serveStageState }, loaded] = await Promise.all([
    import('../control-plane/shared-state/stage-state.js'),
    loadControlParts(),
  ]);
  serveStageState(shared, redis);
  const nodes = redis === null ? null : nodesOf(redis);
  const hostOf = (stage: string): ControlHost => ({
    log,
    shared,
    nodes,
    dataDir: settings.dataDir,
    workers,
    spent,
    async openDatabase(path, pragmas) {
      const { SqliteConnection } = await import('../control-plane/database/sqlite.js');
      return SqliteConnection.open(path, pragmas);
    },
    schedule: (name, work) => schedules.add(`${stage}-${name}`, work),
    openVectors: (maxBytes) => openVectors(settings, maxBytes, log),
  });
  const running: RunningPart[] = [];
  const close = async (): Promise<void> => {
    for (const part of running) await part.close?.();
  };
  for (const { name, start } of loaded) {
    try {
      running.push(await start(settings.stages[name] ?? {}, hostOf(name)));
    } catch (error) {
      await close();
      throw error;
    }
  }
  return {
    workerGone(worker) {
      for (const part of running) part.workerGone?.(worker);
    },
    close,
  };
}

/** Of an answer of Redis, beside its text. */
const lineBytes = 64;

export function nodesOf(redis: Redis): Nodes {
  /** The scripts of stages are constants: there are a few. */
  const scripts = new Map<string, RedisScript>();
  return {
    async get(key, withinMs) {
      const text: unknown = await redis.run((client) => client.get(key), withinMs);
      return typeof text === 'string' ? text : null;
    },
    async set(key, text, ttl, withinMs) {
      // To read it would end the connection.
      if (Buffer.byteLength(text) + lineBytes > redis.maxReplyBytes)
        throw new RangeError('the value is longer than an answer of Redis may be');
      await redis.run(
        (client) => client.set(key, text, { expiration: { type: 'EX', value: ttl } }),
        withinMs,
      );
    },
    script(lua, keys, args, withinMs) {
      let script = scripts.get(lua);
      if (script === undefined) {
        script = redisScript(lua);
        scripts.set(lua, script);
      }
      return redis.script(script, keys, args, withinMs);
    },
    publish: (channel, text) => redis.publish(channel, text),
    subscribe: (channel, listener) => redis.subscribe(channel, listener),
  };
}

/** Nodes share the vectors if they share the cached answers. */
async function openVectors(
  { dataDir, redisUrl, databaseUrl, role }: Settings,
  maxBytes: number,
  log: Logger,
): Promise<Vectors | null> {
  if (maxBytes === 0) return null;
  const { openVectors: open } = await import('../control-plane/vectors/open.js');
  return open({
    dataDir,
    databaseUrl: redisUrl === null ? null : databaseUrl,
    creates: role === 'all',
    maxBytes,
    log,
  });
}
