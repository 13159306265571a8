import {
  type BreakerCounts,
  type BreakerPlace,
  type BreakerProbed,
  type BreakerReport,
  type BreakerState,
  breakerSliceMs,
} from '../core/breaker.js';
import type { Metric } from '../core/metrics.js';
import type { Logger } from '../core/plugin.js';
import type { SharedDesk } from '../core/shared.js';
import type { Breaker } from '../core/target.js';
import type { BreakerNodes, OpenedElsewhere } from './breaker-nodes.js';

interface Entry {
  readonly place: BreakerPlace;
  slug: string | null;
  provider: string;
  rule: Breaker;
  readonly window: Window;
  /** Unix milliseconds; null: closed. */
  openedAt: number | null;
  closedAt: number;
  until: number;
  probe: Probe | null;
  reason: string;
  failures: number;
  requests: number;
  heardAt: number;
}

interface Probe {
  readonly number: number;
  /** The worker whose request probes; null: another node's. */
  readonly worker: number | null;
  /** Unix milliseconds. */
  readonly until: number;
}

/** Failures are counted over this long … */
const windowMs = 60_000;
/** … and their share over this long, or as far back as there were enough requests to judge. */
const shareMs = 10_000;
/** A probe that takes longer than this does not keep others from probing. */
const probeMs = 60_000;
/** Denied, since another node probes: asked again after this long, should its news be lost. */
const deniedMs = 250;
/** One that nobody asks about for this long is forgotten, which closes it. */
const forgetMs = 3_600_000;
const sweepMs = 30_000;
/** Breakers kept for one tenant; the one heard of least recently makes room. */
const maxPerTenant = 1000;

/**
 * The circuit breakers of a node. The data workers tell what they see (plugins/router/breaker.ts); here it is added up and
 * decided, and every worker is told. Between nodes the decisions are shared, not the counts (breaker-nodes.ts).
 */
export class Breakers {
  readonly #tenants = new Map<string, Map<string, Entry>>();
  readonly #desk: SharedDesk;
  readonly #log: Logger;
  readonly #sweep: NodeJS.Timeout;
  readonly #changes = { open: 0, half_open: 0, closed: 0 };
  #nodes: BreakerNodes | null = null;
  #probes = 0;

  constructor(desk: SharedDesk, log: Logger) {
    this.#desk = desk;
    this.#log = log;
    desk.answer('breakers', () => this.#notClosed().map(stateOf));
    desk.answer('breaker-probe', (place, worker) => this.#mayProbe(place, worker));
    desk.hear('breaker-counts', (counts) => this.#counted(counts));
    desk.hear('breaker-probed', (probed) => this.#probed(probed));
    this.#sweep = setInterval(() => this.#forgetOld(), sweepMs);
    this.#sweep.unref();
  }

  /** Shares what is decided with other nodes from now on. */
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

  /** What probes for it never comes back. */
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
  }

  #counted(counts: BreakerCounts): void {
    const entry = this.#entry(counts, counts.slug, counts.provider, counts.rule);
    entry.heardAt = Date.now();
    // The worker does not know yet that it is open.
    if (entry.openedAt !== null) return;
    entry.reason = counts.reason;
    entry.provider = counts.provider;
    entry.window.add(counts.counts, entry.closedAt);
    if (!entry.window.breaks(entry.rule)) return;
    Object.assign(entry, entry.window.total(windowMs));
    this.#open(entry);
  }

  #open(entry: Entry): void {
    this.#log.warn(
      { ...entry.place, slug: entry.slug, provider: entry.provider, reason: entry.reason },
      'a circuit breaker opened',
    );
    entry.openedAt = Date.now();
    this.#coolDown(entry);
    this.#nodes?.opened(reportOf(entry), entry.rule);
  }

  #coolDown(entry: Entry): void {
    entry.probe = null;
    entry.until = Date.now() + entry.rule.cooldownMs;
    this.#tell(entry);
  }

  #close(entry: Entry): void {
    this.#log.info({ ...entry.place, slug: entry.slug }, 'a circuit breaker closed');
    entry.openedAt = null;
    entry.closedAt = Date.now();
    entry.probe = null;
    entry.window.clear();
    this.#tell(entry);
  }

  async #mayProbe(place: BreakerPlace, worker: number): Promise<number | null> {
    const entry = this.#find(place);
    if (entry === null || entry.openedAt === null) {
      this.#desk.tell('breaker-state', closedAt(place));
      return null;
    }
    const now = Date.now();
    entry.heardAt = now;
    if (now < entry.until || (entry.probe !== null && now < entry.probe.until)) return null;
    const probe: Probe = { number: ++this.#probes, worker, until: now + probeMs };
    entry.probe = probe;
    if (this.#nodes !== null && !(await this.#nodes.claim(place, probeMs))) {
      if (entry.probe !== probe) return null;
      entry.probe = null;
      entry.until = Date.now() + deniedMs;
      this.#tell(entry);
      return null;
    }
    if (entry.probe !== probe) return null;
    this.#tell(entry);
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

  #release(entry: Entry): void {
    entry.probe = null;
    this.#tell(entry);
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
    Object.assign(entry, { provider, reason, failures, requests, heardAt: Date.now() });
    entry.openedAt ??= Math.min(openedAt, Date.now());
    entry.probe = null;
    entry.until = Date.now() + Math.min(untilMs, rule.cooldownMs);
    this.#tell(entry);
  }

  #probedElsewhere(place: BreakerPlace): void {
    const entry = this.#find(place);
    if (entry === null || entry.openedAt === null) return;
    entry.probe = { number: 0, worker: null, until: Date.now() + probeMs };
    this.#tell(entry);
  }

  #tell(entry: Entry): void {
    const state = stateOf(entry);
    this.#changes[state.state]++;
    this.#desk.tell('breaker-state', state);
  }

  #find({ organisation, workspace, config, path }: BreakerPlace): Entry | null {
    return this.#tenants.get(`${organisation}\n${workspace}`)?.get(`${config}\n${path}`) ?? null;
  }

  #entry(
    { organisation, workspace, config, path }: BreakerPlace,
    slug: string | null,
    provider: string,
    rule: Breaker,
  ): Entry {
    const tenant = `${organisation}\n${workspace}`;
    let entries = this.#tenants.get(tenant);
    if (entries === undefined) {
      entries = new Map();
      this.#tenants.set(tenant, entries);
    }
    const key = `${config}\n${path}`;
    const known = entries.get(key);
    // The most recently heard of stands last.
    entries.delete(key);
    const entry: Entry = known ?? {
      place: { organisation, workspace, config, path },
      slug,
      provider,
      rule,
      window: new Window(),
      openedAt: null,
      closedAt: 0,
      until: 0,
      probe: null,
      reason: '',
      failures: 0,
      requests: 0,
      heardAt: Date.now(),
    };
    entries.set(key, entry);
    if (entries.size > maxPerTenant) this.#forget(entries, entries.entries().next().value!);
    return entry;
  }

  #forget(entries: Map<string, Entry>, [key, entry]: readonly [string, Entry]): void {
    entries.delete(key);
    if (entry.openedAt !== null) this.#close(entry);
  }

  #forgetOld(): void {
    const now = Date.now();
    for (const [tenant, entries] of this.#tenants) {
      for (const pair of entries) {
        const [, { openedAt, heardAt }] = pair;
        if (now - heardAt > (openedAt === null ? windowMs : forgetMs)) this.#forget(entries, pair);
      }
      if (entries.size === 0) this.#tenants.delete(tenant);
    }
  }

  #notClosed(): Entry[] {
    return [...this.#tenants.values()].flatMap((entries) =>
      [...entries.values()].filter(({ openedAt }) => openedAt !== null),
    );
  }
}

function stateOf({ place, openedAt, until, probe, reason }: Entry): BreakerState {
  if (openedAt === null) return closedAt(place);
  const isProbed = probe !== null && Date.now() < probe.until;
  return {
    ...place,
    state: isProbed ? 'half_open' : 'open',
    until: isProbed ? probe.until : until,
    openedAt,
    reason,
  };
}

const closedAt = (place: BreakerPlace): BreakerState => ({
  ...place,
  state: 'closed',
  until: 0,
  openedAt: 0,
  reason: '',
});

function reportOf(entry: Entry): BreakerReport {
  const { place, slug, provider, openedAt, until, reason, failures, requests } = entry;
  const isProbed = stateOf(entry).state === 'half_open';
  return {
    ...place,
    slug,
    provider,
    state: isProbed ? 'half_open' : 'open',
    openedAt: openedAt ?? 0,
    nextProbeAt: until,
    reason,
    failures,
    requests,
  };
}

/** Requests and failures of the last minute, by slices of time. */
class Window {
  readonly #slices = new Map<number, { requests: number; failures: number }>();

  /** Triples, as a worker tells them; those that were over at `from`, in Unix milliseconds, are history. */
  add(counts: readonly number[], from: number): void {
    const oldest = this.#now() - windowMs / breakerSliceMs;
    for (let i = 0; i < counts.length; i += 3) {
      const [number, requests, failures] = counts.slice(i, i + 3) as [number, number, number];
      if ((number + 1) * breakerSliceMs <= from) continue;
      const slice = this.#slices.get(number) ?? { requests: 0, failures: 0 };
      slice.requests += requests;
      slice.failures += failures;
      this.#slices.set(number, slice);
    }
    for (const number of this.#slices.keys()) if (number <= oldest) this.#slices.delete(number);
  }

  breaks({ failureThreshold, failureThresholdPercentage, minimumRequests }: Breaker): boolean {
    const { failures } = this.total(windowMs);
    if (failureThreshold !== null && failures >= failureThreshold) return true;
    if (failureThresholdPercentage === null) return false;
    for (let ms = shareMs; ms <= windowMs; ms += breakerSliceMs) {
      const seen = this.total(ms);
      if (seen.requests < minimumRequests) continue;
      return seen.failures * 100 >= failureThresholdPercentage * seen.requests;
    }
    return false;
  }

  /** Of the last `ms` milliseconds, in whole slices. */
  total(ms: number): { requests: number; failures: number } {
    const oldest = this.#now() - ms / breakerSliceMs;
    const total = { requests: 0, failures: 0 };
    for (const [number, { requests, failures }] of this.#slices) {
      if (number <= oldest) continue;
      total.requests += requests;
      total.failures += failures;
    }
    return total;
  }

  clear(): void {
    this.#slices.clear();
  }

  #now(): number {
    return Math.floor(Date.now() / breakerSliceMs);
  }
}
