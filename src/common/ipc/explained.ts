import type { BudgetHolder, BudgetMeasure } from '../core/budget-rules.js';
import type { Attempt, JsonObject } from '../core/exchange.js';
import type { RateHolder, RateMeasure, RateUnit } from '../core/rate-rules.js';
import type { RouteNode, Target } from '../core/target.js';
import type { KeyRecord } from './records.js';

/** A request that is to be explained and not sent. Plain JSON. */
export interface ToExplain {
  /** The key that would send it. */
  readonly key: KeyRecord;
  /** Path of the endpoint: `/v1/chat/completions`. */
  readonly path: string;
  /** Lower-case names, each followed by its value; without a config. */
  readonly headers: readonly string[];
  /** Slug of a saved config, or the JSON text of another; null: the key's own, or none. */
  readonly config: string | null;
  /** JSON text. */
  readonly body: string;
  /** Texts that the config's guardrails judge in place of the body. Absent: none are. */
  readonly judge?: TextsToJudge;
}

/** Texts for guardrails, as if each were the last message of a request or the first choice of an answer. */
export interface TextsToJudge {
  readonly phase: 'before' | 'after';
  readonly texts: readonly string[];
}

/** What a guardrail found in a text. */
export interface JudgedText {
  readonly verdict: boolean;
  /** Milliseconds. */
  readonly ms: number;
  /** null: the text was not changed. */
  readonly transformed: string | null;
  /** As in `hook_results`. */
  readonly hook: JsonObject;
}

/** What the cache would do. */
export interface PlannedCache {
  readonly mode: 'simple' | 'semantic';
  /** Seconds. */
  readonly maxAge: number;
  readonly namespace: string | null;
  /** Is it a forced refresh? */
  readonly refresh: boolean;
  /** Does this worker have an answer to the same request in memory? */
  readonly remembered: boolean;
}

/** A node of the config, and its part in the plan. */
export interface PlannedNode {
  readonly kind: RouteNode['kind'];
  readonly path: string;
  readonly name: string | null;
  /** The target's place in the order of calls, from 1; 0: it would not be called, or is not a target. */
  readonly turn: number;
  /** Why it would be called at that point, or why not. */
  readonly reason: string;
  readonly target: Target | null;
  readonly children: readonly PlannedNode[];
}

/** A limit that a request would meet. Plain JSON. */
export interface PlannedLimit {
  /** What it is set on. */
  readonly on: RateHolder | BudgetHolder;
  readonly name: string;
  readonly type: RateMeasure | BudgetMeasure;
  /** Of a rate limit; null: of requests under way, or of a budget. */
  readonly unit: RateUnit | null;
  /** Of budgets of cost in nanodollars. */
  readonly value: number;
  readonly shadow: boolean;
  /** What is left of it, in the unit of its value; null: not known here. */
  readonly left: number | null;
  /** Of a budget: its name and the period of now; null: it is a rate limit. */
  readonly counter: {
    readonly budget: string;
    readonly startsAt: number;
    readonly endsAt: number | null;
  } | null;
}

/** A target as policies see it. */
export type PlannedTarget = Pick<Attempt, 'slug' | 'provider' | 'model'>;

/** Filled by the stages of a worker's chain, each with its own part. */
export interface Plan {
  cache: PlannedCache | null;
  route: PlannedNode | null;
  /** Those of the request as a whole. */
  limits: readonly PlannedLimit[];
  /** Those that a call of a target would meet besides; null: there are none. */
  limitsOf: ((target: PlannedTarget) => Promise<readonly PlannedLimit[]>) | null;
  /** Absent: there is nothing to judge. */
  readonly judge?: TextsToJudge;
  judged?: readonly JudgedText[];
}

/** The explanation of a node: its children follow it, one deeper. Plain JSON. */
export interface ExplainedNode extends Omit<PlannedNode, 'target' | 'children'> {
  /** From 0. */
  readonly depth: number;
  /** Additional actions: retry, copy, wait. */
  readonly notes: readonly string[];
  /** For a target that would be called: provider, model and body, in the client's own format. */
  readonly provider: string | null;
  /** Slug of the stored provider; null: none is stored. */
  readonly virtual_key: string | null;
  readonly model: string | null;
  readonly body: JsonObject | null;
  /** Limits that a call of that target would meet, besides those of the request. */
  readonly limits: readonly PlannedLimit[];
  /** Why that target could not be called. */
  readonly error: string | null;
}

/** The plan for a request. Plain JSON. */
export interface Explained {
  /** Why the gateway would refuse it before reaching the config's targets; null: it would not. */
  readonly refused: { readonly code: string; readonly message: string } | null;
  readonly config: string | null;
  readonly configVersion: string;
  readonly cache: PlannedCache | null;
  readonly limits: readonly PlannedLimit[];
  readonly nodes: readonly ExplainedNode[];
  /** null: no texts were to be judged. */
  readonly judged: readonly JudgedText[] | null;
}
