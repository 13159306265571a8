import {
  type BreakerPlace,
  type BreakerState,
  breakerSliceMs,
  type ProbeOutcome,
} from '../../src/core/breaker.js';
import { GatewayError } from '../../src/core/errors.js';
import type { Exchange, Outcome, Reply } from '../../src/core/exchange.js';
import type { Shared } from '../../src/core/shared.js';
import type { Breaker, RouteNode, Target } from '../../src/core/target.js';
import { weightOf } from './choose.js';
import type { Health } from './health.js';
import { isFailedStatus, isTargetsFault } from './outcome.js';

/** A target whose breaker is open, as this worker was told. */
interface Open {
  /** Unix milliseconds of the last change: what was sent before says nothing of the target since. */
  readonly since: number;
  /** Unix milliseconds from which on a request may ask to probe. */
  until: number;
  /** Unix milliseconds at which it opened, wherever that was. */
  readonly openedAt: number;
  /** The last failure: an HTTP status, or an error's code. */
  readonly reason: string;
}

/** An attempt that a breaker hears of. */
interface Try {
  readonly x: Exchange;
  readonly target: Target;
  readonly breaker: Breaker;
  readonly probe: number | null;
  /** Unix milliseconds. */
  readonly began: number;
}

/** The open breakers of one config, by the paths of their targets. */
export type OpenTargets = ReadonlyMap<string, Open>;

/** Failures wait this long for others, to be told together. */
const tellMs = 10;
/** A request waits no longer than this to be told whether it may probe: where all is well, a millisecond. */
const claimMs = 200;
/** One that was not told so asks again after this long, unless it hears of the target before. */
const deniedMs = 250;
/** Slices that a worker keeps of what it did not tell yet: as many as are judged. */
const maxSlices = 30;

/**
 * A worker's part of the circuit breakers. It counts what comes of each attempt and tells the control process, which
 * adds up what all workers saw, opens and closes, and lets one request at a time probe (src/shared/breakers.ts).
 */
export class Breakers implements Health {
  /** How many are open, of all configs: while there are none, a walk need not look. */
  open = 0;
  readonly #shared: Shared;
  readonly #opened = new Map<string, Map<string, Open>>();
  /** By target, then by tenant: one inline config may be several workspaces'. */
  readonly #tallies = new WeakMap<Target, Map<string, Tally>>();
  readonly #failing = new Set<Tally>();
  #timer: NodeJS.Timeout | null = null;

  constructor(shared: Shared) {
    this.#shared = shared;
    shared.hear('breaker-state', (state) => this.#changed(state));
    // Until it is known what is open, everything is asked; if that cannot be told, the next changes will be.
    shared.ask('breakers', null).then(
      (states) => {
        for (const state of states) this.#changed(state);
      },
      () => {},
    );
  }

  /** The open breakers of the exchange's config; null where there are none. */
  opened(x: Exchange): OpenTargets | null {
    return this.#opened.get(keyOf(x)) ?? null;
  }

  isOpen(x: Exchange, target: Target): boolean {
    return this.open > 0 && target.breaker !== null && this.opened(x)?.has(target.path) === true;
  }

  /** May this target, or any below this node, be asked now? */
  available(x: Exchange, node: RouteNode): boolean {
    const open = this.open === 0 ? null : this.opened(x);
    return open === null || isAvailable(node, open, Date.now());
  }

  /**
   * May this request probe the target? The probe's number: nobody else does then, until `judge` sees what comes of it;
   * 0: it closed meanwhile; null: no.
   */
  async claim(x: Exchange, target: Target): Promise<number | null> {
    // What comes of it would not be judged.
    if (x.endpoint.counts === true) return null;
    const open = this.#opened.get(keyOf(x))?.get(target.path);
    if (open === undefined) return 0;
    if (Date.now() < open.until) return null;
    // Nobody else of this worker asks meanwhile.
    open.until = Date.now() + deniedMs;
    const place = placeOf(x, target);
    const asked = this.#shared.ask('breaker-probe', place).catch(() => null);
    const probe = await Promise.race([asked, late()]);
    if (probe !== undefined) return probe;
    // Should it still come, it is given back.
    void asked.then((number) => {
      if (number === null) return;
      this.#shared.tell('breaker-probed', { ...place, outcome: 'unasked', probe: number, reason: '' });
    });
    return null;
  }

  /** Sees what comes of an attempt, which is passed on as it is. `probe`: it was let through to find out; else null. */
  judge(
    x: Exchange,
    target: Target,
    breaker: Breaker,
    probe: number | null,
    attempt: Promise<Reply>,
  ): Promise<Reply> {
    const made: Try = { x, target, breaker, probe, began: Date.now() };
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

  /** An answer that was taken for good when it began may still have broken off. */
  ended(x: Exchange, target: Target, breaker: Breaker, outcome: Outcome): void {
    const last = x.answeredBy ?? x.attempts.at(-1);
    if (last === undefined || last.error === null || last.target !== target.path) return;
    // Where the client was given another status than this attempt's, it had failed before: that was seen.
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
    // Where every target is open all are asked: one that answers is well again.
    if (reason === null && began >= open.since) this.#probed(made, 'well', '');
  }

  #probed({ x, target, probe }: Try, outcome: ProbeOutcome, reason: string): void {
    this.#shared.tell('breaker-probed', { ...placeOf(x, target), outcome, probe: probe ?? 0, reason });
  }

  #count(x: Exchange, target: Target, breaker: Breaker, requests: 0 | 1, reason: string | null): void {
    let tallies = this.#tallies.get(target);
    if (tallies === undefined) {
      tallies = new Map();
      this.#tallies.set(target, tallies);
    }
    const { workspaceId, organisationId } = x.principal;
    let tally = tallies.get(workspaceId ?? organisationId);
    if (tally === undefined) {
      tally = new Tally(placeOf(x, target), x.config.slug, breaker);
      tallies.set(workspaceId ?? organisationId, tally);
    }
    if (reason === null) return tally.add(requests, 0);
    tally.add(requests, 1);
    tally.reason = reason;
    tally.provider = x.attempts.at(-1)?.provider ?? '';
    this.#failing.add(tally);
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => this.#tell(), tellMs);
    this.#timer.unref();
  }

  #tell(): void {
    this.#timer = null;
    for (const tally of this.#failing) this.#shared.tell('breaker-counts', tally.take());
    this.#failing.clear();
  }

  #changed(told: BreakerState): void {
    const { organisation, workspace, config, path, state, until, openedAt, reason } = told;
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
    // Half open: whoever probes knows; the others come when that is over, or took too long.
    targets.set(path, { since: known?.since ?? Date.now(), until, openedAt, reason });
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

/** What was seen of a target since it was last told. */
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
    const slice = Math.floor(Date.now() / breakerSliceMs);
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
    const told = { ...place, slug, provider, rule, reason, counts: this.#counts };
    this.#counts = [];
    return told;
  }
}
