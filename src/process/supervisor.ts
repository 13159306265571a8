import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import type { AdminServer } from '../admin/server.js';
import type { Settings } from '../config/settings.js';
import type { LookupKind, LookupRecords, WorkerInit } from '../core/messages.js';
import type { Metric } from '../core/metrics.js';
import { OwnIdentities } from '../core/own-identity.js';
import type { Logger } from '../core/plugin.js';
import type { SharedDesk } from '../core/shared.js';
import type { Ingestion } from '../ledger/ingest.js';
import { providers } from '../providers/rows.js';
import { BreakerNodes } from '../shared/breaker-nodes.js';
import { Breakers } from '../shared/breakers.js';
import type { CacheDesk } from '../shared/cache-desk.js';
import type { Redis } from '../shared/redis.js';
import { VectorDesk } from '../shared/vector-desk.js';
import { RefusedStart } from '../store/refused-start.js';
import type { FirstKeys, Store } from '../store/store.js';
import { nodeTransportCanShare } from '../transport/node.js';
import type { VectorStore } from '../vectors/store.js';
import { holdDataDir } from './data-lock.js';
import { type Check, startOpsServer } from './ops-server.js';
import { stepBack } from './priority.js';
import { WorkerGroup } from './worker-group.js';

/** A running gateway. */
export interface Gateway {
  /** `http://host:port` of the data plane. */
  readonly address: string;
  readonly grpcAddress: string;
  readonly opsAddress: string;
  /** Set on the very first start only. */
  readonly firstKeys: FirstKeys | null;
  readonly simulated: boolean;
  /** Drains and ends everything; resolves when nothing is left. */
  stop(): Promise<void>;
}

/** Starts the control process's parts and its data workers; resolves when requests are served. */
export async function startGateway(settings: Settings): Promise<Gateway> {
  const log: Logger = pino({ level: settings.logLevel, base: { process: 'control' } });
  const journalDir = join(settings.dataDir, 'journal');
  mkdirSync(journalDir, { recursive: true, mode: 0o700 });

  const letGo = await holdDataDir(settings.dataDir);
  let opened: (control: { store: Store; pepper: string }) => void = () => {};
  let unopened: (error: unknown) => void = () => {};
  const control = new Promise<{ store: Store; pepper: string }>((resolve, reject) => {
    opened = resolve;
    unopened = reject;
  });
  control.catch(() => {});

  let planeStarted: (admin: AdminServer) => void = () => {};
  const plane = new Promise<AdminServer>((resolve) => {
    planeStarted = resolve;
  });
  const count = settings.transport === 'node' && !nodeTransportCanShare ? 1 : settings.workers;
  let keepUp: (worker: number) => void = () => {};
  const workers = new WorkerGroup({
    count,
    forked: (pid) => keepUp(pid),
    init: async (worker) => workerInit(settings, worker, count, journalDir, (await control).pepper),
    lookup: async (kind, workspace, name) => lookup((await control).store, kind, workspace, name),
    admin: async (request) => (await plane).rest(request),
    gone: (worker, pid) => {
      cache?.gone(worker);
      breakers.workerGone(worker);
      ingestion
        ?.workerGone(String(worker), pid)
        .catch((error: unknown) => log.error({ err: error }, 'replay'));
    },
    log,
  });
  const breakers = new Breakers(workers.shared, log);
  const vectors = new VectorDesk(workers.shared, () => openQuestions(settings, log));
  // Workers take their time to load: they do so while this process loads what it needs, and opens the store.
  const listening = workers.start();
  listening.catch(() => {});

  let ingestion: Ingestion | null = null;
  let redis: Redis | null = null;
  let cache: CacheDesk | null = null;
  try {
    const [
      { loadMasterKey },
      { openStore },
      { bootstrap },
      { openLedger },
      { startIngestion },
      { startAdminServer },
    ] = await Promise.all([
      import('../store/master-key.js'),
      import('../store/store.js'),
      import('../store/bootstrap.js'),
      import('../ledger/sql.js'),
      import('../ledger/ingest.js'),
      import('../admin/server.js'),
    ]);
    const given = settings.masterKey;
    const masterKey = loadMasterKey({
      // Read again from its file, where it has one: whoever may read that file is checked there.
      ...(given?.file ? { file: given.file } : { env: given?.reveal() }),
      dataDir: settings.dataDir,
    });
    const store = await openStore({
      dataDir: settings.dataDir,
      databaseUrl: settings.databaseUrl,
      masterKey,
    });
    const ledger = await openLedger({ dataDir: settings.dataDir });
    ingestion = startIngestion({
      dir: journalDir,
      ledger,
      onProblem: (error) => log.error({ err: error }, 'ingestion'),
    });
    const firstKeys = await bootstrap(store, { dataDir: settings.dataDir, simulated: settings.simulated });
    const simulated = settings.simulated ? await startSimulatedProvider(store) : null;
    redis = await openRedis(settings, store, log);
    cache = await openCache(settings, redis, workers.shared, log);
    opened({ store, pepper: store.pepper.toString('hex') });
    setInterval(
      () => store.prune().catch((error) => log.error({ err: error }, 'prune')),
      pruneEveryMs,
    ).unref();
    if (settings.databaseUrl !== null) await followOtherNodes(store, workers, log);

    const checks: Check[] = [
      { name: 'workers', ok: () => workers.ready > 0 },
      { name: 'store', ok: () => store.ping() },
    ];
    const shared = redis;
    if (shared !== null) {
      checks.push({ name: 'redis', optional: true, ok: () => shared.up });
      breakers.share(new BreakerNodes(shared, log));
    }
    const admin = await startAdminServer({
      host: settings.host,
      port: settings.grpcPort,
      headerPrefixes: settings.headerPrefixes,
      tls: tlsOf(settings),
      reflection: settings.grpcReflection,
      store,
      ledger,
      changed: (what) => workers.forget(what),
      validateConfig: async (text) => {
        const { compileConfig } = await import('../routing/compile.js');
        compileConfig(text, {
          slug: 'check',
          version: 'check',
          isProvider: (name) => providers.has(name),
          headerPrefixes: settings.headerPrefixes,
        });
      },
      isProvider: (name) => providers.has(name),
      breakers,
      explain: (asked) => workers.explain(asked),
      ownIdentities: new OwnIdentities(settings.ownIdentity),
      publicUrl: settings.publicUrl ?? `http://localhost:${settings.port}`,
      log,
    });
    planeStarted(admin);

    const port = await listening;
    // Not before: a start should not take longer than it must.
    keepUp = stepBack(settings.controlNice);
    const ops = await startOpsServer(settings.host, settings.opsPort, checks, () => [
      ...workerMetrics(workers),
      ...breakers.metrics(),
    ]);

    const running = ingestion;
    let stopping: Promise<void> | null = null;
    const stop = async (): Promise<void> => {
      ops.close();
      await Promise.all([workers.stop(settings.drainTimeoutMs), admin.close(1000)]);
      await running.flush();
      await running.stop();
      await simulated?.close();
      await ledger.close();
      await cache?.close();
      await vectors.close();
      await store.close();
      shared?.close();
      breakers.close();
      letGo();
    };
    stopBySignal(() => {
      stopping ??= stop();
      return stopping;
    }, workers);
    return {
      address: `http://${urlHost(settings.host)}:${port}`,
      grpcAddress: `${urlHost(settings.host)}:${admin.port}`,
      opsAddress: `http://${urlHost(settings.host)}:${ops.port}`,
      firstKeys,
      simulated: simulated !== null,
      stop: () => {
        stopping ??= stop();
        return stopping;
      },
    };
  } catch (error) {
    unopened(error);
    redis?.close();
    workers.kill();
    letGo();
    throw error;
  }
}

const pruneEveryMs = 10 * 60_000;

async function openRedis({ redisUrl: url }: Settings, store: Store, log: Logger): Promise<Redis | null> {
  if (url === null) return null;
  const { Redis, redisPrefix } = await import('../shared/redis.js');
  return new Redis({ url, prefix: redisPrefix(store.pepper), log });
}

async function openCache(
  { dataDir, cacheStoreBytes }: Settings,
  redis: Redis | null,
  desk: SharedDesk,
  log: Logger,
): Promise<CacheDesk> {
  const { serveCache } = await import('../shared/cache-desk.js');
  if (redis !== null) {
    const { redisCacheStore } = await import('../shared/cache-store-redis.js');
    return serveCache(desk, redisCacheStore(redis), redis, log);
  }
  if (cacheStoreBytes === 0) return serveCache(desk, null, null, log);
  const { openSqliteCache } = await import('../shared/cache-store-sqlite.js');
  return serveCache(desk, await openSqliteCache({ dataDir, maxBytes: cacheStoreBytes, log }), null, log);
}

/** Where questions are found by their meaning: shared by nodes as far as the answers are that they lead to. */
async function openQuestions(
  { dataDir, redisUrl, cacheVectorBytes: maxBytes, ...settings }: Settings,
  log: Logger,
): Promise<VectorStore | null> {
  if (maxBytes === 0) return null;
  const databaseUrl = redisUrl === null ? null : settings.databaseUrl;
  const { openVectors } = await import('../vectors/open.js');
  return openVectors({ dataDir, databaseUrl, maxBytes, log });
}

/** What another node has changed, the workers of this one forget too. */
async function followOtherNodes(store: Store, workers: WorkerGroup, log: Logger): Promise<void> {
  await store.changes.watch((changes) => {
    const what = changes.flatMap(({ forget = [] }) => forget);
    if (what.length === 0) return;
    workers.forget(what).catch((error) => log.error({ err: error }, 'changes of other nodes'));
  });
}

function tlsOf({ grpcTlsCert, grpcTlsKey }: Settings): { cert: Buffer; key: Buffer } | null {
  if (grpcTlsCert === null && grpcTlsKey === null) return null;
  if (grpcTlsCert === null || grpcTlsKey === null)
    throw new RefusedStart('grpc_tls_cert and grpc_tls_key go together: set both, or neither.');
  return { cert: readFileSync(grpcTlsCert), key: readFileSync(grpcTlsKey) };
}

/** One Ctrl-C may arrive twice: from the terminal, and passed on by npm. */
const sameSignalMs = 1000;

/** First SIGTERM or SIGINT: drain, then exit 0. A second one: now. */
function stopBySignal(stop: () => Promise<void>, workers: WorkerGroup): void {
  let askedAt: number | null = null;
  const signalled = (): void => {
    if (askedAt !== null && performance.now() - askedAt < sameSignalMs) return;
    if (askedAt !== null) {
      workers.kill();
      process.exit(0);
    }
    askedAt = performance.now();
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', signalled);
  process.on('SIGINT', signalled);
}

function workerInit(
  settings: Settings,
  worker: number,
  count: number,
  journalDir: string,
  pepper: string,
): WorkerInit {
  return {
    worker,
    pepper,
    host: settings.host,
    port: settings.port,
    workers: count,
    workspaceWeights: { ...settings.workspaceWeights },
    shared: count > 1,
    transport: settings.transport,
    headerPrefixes: [...settings.headerPrefixes],
    egressAllow: [...settings.egressAllow],
    ownIdentity: [...settings.ownIdentity],
    journalDir,
    logBodies: settings.logBodies,
    logLevel: settings.logLevel,
    bodyLimitBytes: settings.bodyLimitBytes,
    upstreamConnections: settings.upstreamConnections,
    timeouts: {
      connectMs: settings.connectTimeoutMs,
      headersMs: settings.headersTimeoutMs,
      firstTokenMs: settings.firstTokenTimeoutMs,
      idleMs: settings.idleTimeoutMs,
    },
    writeTimeoutMs: settings.writeTimeoutMs,
    cache: {
      memoryBytes: settings.cacheMemoryBytes,
      entryBytes: settings.cacheEntryBytes,
      maxAge: settings.cacheMaxAge,
      waitMs: settings.cacheWaitMs,
      embedding: settings.cacheEmbedding,
      checkPercent: settings.cacheCheckPercent,
    },
    plugins: {
      directory: settings.plugins.directory,
      insert: settings.plugins.insert.map((entry) => ({ ...entry })),
    },
  };
}

async function lookup(
  store: Store,
  kind: LookupKind,
  workspace: string | null,
  name: string,
): Promise<LookupRecords[LookupKind] | null> {
  if (kind === 'key') return store.keys.findByHash(name);
  if (workspace === null) return null;
  return kind === 'config' ? store.configs.find(workspace, name) : store.providers.find(workspace, name);
}

/** The provider `@simulated`: a server of this very process, speaking OpenAI's wire format on the loopback. */
async function startSimulatedProvider(store: Store): Promise<{ close(): Promise<void> }> {
  const { startSimulated } = await import('../../test/support/simulated/index.js');
  const server = await startSimulated({ record: false });
  store.providers.setRuntimeBaseUrl('simulated', `${server.url}/v1`);
  return server;
}

function workerMetrics(workers: WorkerGroup): Metric[] {
  const report = workers.report();
  const perWorker = (
    name: string,
    value: (worker: (typeof report)[number]) => number,
    more: Record<string, string> = {},
  ): Metric[] =>
    report.map((worker) => ({
      name,
      labels: { worker: String(worker.worker), ...more },
      value: value(worker),
    }));
  return [
    ...perWorker('gateway_worker_ready', (worker) => (worker.ready ? 1 : 0)),
    ...perWorker('gateway_inflight_requests', (worker) => worker.inFlight),
    ...perWorker('gateway_log_dropped_total', (worker) => worker.dropped.records, { kind: 'record' }),
    ...perWorker('gateway_log_dropped_total', (worker) => worker.dropped.bodies, { kind: 'body' }),
    ...perWorker('gateway_event_loop_delay_seconds', (worker) => worker.loopDelayMs / 1000, {
      quantile: '0.999',
    }),
    // A name's lines stand together, whichever worker they are of.
    ...report
      .flatMap(({ worker, metrics }) =>
        metrics.map(({ name, labels, value }) => ({
          name,
          labels: { worker: String(worker), ...labels },
          value,
        })),
      )
      .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))),
  ];
}

const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);
