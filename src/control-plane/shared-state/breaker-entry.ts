import { monotonicMs } from '../../common/bytes/monotonic.js';
import type { Breaker } from '../../common/core/target.js';
import type { BreakerPlace, BreakerReport, BreakerState } from '../../common/ipc/breaker.js';
import type { BreakerWindow } from './breaker-window.js';

/** A circuit breaker of this node. */
export interface BreakerEntry {
  readonly place: BreakerPlace;
  slug: string | null;
  provider: string;
  rule: Breaker;
  readonly window: BreakerWindow;
  /** Unix milliseconds; null: closed. */
  openedAt: number | null;
  /** Monotonic milliseconds, as are those below. */
  closedAt: number;
  until: number;
  probe: Probe | null;
  reason: string;
  failures: number;
  requests: number;
  heardAt: number;
}

/** A request that tests whether the target answers again. */
export interface Probe {
  readonly number: number;
  /** The worker whose request probes; null: another node's. */
  readonly worker: number | null;
  /** Monotonic milliseconds. */
  readonly until: number;
}

export function stateOf({ place, openedAt, until, probe, reason }: BreakerEntry): BreakerState {
  if (openedAt === null) return closedAt(place);
  const isProbed = probe !== null && monotonicMs() < probe.until;
  return {
    ...place,
    state: isProbed ? 'half_open' : 'open',
    until: isProbed ? probe.until : until,
    openedAt,
    reason,
  };
}

export const closedAt = (place: BreakerPlace): BreakerState => ({
  ...place,
  state: 'closed',
  until: 0,
  openedAt: 0,
  reason: '',
});

export function reportOf(entry: BreakerEntry): BreakerReport {
  const { place, slug, provider, openedAt, until, reason, failures, requests } = entry;
  const isProbed = stateOf(entry).state === 'half_open';
  return {
    ...place,
    slug,
    provider,
    state: isProbed ? 'half_open' : 'open',
    openedAt: openedAt ?? 0,
    nextProbeAt: Math.round(Date.now() + until - monotonicMs()),
    reason,
    failures,
    requests,
  };
}
