import {
  type BreakerPlace,
  type BreakerState,
  breakerSliceMs,
  type ProbeOutcome,
} from '../../src/core/breaker.js';
import type { ErrorCode } from '../../src/core/errors.js';
import { GatewayError } from '../../src/core/errors.js';
import type { Exchange, Outcome, Reply } from '../../src/core/exchange.js';
import type { Shared } from '../../src/core/shared.js';
import type { Breaker, RouteNode, Target } from '../../src/core/target.js';
import type { Health } from './health.js';
import { isFailedStatus, isTargetsFault } from './outcome.js';

/** A target whose breaker is open, as this worker was told. */
interface Open {
  /** Unix milliseconds of the last change: what was sent before says nothing of the target since. */
  readonly since: number;
  /** Unix milliseconds from which on a request may ask to probe. */
  until: number;
}

/** The open breakers of one config, by the paths of their targets. */
export type OpenTargets = ReadonlyMap<string, Open>;

/** Failures wait this long for others, to be told together. */
const tellMs = 10;
/** A request waits no longer than this to be told whether it may probe. */
const claimMs = 50;
/** One that was not told so asks again after this long, unless it hears of the target before. */
const deniedMs = 250;
/** Slices that a worker keeps of what it did not tell yet: as many as are judged. */
const maxSlices = 30;

/**
 * A worker's part of the circuit breakers. It counts what comes of each attempt and tells the control process, which
 * adds up what all workers saw, opens and closes, and lets one request at a time probe (src/process/breakers.ts).
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

  /** May this request probe the target? Nobody else does while it may; what `judge` sees of it ends that. */
  async claim(x: Exchange, target: Target): Promise<boolean> {
    const open = this.#opened.get(keyOf(x))?.get(target.path);
    if (open === undefined) return true;
    if (Date.now() < open.until) return false;
    // Nobody else of this worker asks meanwhile.
    open.until = Date.now() + deniedMs;
    const place = placeOf(x, target);
    const asked = this.#shared.ask('breaker-probe', place).catch(() => false);
    const granted = await Promise.race([asked, late()]);
    // Should it still be granted, it is given back.
    if (granted === null)
      void asked.then((came) => came && this.#shared.tell('breaker-probed', { ...place, ...unasked }));
    return granted === true;
  }

  /** Sees what comes of an attempt, which is passed on as it is. `isProbe`: it was let through to find out. */
  judge(
    x: Exchange,
    target: Target,
    breaker: Breaker,
    isProbe: boolean,
    attempt: Promise<Reply>,
  ): Promise<Reply> {
    const began = Date.now();
    return attempt.then(
      (reply) => {
        const failed = isFailedStatus(reply.status, breaker.failureStatusCodes);
        this.#saw(x, target, breaker, began, isProbe, failed ? String(reply.status) : 'well');
        return reply;
      },
      (thrown: unknown) => {
        this.#threw(x, target, breaker, began, isProbe, GatewayError.from(thrown));
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

  #threw(
    x: Exchange,
    target: Target,
    breaker: Breaker,
    began: number,
    isProbe: boolean,
    { code, blame }: GatewayError,
  ): void {
    if (isTargetsFault(x, target, code)) return this.#saw(x, target, breaker, began, isProbe, code);
    if (!isProbe) return;
    const outcome = x.aborted !== null || blame === 'upstream' ? 'aborted' : 'unasked';
    this.#probed(x, target, outcome, code);
  }

  /** `reason`: `well`, or how it failed. */
  #saw(
    x: Exchange,
    target: Target,
    breaker: Breaker,
    began: number,
    isProbe: boolean,
    reason: 'well' | ErrorCode | string,
  ): void {
    const open = this.open === 0 ? undefined : this.opened(x)?.get(target.path);
    if (isProbe) return this.#probed(x, target, reason === 'well' ? 'well' : 'failed', reason);
    if (open === undefined) return this.#count(x, target, breaker, 1, reason);
    // Where every target is open all are asked: one that answers is well again.
    if (reason === 'well' && began > open.since) this.#probed(x, target, 'well', reason);
  }

  #probed(x: Exchange, target: Target, outcome: ProbeOutcome, reason: string): void {
    this.#shared.tell('breaker-probed', { ...placeOf(x, target), outcome, reason });
  }

  #count(x: Exchange, target: Target, breaker: Breaker, requests: 0 | 1, reason: string): void {
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
    if (reason === 'well') return tally.add(requests, 0);
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

  #changed({ organisation, workspace, config, path, state, until }: BreakerState): void {
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
    targets.set(path, { since: known?.since ?? Date.now(), until });
  }
}

const unasked = { outcome: 'unasked', reason: '' } as const;

const configKey = (organisation: string, workspace: string, config: string): string =>
  `${organisation}\n${workspace}\n${config}`;

const keyOf = ({ principal, config }: Exchange): string =>
  configKey(principal.organisationId, principal.workspaceId ?? '', config.fingerprint);

function isAvailable(node: RouteNode, open: OpenTargets, now: number): boolean {
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

function late(): Promise<null> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(null), claimMs).unref();
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
