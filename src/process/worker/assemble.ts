import { KeyHasher } from '../../common/access/gateway-key.js';
import { OwnIdentities } from '../../common/access/own-identity.js';
import type { WorkerInit } from '../../common/ipc/messages.js';
import type { Shared } from '../../common/ipc/shared.js';
import type { Capabilities } from '../../common/plugin-host/host.js';
import type { Logger } from '../../common/plugin-host/logger.js';
import { Metrics } from '../../common/plugin-host/metrics.js';
import { createPricing } from '../../common/prices/pricing.js';
import type { LookupChannel } from '../../data-plane/directory/channel.js';
import { WorkerDirectory } from '../../data-plane/directory/directory.js';
import { createBodyReader } from '../../data-plane/endpoints/body-reader.js';
import { openJournal } from '../../data-plane/journal/journal.js';
import { createTokenCounter } from '../../data-plane/journal/token-counter.js';
import { attempt } from '../../data-plane/pipeline/attempt.js';
import { composeChain } from '../../data-plane/pipeline/chain.js';
import { OpenExchanges } from '../../data-plane/pipeline/open-exchanges.js';
import { ExpectedCosts } from '../../data-plane/pipeline/outgoing/expected-cost.js';
import { upstreamKey } from '../../data-plane/pipeline/outgoing/upstream-key.js';
import type { Pipeline } from '../../data-plane/pipeline/parts.js';
import { aside } from '../../data-plane/pipeline/plugins/aside.js';
import { composeStages } from '../../data-plane/pipeline/plugins/compose.js';
import { expectedTokens } from '../../data-plane/pipeline/request/expected-tokens.js';
import { inputTokens } from '../../data-plane/pipeline/request/input-tokens.js';
import { bodyReading } from '../../data-plane/pipeline/request/read-body.js';
import { RecurringBodies } from '../../data-plane/pipeline/request/recurring-bodies.js';
import { costOf, settle } from '../../data-plane/pipeline/settle.js';
import { clientFormats } from '../../data-plane/providers/client-formats/index.js';
import { sentOnHeaders } from '../../data-plane/providers/client-headers.js';
import { formats, plainFormats } from '../../data-plane/providers/formats/index.js';
import { providers } from '../../data-plane/providers/rows.js';
import { compileConfig } from '../../data-plane/routing/compile.js';
import { CompiledConfigs } from '../../data-plane/routing/compiled-cache.js';
import type { Upstream } from '../../data-plane/upstream/upstream.js';
import { openUpstream } from './open-upstream.js';

export interface Assembled {
  readonly pipeline: Pipeline;
  readonly directory: WorkerDirectory;
  readonly metrics: Metrics;
}

/** Puts together what a request meets on its way. `admin` takes the administration plane's, null: there is none; `given`: another way out than sockets, for benchmarks. */
export async function assemble(
  init: WorkerInit,
  channel: LookupChannel,
  shared: Shared,
  log: Logger,
  admin: Pipeline['admin'],
  given?: Upstream,
): Promise<Assembled> {
  const isProvider = (name: string): boolean => providers.has(name);
  const upstream = given ?? (await openUpstream(init));
  const directory = new WorkerDirectory({
    channel,
    deployment: init.deployment,
    compile: (record) =>
      compileConfig(record.text, {
        slug: record.slug,
        version: record.version,
        isProvider,
        headerPrefixes: init.headerPrefixes,
      }),
  });
  const journal = openJournal({
    dir: init.journalDir,
    worker: String(init.worker),
    node: init.nodeId,
    onProblem: (error) => log.error({ err: error }, 'journal'),
  });
  const bodies = createBodyReader();
  const counter = createTokenCounter({ maxQueue: 256, deadlineMs: 10_000 });
  const hasher = new KeyHasher(Buffer.from(init.pepper, 'hex'));

  const metrics = new Metrics();
  const weights = new Map(Object.entries(init.workspaceWeights));

  const pricing = createPricing({ prices: init.prices });
  const costs = new ExpectedCosts({ directory, pricing });
  const recurring = new RecurringBodies();
  const capabilities: Capabilities = {
    upstream: {
      attempt: (x, target) => attempt(pipeline, x, target),
      aside: (x, target) => aside(pipeline, x, target),
      upstreamKey: (x, target) => upstreamKey(pipeline, x, target),
      sentOnHeaders,
    },
    costs: {
      cost: (x) => costOf(pipeline, x.attempts, x.startedAt),
      expectedCost: (x, target, outputTokens) => costs.of(x, target, outputTokens),
    },
    tokens: {
      inputTokens: (x) => inputTokens(pipeline, x),
      expectedTokens: (x, target) => expectedTokens(pipeline, x, target),
    },
    node: { workers: init.workers, weightOf: (workspaceId) => weights.get(workspaceId) ?? 1 },
    configs: { configs: new CompiledConfigs(isProvider, init.headerPrefixes), isProvider },
    keys: { hashKey: (key) => hasher.hash(key) },
    bodies: { readBody: bodyReading(bodies, recurring, counter), bodyRecurs: (x) => recurring.keep(x) },
    settlement: { settle: (x, outcome) => settle(pipeline, x, outcome) },
    channel: { shared },
  };
  const pipeline: Pipeline = {
    directory,
    providers,
    formats,
    clientFormats,
    plainFormats,
    upstream,
    bodies,
    counter,
    pricing,
    journal,
    timeouts: init.timeouts,
    limits: {
      maxBodyBytes: init.bodyLimitBytes,
      maxAnswerBytes: 32 * 1024 * 1024,
      maxRecordBytes: 1024 * 1024,
    },
    headerPrefixes: init.headerPrefixes,
    logBodies: init.logBodies,
    ownIdentities: new OwnIdentities(init.ownIdentity),
    log,
    chain: composeChain([]),
    open: new OpenExchanges(directory, log),
    admin,
    draining: false,
  };
  const { headerPrefixes } = init;
  const { random } = Math;
  const parts = { log, headerPrefixes, directory, metrics, random, shared, capabilities };
  const stages = await composeStages(init, parts);
  const chain = composeChain(stages.map((stage) => stage.hooks));
  Object.assign(pipeline, { chain });
  return { pipeline, directory, metrics };
}
