import { dollarsOf } from '../vocabulary/money.js';
import type { BalanceBy } from './target.js';

/** Why a load balancer chose a child: its criterion, or the request's session. */
export type PickedBy = BalanceBy | 'session';

/**
 * One decision on a request's way through its config. Plain JSON; `target` is the path of
 * its node. Readable text is made where it is shown.
 */
export type Decision =
  /** A condition held; `query` null: none did, and the default was taken. */
  | { readonly kind: 'branch'; readonly target: string; readonly query: string | null }
  /**
   * A load balancer's choice. If it compared children: the figure of the chosen one, and the best of the others with
   * its own: milliseconds, picodollars or requests in flight. Infinity (null in JSON): unknown.
   */
  | {
      readonly kind: 'pick';
      readonly target: string;
      readonly by: PickedBy;
      readonly score?: number | null;
      readonly next?: string | null;
      readonly nextScore?: number | null;
    }
  /** Its circuit breaker is open since `since` (Unix milliseconds), after that HTTP status or error's code. */
  | { readonly kind: 'open'; readonly target: string; readonly since: number; readonly because: string }
  /** Its breaker is open, and this request probes it. */
  | { readonly kind: 'probe'; readonly target: string }
  /** Every breaker is open: the targets are called as if none were. */
  | { readonly kind: 'all_open'; readonly target: string }
  /** A fallback moved on from it. `because`: an HTTP status, or an error's code. */
  | { readonly kind: 'moved_on'; readonly target: string; readonly because: number | string }
  /** It was called again, after `ms` milliseconds. */
  | {
      readonly kind: 'retry';
      readonly target: string;
      readonly because: number | string;
      readonly ms: number;
    }
  /** It would have been called again, except for … */
  | {
      readonly kind: 'no_retry';
      readonly target: string;
      readonly why: 'tries' | 'time' | 'breaker' | 'budget';
    }
  /** It was called beside another one, which was late after `ms` milliseconds. */
  | { readonly kind: 'hedge'; readonly target: string; readonly ms: number }
  /** It would have been, but the budget of hedges was used up. */
  | { readonly kind: 'no_hedge'; readonly target: string }
  /** It answered first of two. */
  | { readonly kind: 'first'; readonly target: string }
  /** The request waited `ms` milliseconds for a turn. */
  | { readonly kind: 'waited'; readonly target: string; readonly ms: number }
  /** The request was copied to it. */
  | { readonly kind: 'mirror'; readonly target: string };

/** Decisions kept per request, the first ones: the size of a log row is limited. */
export const maxDecisions = 64;

/** Longest part of a condition that is kept with a request. */
const maxQuery = 200;

export const shortQuery = (query: string): string =>
  query.length <= maxQuery ? query : `${query.slice(0, maxQuery)}…`;

/** A decision as readable text: what, for which node, and why. */
export interface DescribedDecision {
  readonly decision: Decision['kind'];
  readonly target: string;
  readonly reason: string;
}

export function describeDecision(decision: Decision): DescribedDecision {
  return { decision: decision.kind, target: decision.target, reason: reasonOf(decision) };
}

function reasonOf(decision: Decision): string {
  switch (decision.kind) {
    case 'branch':
      return decision.query === null ? 'no condition holds: the default' : `${decision.query} holds`;
    case 'pick':
      return pickReason(decision);
    case 'open':
      return `left alone: ${breakerText(decision.since, decision.because)}`;
    case 'probe':
      return 'its circuit breaker is open: this request finds out whether it answers again';
    case 'all_open':
      return 'the circuit breakers of all targets are open: they are asked all the same';
    case 'moved_on':
      return `moved on, since it answered with ${decision.because}`;
    case 'retry':
      return `asked again ${round(decision.ms)} ms after ${decision.because}`;
    case 'no_retry':
      return noRetry[decision.why];
    case 'hedge':
      return `asked as well, since no token had come after ${round(decision.ms)} ms`;
    case 'no_hedge':
      return 'late, but the share of requests that may be hedged is used up';
    case 'first':
      return 'answered first; the other was given up';
    case 'waited':
      return `waited ${round(decision.ms)} ms for a turn: the upstream had all the requests that it takes`;
    case 'mirror':
      return 'sent a copy that nobody waits for';
  }
}

export const breakerText = (since: number, because: string): string =>
  `its circuit breaker is open since ${new Date(since).toISOString()}, the last failure was ${because}`;

const noRetry = {
  tries: 'not asked again: the tries are used up',
  time: 'not asked again: the wait would have been longer than the request may take',
  breaker: 'not asked again: its circuit breaker has opened',
  budget: "not asked again: the workspace's share of retries is used up",
} as const;

const picked = {
  weight: 'drawn by weight',
  session: 'its session is kept there',
  latency: 'the quicker of two that were drawn',
  cost: 'the cheapest',
  busy: 'the least busy',
} as const;

function pickReason({ by, score, next, nextScore }: Extract<Decision, { kind: 'pick' }>): string {
  if (score === undefined) return picked[by];
  const own = `${picked[by]}, ${scoreText(by, score)}`;
  return next ? `${own}; ${next} ${scoreText(by, nextScore ?? null)}` : own;
}

/** The figure that a balancer compared, with its unit. */
export function scoreText(by: PickedBy, score: number | null): string {
  if (score === null || !Number.isFinite(score)) return 'unknown';
  if (by === 'latency') return `${round(score)} ms`;
  if (by === 'cost') return `$${dollarsOf(score).toFixed(6)}`;
  return `${score} under way`;
}

const round = (ms: number): number => Math.round(ms * 10) / 10;
