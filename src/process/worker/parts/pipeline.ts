import { KeyHasher } from '../../../common/access/gateway-key.js';
import { OwnIdentities } from '../../../common/access/own-identity.js';
import { replacePluginChecks } from '../../../common/guardrails/known-checks.js';
import { PluginCheckTable } from '../../../common/guardrails/plugin-check.js';
import type { Capabilities } from '../../../common/plugin-host/host.js';
import { Metrics } from '../../../common/plugin-host/metrics.js';
import { reserveOf } from '../../../common/prices/pricing.js';
import { RefusedCredentials } from '../../../data-plane/directory/refused-credentials.js';
import { attempt } from '../../../data-plane/pipeline/attempt.js';
import { OpenExchanges } from '../../../data-plane/pipeline/open-exchanges.js';
import { ExpectedCosts } from '../../../data-plane/pipeline/outgoing/expected-cost.js';
import { PreparedCalls } from '../../../data-plane/pipeline/outgoing/prepared-calls.js';
import { upstreamKey } from '../../../data-plane/pipeline/outgoing/upstream-key.js';
import type { Parts, Pipeline } from '../../../data-plane/pipeline/parts.js';
import { aside } from '../../../data-plane/pipeline/plugins/aside.js';
import { composeLive } from '../../../data-plane/pipeline/plugins/compose.js';
import type { PluginExtensions } from '../../../data-plane/pipeline/plugins/live/custom-instance.js';
import type { LiveChain } from '../../../data-plane/pipeline/plugins/live/live-chain.js';
import { sendOwn } from '../../../data-plane/pipeline/plugins/own-request.js';
import { AbandonedRequests } from '../../../data-plane/pipeline/request/abandoned-requests.js';
import { expectedTokens } from '../../../data-plane/pipeline/request/expected-tokens.js';
import { inputTokens } from '../../../data-plane/pipeline/request/input-tokens.js';
import { bodyReading } from '../../../data-plane/pipeline/request/read-body.js';
import { RecurringBodies } from '../../../data-plane/pipeline/request/recurring-bodies.js';
import { costOf, settle } from '../../../data-plane/pipeline/settle.js';
import { clientFormats } from '../../../data-plane/providers/client-formats/index.js';
import { formats, plainFormats } from '../../../data-plane/providers/formats/index.js';
import { providers } from '../../../data-plane/providers/rows.js';
import { CompiledConfigs } from '../../../data-plane/routing/compiled-cache.js';
import { abandonedRequestsLimit, descriptorLimit } from '../../descriptors.js';
import type { ProcessPart } from '../../part-list.js';
import type { AdminGiven } from './admin.js';
import type { WorkerBase } from './base.js';
import type { BodiesGiven } from './bodies.js';
import type { DirectoryGiven } from './directory.js';
import type { JournalGiven } from './journal.js';
import type { WorkerPrices } from './prices.js';
import type { UpstreamGiven } from './upstream.js';

type Needs = WorkerBase &
  JournalGiven &
  BodiesGiven &
  UpstreamGiven &
  DirectoryGiven &
  WorkerPrices &
  AdminGiven;

export interface PipelineGiven {
  readonly pipeline: Pipeline;
  readonly live: LiveChain;
  readonly metrics: Metrics;
}

/** The chain of stages, and what a request meets on its way through it. */
export const pipelinePart: ProcessPart<Needs, PipelineGiven> = {
  name: 'chain',
  async start(needs) {
    const { init, log, directory, providerTable, shared, admin, plugins, send } = needs;
    const { headerPrefixes } = init;
    const metrics = new Metrics();
    const parts = partsOf(needs);
    const pluginChecks = new PluginCheckTable();
    const capabilities: Capabilities = {
      checks: { pluginChecks },
      ...capabilitiesOf(needs, parts),
      // Stages are set up before there is a pipeline: they make attempts by it once there are requests.
      upstream: {
        attempt: (x, target) => attempt(pipeline, x, target),
        aside: (x, target) => aside(pipeline, x, target),
        upstreamKey: (x, target) => upstreamKey(parts, x, target),
        sentOnHeaders: providerTable.sentOnHeaders,
      },
    };
    const { random } = Math;
    const host = { log, headerPrefixes, directory, metrics, random, shared, capabilities };
    let isReported = false;
    let wasNone = true;
    const extensions: PluginExtensions = {
      isTaken: (name) => providers.has(name),
      replace(rows, checks) {
        const isNone = rows.size === 0 && checks.size === 0;
        // The first time always: the worker before this one may have had others.
        if (isReported && isNone && wasNone) return;
        isReported = true;
        wasNone = isNone;
        providerTable.replace(rows);
        const checkRows = new Map([...checks].map(([id, { row }]) => [id, row]));
        replacePluginChecks(checkRows);
        pluginChecks.replace(new Map([...checks].map(([id, { check }]) => [id, check])));
        // What is prepared for calls of stored providers holds their rows.
        directory.providersVersion++;
        send({ t: 'plugins-bring', providers: providerTable.pluginNames, checks: [...checkRows] }, () => {});
      },
    };
    const live = await composeLive(init, host, extensions, plugins);
    const pipeline: Pipeline = {
      ...parts,
      chain: live.chain,
      open: new OpenExchanges(directory, log),
      abandoned:
        init.whenClientLeaves === 'finish'
          ? new AbandonedRequests(abandonedRequestsLimit(descriptorLimit()))
          : null,
      admin: init.administration ? (call, path) => admin.open(call, path) : null,
      draining: false,
    };
    return { pipeline, live, metrics };
  },
  async stop({ pipeline, live }) {
    pipeline.open.close();
    await live.close();
  },
};

function partsOf({
  init,
  log,
  directory,
  providerTable,
  journal,
  bodies,
  counter,
  upstream,
  pricing,
  shared,
}: Needs): Parts {
  const refused = new RefusedCredentials(directory, (workspace, name) =>
    shared.send('credential-refused', { workspace, name }),
  );
  return {
    directory,
    providers: providerTable.rows,
    formats,
    clientFormats,
    plainFormats,
    upstream,
    calls: new PreparedCalls(directory),
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
    debugHeaders: init.headerPrefixes.map((prefix) => `${prefix}debug`),
    sensitiveHeaders: init.headerPrefixes.map((prefix) => `${prefix}sensitive-headers`),
    logBodies: init.logBodies,
    sendsTraces: init.sendsTraces,
    ownIdentities: new OwnIdentities(init.ownIdentity),
    credentialRefused: (workspaceId, slug) => refused.report(workspaceId, slug),
    log,
  };
}

function capabilitiesOf(
  { init, shared, directory, isProvider, bodies, counter, pricing }: Needs,
  parts: Parts,
): Omit<Capabilities, 'upstream' | 'checks'> {
  const weights = new Map(Object.entries(init.workspaceWeights));
  const hasher = new KeyHasher(Buffer.from(init.pepper, 'hex'));
  const recurring = new RecurringBodies();
  const costs = new ExpectedCosts({ directory, pricing });
  return {
    costs: {
      cost: (x) => costOf(parts, x.attempts, x.startedAt),
      expectedCost: (x, target, outputTokens) => costs.of(x, target, outputTokens),
      mostCost({ provider, model, prices }, { tokens, input, tier }) {
        if (model === null) return null;
        const price =
          prices === null ? pricing.priceOf(provider, model) : prices.quoteOf(pricing, null, model)?.price;
        return price ? reserveOf(input, tokens - input, price, tier) : null;
      },
    },
    tokens: {
      inputTokens: (x) => inputTokens(parts, x),
      expectedTokens: (x, target) => expectedTokens(parts, x, target),
    },
    node: { workers: init.workers, weightOf: (workspaceId) => weights.get(workspaceId) ?? 1 },
    configs: { configs: new CompiledConfigs(isProvider, init.headerPrefixes), isProvider },
    keys: { hashKey: hasher.hash },
    bodies: {
      readBody: bodyReading(bodies, recurring, counter),
      bodyRecurs: (x) => recurring.keep(x),
      readLarge: (bytes) => bodies.readAnswer(bytes),
    },
    requests: {
      send: (x, request, timeoutMs, signal) => sendOwn(parts.upstream, x, request, timeoutMs, signal),
    },
    settlement: { settle: (x, outcome) => settle(parts, x, outcome) },
    channel: { shared },
  };
}
