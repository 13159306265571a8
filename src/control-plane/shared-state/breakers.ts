import { monotonicMs } from '../../common/bytes/monotonic.js';
import type { Breaker } from '../../common/core/target.js';
import type { BreakerCounts, BreakerPlace, BreakerProbed, BreakerReport } from '../../common/ipc/breaker.js';
import type { SharedServer } from '../../common/ipc/shared.js';
import type { Metric } from '../../common/plugin-host/metrics.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { type BreakerEntry, closedAt, type Probe, reportOf, stateOf } from './breaker-entry.js';
import type { BreakerNodes, OpenedElsewhere } from './breaker-nodes.js';
import { BreakerWindow, windowMs } from './breaker-window.js';

/** A probe that takes longer than this does not keep others from probing. */
const probeMs = 60_000;
/** Milliseconds until a refused node may ask again, in case the prober's message is lost. */
const deniedMs = 250;
/** A breaker that no worker asks about for this long is forgotten, which closes it. */
const forgetMs = 3_600_000;
const sweepMs = 30_000;
/** Breakers kept for one tenant; beyond that the least recently used one is forgotten. */
const maxPerTenant = 1000;
/** For all tenants together, some 5 KB each; beyond that the tenant with the most loses one. */
const maxEntries = 10_000;

/**
 * The circuit breakers of a node. The data workers report outcomes (plugins/router/health/breaker.ts); here they are
 * added up and decided, and every worker is notified. Between nodes the decisions are shared, not the counts
 * (breaker-nodes.ts).
 */
export class SharedBreakers {
  readonly #tenants = new Map<string, Map<string, BreakerEntry>>();
  readonly #server: SharedServer;
  readonly #log: Logger;
  readonly #sweep: NodeJS.Timeout;
  readonly #changes = { open: 0, half_open: 0, closed: 0 };
  #nodes: BreakerNodes | null = null;
  #probes = 0;
  #size = 0;

  constructor(server: SharedServer, log: Logger) {
    this.#server = server;
    this.#log = log;
    server.answer('breakers', () => this.#notClosed().map(stateOf));
    server.answer('breaker-probe', (place, worker) => this.#mayProbe(place, worker));
    server.on('breaker-counts', (counts) => this.#counted(counts));
    server.on('breaker-probed', (probed) => this.#probed(probed));
    this.#sweep = setInterval(() => this.#forgetOld(), sweepMs);
    this.#sweep.unref();
  }

  /** Shares decisions with other nodes from now on. */
  share(nodes: BreakerNodes): void {
    this.#nodes = nodes;
    nodes.follow({
      open: (report) => this.#openedElsewhere(report),
      probed: (place) => this.#probedElsewhere(place),
      closed: (place) => {
        const entry = this.#find(place);
        if (entry !== null && entry.openedAt !== null) this.#close(entry);
      },
    });
  }

  /** Its probes will have no outcome. */
  workerGone(worker: number): void {
    for (const entry of this.#notClosed()) {
      if (entry.probe?.worker === worker) this.#release(entry);
    }
  }

  /** Those of a workspace, or of all of an organisation, that are not closed. */
  list(organisation: string, workspace: string | null): BreakerReport[] {
    return this.#notClosed()
      .filter(
        ({ place }) =>
          place.organisation === organisation && (workspace === null || place.workspace === workspace),
      )
      .map(reportOf)
      .sort((a, b) => a.openedAt - b.openedAt || (a.path < b.path ? -1 : 1));
  }

  metrics(): Metric[] {
    const states = this.#notClosed().map((entry) => stateOf(entry).state);
    const open = states.filter((state) => state === 'open').length;
    return [
      { name: 'gateway_circuit_breakers', labels: { state: 'open' }, value: open },
      { name: 'gateway_circuit_breakers', labels: { state: 'half_open' }, value: states.length - open },
      ...Object.entries(this.#changes).map(([state, value]) => ({
        name: 'gateway_circuit_breaker_changes_total',
        labels: { state },
        value,
      })),
    ];
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#nodes?.close();
  }

  #counted(counts: BreakerCounts): void {
    const entry = this.#entry(counts, counts.slug, counts.provider, counts.rule);
    entry.heardAt = monotonicMs();
    // The worker was not yet notified that it is open.
    if (entry.openedAt !== null) return;
    entry.reason = counts.reason;
    entry.provider = counts.provider;
    entry.window.add(counts.counts, entry.closedAt);
    if (!entry.window.breaks(entry.rule)) return;
    Object.assign(entry, entry.window.total(windowMs));
    this.#open(entry);
  }

  #open(entry: BreakerEntry): void {
    this.#log.warn(
      { ...entry.place, slug: entry.slug, provider: entry.provider, reason: entry.reason },
      'a circuit breaker opened',
    );
    entry.openedAt = Date.now();
    this.#coolDown(entry);
    this.#nodes?.opened(reportOf(entry), entry.rule);
  }

  #coolDown(entry: BreakerEntry): void {
    entry.probe = null;
    entry.until = monotonicMs() + entry.rule.cooldownMs;
    this.#notify(entry);
  }

  #close(entry: BreakerEntry): void {
    this.#log.info({ ...entry.place, slug: entry.slug }, 'a circuit breaker closed');
    entry.openedAt = null;
    entry.closedAt = monotonicMs();
    entry.probe = null;
    entry.window.clear();
    this.#notify(entry);
  }

  async #mayProbe(place: BreakerPlace, worker: number): Promise<number | null> {
    const entry = this.#find(place);
    if (entry === null || entry.openedAt === null) {
      this.#server.broadcast('breaker-state', closedAt(place));
      return null;
    }
    const now = monotonicMs();
    entry.heardAt = now;
    if (now < entry.until || (entry.probe !== null && now < entry.probe.until)) return null;
    const probe: Probe = { number: ++this.#probes, worker, until: now + probeMs };
    entry.probe = probe;
    if (this.#nodes !== null && !(await this.#nodes.claim(place, probeMs))) {
      if (entry.probe !== probe) return null;
      entry.probe = null;
      entry.until = monotonicMs() + deniedMs;
      this.#notify(entry);
      return null;
    }
    if (entry.probe !== probe) return null;
    this.#notify(entry);
    return probe.number;
  }

  #probed({ outcome, probe, reason, ...place }: BreakerProbed): void {
    const entry = this.#find(place);
    if (entry === null || entry.openedAt === null) return;
    if (outcome === 'well') {
      this.#close(entry);
      this.#nodes?.closed(entry.place);
      return;
    }
    if (outcome === 'unasked') {
      if (entry.probe?.number === probe) this.#release(entry);
      return;
    }
    if (outcome === 'failed') {
      entry.reason = reason;
      entry.failures++;
      entry.requests++;
    }
    this.#coolDown(entry);
    this.#nodes?.opened(reportOf(entry), entry.rule);
  }

  #release(entry: BreakerEntry): void {
    entry.probe = null;
    this.#notify(entry);
    this.#nodes?.release(entry.place);
  }

  #openedElsewhere({
    place,
    slug,
    provider,
    rule,
    reason,
    failures,
    requests,
    openedAt,
    untilMs,
  }: OpenedElsewhere): void {
    const entry = this.#entry(place, slug, provider, rule);
    Object.assign(entry, { provider, reason, failures, requests, heardAt: monotonicMs() });
    entry.openedAt ??= Math.min(openedAt, Date.now());
    entry.probe = null;
    entry.until = monotonicMs() + Math.min(untilMs, rule.cooldownMs);
    this.#notify(entry);
  }

  #probedElsewhere(place: BreakerPlace): void {
    const entry = this.#find(place);
    if (entry === null || entry.openedAt === null) return;
    entry.probe = { number: 0, worker: null, until: monotonicMs() + probeMs };
    this.#notify(entry);
  }

  #notify(entry: BreakerEntry): void {
    const state = stateOf(entry);
    this.#changes[state.state]++;
    this.#server.broadcast('breaker-state', state);
  }

  #find({ organisation, workspace, config, path }: BreakerPlace): BreakerEntry | null {
    return this.#tenants.get(`${organisation}\n${workspace}`)?.get(`${config}\n${path}`) ?? null;
  }

  #entry(
    { organisation, workspace, config, path }: BreakerPlace,
    slug: string | null,
    provider: string,
    rule: Breaker,
  ): BreakerEntry {
    const tenant = `${organisation}\n${workspace}`;
    let entries = this.#tenants.get(tenant);
    if (entries === undefined) {
      entries = new Map();
      this.#tenants.set(tenant, entries);
    }
    const key = `${config}\n${path}`;
    const known = entries.get(key);
    // The most recently reported one is last.
    entries.delete(key);
    const entry: BreakerEntry = known ?? {
      place: { organisation, workspace, config, path },
      slug,
      provider,
      rule,
      window: new BreakerWindow(),
      openedAt: null,
      closedAt: 0,
      until: 0,
      probe: null,
      reason: '',
      failures: 0,
      requests: 0,
      heardAt: monotonicMs(),
    };
    entries.set(key, entry);
    if (known === undefined) this.#size++;
    if (entries.size > maxPerTenant) this.#forget(entries, oldestOf(entries));
    else if (this.#size > maxEntries) this.#makeRoom();
    return entry;
  }

  #makeRoom(): void {
    let largest: Map<string, BreakerEntry> | null = null;
    for (const entries of this.#tenants.values()) {
      if (largest === null || entries.size > largest.size) largest = entries;
    }
    if (largest !== null) this.#forget(largest, oldestOf(largest));
  }

  #forget(entries: Map<string, BreakerEntry>, [key, entry]: readonly [string, BreakerEntry]): void {
    entries.delete(key);
    this.#size--;
    if (entry.openedAt !== null) this.#close(entry);
  }

  #forgetOld(): void {
    const now = monotonicMs();
    for (const [tenant, entries] of this.#tenants) {
      for (const pair of entries) {
        const [, { openedAt, heardAt }] = pair;
        if (now - heardAt > (openedAt === null ? windowMs : forgetMs)) this.#forget(entries, pair);
      }
      if (entries.size === 0) this.#tenants.delete(tenant);
    }
  }

  #notClosed(): BreakerEntry[] {
    return [...this.#tenants.values()].flatMap((entries) =>
      [...entries.values()].filter(({ openedAt }) => openedAt !== null),
    );
  }
}

/** The least recently reported one. */
const oldestOf = (entries: Map<string, BreakerEntry>): [string, BreakerEntry] =>
  entries.entries().next().value!;
