import { monotonicMs } from '../../../src/common/bytes/monotonic.js';
import { GatewayError } from '../../../src/common/core/errors.js';
import type { Exchange, Outcome, Reply } from '../../../src/common/core/exchange.js';
import type { Breaker, RouteNode, Target } from '../../../src/common/core/target.js';
import {
  type BreakerPlace,
  type BreakerState,
  breakerSliceMs,
  type ProbeOutcome,
} from '../../../src/common/ipc/breaker.js';
import type { Shared } from '../../../src/common/ipc/shared.js';
import { weightOf } from '../balance/balance.js';
import type { Health } from './health.js';
import { isFailedStatus, isTargetsFault } from './outcome.js';

/** A target whose breaker is open, by the last message to this worker. */
interface Open {
  /** Monotonic milliseconds of the last change: the results of earlier attempts no longer count. */
  readonly since: number;
  /** Monotonic milliseconds from which on a request may ask to probe. */
  until: number;
  /** Unix milliseconds at which it opened, wherever that was. */
  readonly openedAt: number;
  /** The last failure: an HTTP status, or an error's code. */
  readonly reason: string;
}

/** An attempt that is reported to a breaker. */
interface Try {
  readonly x: Exchange;
  readonly target: Target;
  readonly breaker: Breaker;
  readonly probe: number | null;
  /** Monotonic milliseconds. */
  readonly began: number;
}

/** The open breakers of one config, by the paths of their targets. */
export type OpenTargets = ReadonlyMap<string, Open>;

/** Failures wait this long for others, to be reported in one message. */
const reportMs = 10;
/** A request waits no longer than this for the permission to probe; usually a millisecond. */
const claimMs = 200;
/** One that was refused asks again after this long, unless news of the target arrives before. */
const deniedMs = 250;
/** Tallies of about 1.5 KB each that a worker keeps at least; at most twice as many. */
const maxTallies = 5000;
/** Slices of unreported counts that a worker keeps: as many as are evaluated. */
const maxSlices = 30;

/**
 * A worker's part of the circuit breakers. It counts the outcome of each attempt and reports it to the control process, which
 * adds up what all workers saw, opens and closes, and lets one request at a time probe (src/control-plane/shared-state/breakers.ts).
 */
export class WorkerBreakers implements Health {
  /** The number of open breakers of all configs: with none, a walk need not check. */
  open = 0;
  readonly #shared: Shared;
  readonly #opened = new Map<string, Map<string, Open>>();
  /** By target, then by tenant: several workspaces may use the same inline config. */
  #tallies = new WeakMap<Target, Map<string, Tally>>();
  /** The same of the previous period: entries in use move to the present one, the others are forgotten. */
  #earlier = new WeakMap<Target, Map<string, Tally>>();
  #made = 0;
  readonly #failing = new Set<Tally>();
  #timer: NodeJS.Timeout | null = null;

  constructor(shared: Shared) {
    this.#shared = shared;
    shared.on('breaker-state', (state) => this.#changed(state));
    // Until the open breakers are known, every target is called; if the list cannot be fetched, later changes still arrive.
    shared.ask('breakers', null).then(
      (states) => {
        for (const state of states) this.#changed(state);
      },
      () => {},
    );
  }

  /** The open breakers of the exchange's config; null: there are none. */
  opened(x: Exchange): OpenTargets | null {
    return this.#opened.get(keyOf(x)) ?? null;
  }

  isOpen(x: Exchange, target: Target): boolean {
    return this.open > 0 && target.breaker !== null && this.opened(x)?.has(target.path) === true;
  }

  /** May this target, or any below this node, be called now? */
  available(x: Exchange, node: RouteNode): boolean {
    const open = this.open === 0 ? null : this.opened(x);
    return open === null || isAvailable(node, open, monotonicMs());
  }

  /**
   * May this request probe the target? The probe's number: no other request probes until `judge` gets the outcome;
   * 0: it closed meanwhile; null: no.
   */
  async claim(x: Exchange, target: Target): Promise<number | null> {
    // Its outcome would prove nothing.
    if (x.endpoint.counts === true) return null;
    const open = this.#opened.get(keyOf(x))?.get(target.path);
    if (open === undefined) return 0;
    if (monotonicMs() < open.until) return null;
    // No other request of this worker asks meanwhile.
    open.until = monotonicMs() + deniedMs;
    const place = placeOf(x, target);
    const asked = this.#shared.ask('breaker-probe', place).catch(() => null);
    const probe = await Promise.race([asked, late()]);
    if (probe !== undefined) return probe;
    // A permission that arrives too late is returned.
    void asked.then((number) => {
      if (number === null) return;
      this.#shared.send('breaker-probed', { ...place, outcome: 'unasked', probe: number, reason: '' });
    });
    return null;
  }

  /** Records the outcome of an attempt, whose reply is passed on. `probe`: the number of its probe; null: none. */
  judge(
    x: Exchange,
    target: Target,
    breaker: Breaker,
    probe: number | null,
    attempt: Promise<Reply>,
  ): Promise<Reply> {
    const made: Try = { x, target, breaker, probe, began: monotonicMs() };
    return attempt.then(
      (reply) => {
        const failed = isFailedStatus(reply.status, breaker.failureStatusCodes);
        this.#saw(made, failed ? String(reply.status) : null);
        return reply;
      },
      (thrown: unknown) => {
        this.#threw(made, GatewayError.from(thrown));
        throw thrown;
      },
    );
  }

  /** An answer that began well may still have broken off. */
  ended(x: Exchange, target: Target, breaker: Breaker, outcome: Outcome): void {
    const last = x.answeredBy ?? x.attempts.at(-1);
    if (last === undefined || last.error === null || last.target !== target.path) return;
    // If the client got another status than this attempt's, the attempt had failed and was counted before.
    if (last.status !== outcome.status || !isTargetsFault(x, target, last.error)) return;
    this.#count(x, target, breaker, 0, last.error);
  }

  #threw(made: Try, { code, blame }: GatewayError): void {
    const { x, target } = made;
    if (isTargetsFault(x, target, code)) return this.#saw(made, code);
    if (made.probe === null) return;
    this.#probed(made, x.aborted !== null || blame === 'upstream' ? 'aborted' : 'unasked', code);
  }

  /** `reason`: how it failed; null: it did not. */
  #saw(made: Try, reason: string | null): void {
    const { x, target, breaker, probe, began } = made;
    if (probe !== null) return this.#probed(made, reason === null ? 'well' : 'failed', reason ?? '');
    const open = this.open === 0 ? undefined : this.opened(x)?.get(target.path);
    if (open === undefined) return this.#count(x, target, breaker, 1, reason);
    // If every target is open all are called: one that answers has recovered.
    if (reason === null && began >= open.since) this.#probed(made, 'well', '');
  }

  #probed({ x, target, probe }: Try, outcome: ProbeOutcome, reason: string): void {
    this.#shared.send('breaker-probed', { ...placeOf(x, target), outcome, probe: probe ?? 0, reason });
  }

  #count(x: Exchange, target: Target, breaker: Breaker, requests: 0 | 1, reason: string | null): void {
    const { workspaceId, organisationId } = x.principal;
    const tenant = workspaceId ?? organisationId;
    const tally =
      this.#tallies.get(target)?.get(tenant) ??
      this.#keep(
        target,
        tenant,
        this.#earlier.get(target)?.get(tenant) ?? new Tally(placeOf(x, target), x.config.slug, breaker),
      );
    if (reason === null) return tally.add(requests, 0);
    tally.add(requests, 1);
    tally.reason = reason;
    tally.provider = x.attempts.at(-1)?.provider ?? '';
    this.#failing.add(tally);
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => this.#report(), reportMs);
    this.#timer.unref();
  }

  #keep(target: Target, tenant: string, tally: Tally): Tally {
    if (++this.#made > maxTallies) {
      this.#earlier = this.#tallies;
      this.#tallies = new WeakMap();
      this.#made = 1;
    }
    const tallies = this.#tallies.get(target) ?? new Map<string, Tally>();
    this.#tallies.set(target, tallies.set(tenant, tally));
    return tally;
  }

  #report(): void {
    this.#timer = null;
    for (const tally of this.#failing) this.#shared.send('breaker-counts', tally.take());
    this.#failing.clear();
  }

  #changed(news: BreakerState): void {
    const { organisation, workspace, config, path, state, until, openedAt, reason } = news;
    const key = configKey(organisation, workspace, config);
    let targets = this.#opened.get(key);
    if (state === 'closed') {
      if (targets?.delete(path)) this.open--;
      if (targets?.size === 0) this.#opened.delete(key);
      return;
    }
    if (targets === undefined) {
      targets = new Map();
      this.#opened.set(key, targets);
    }
    const known = targets.get(path);
    if (known === undefined) this.open++;
    // Half open: other requests wait until the probe has ended or took too long.
    targets.set(path, { since: known?.since ?? monotonicMs(), until, openedAt, reason });
  }
}

const configKey = (organisation: string, workspace: string, config: string): string =>
  `${organisation}\n${workspace}\n${config}`;

const keyOf = ({ principal, config }: Exchange): string =>
  configKey(principal.organisationId, principal.workspaceId ?? '', config.fingerprint);

function isAvailable(node: RouteNode, open: OpenTargets, now: number): boolean {
  if (node.kind === 'loadbalance')
    return node.children.some((child, i) => weightOf(node, i) > 0 && isAvailable(child, open, now));
  if (node.kind !== 'target') return node.children.some((child) => isAvailable(child, open, now));
  const target = open.get(node.path);
  return target === undefined || now >= target.until;
}

function placeOf({ principal, config }: Exchange, target: Target): BreakerPlace {
  return {
    organisation: principal.organisationId,
    workspace: principal.workspaceId ?? '',
    config: config.fingerprint,
    path: target.path,
  };
}

function late(): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), claimMs).unref();
  });
}

/** Counts of a target since the last report. */
class Tally {
  reason = '';
  provider = '';
  #counts: number[] = [];

  constructor(
    readonly place: BreakerPlace,
    readonly slug: string | null,
    readonly rule: Breaker,
  ) {}

  add(requests: number, failures: number): void {
    const counts = this.#counts;
    const slice = Math.floor(monotonicMs() / breakerSliceMs);
    const last = counts.length - 3;
    if (last >= 0 && counts[last] === slice) {
      counts[last + 1]! += requests;
      counts[last + 2]! += failures;
      return;
    }
    counts.push(slice, requests, failures);
    if (counts.length > 3 * maxSlices) counts.splice(0, 3);
  }

  take() {
    const { place, slug, rule, reason, provider } = this;
    const counts = { ...place, slug, provider, rule, reason, counts: this.#counts };
    this.#counts = [];
    return counts;
  }
}
