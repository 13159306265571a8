/**
 * What statements may name of a request. `ok`: did it succeed, as logs have it; `is_fallback`: was its answer that of a later target;
 * `is_used`: did a provider serve it, and is it known what it used; `feedback_*`: of the feedback that counts at it.
 */
export const requestColumns = [
  'org',
  'at',
  'workspace',
  'key_id',
  'user_name',
  'provider',
  'provider_slug',
  'model',
  'config',
  'prompt',
  'status',
  'cache',
  'cost',
  'saved_cost',
  'input',
  'output',
  'total_us',
  'first_byte_us',
  'retries',
  'ok',
  'is_fallback',
  'trace',
  'span',
  'metadata',
  'integration',
  'cached',
  'cache_write',
  'reasoning',
  'usage_kinds',
  'is_used',
  'feedback_count',
  'feedback_value',
  'feedback_weight',
  'feedback_average',
] as const;

const when = (condition: string, value: string): string =>
  `coalesce(sum(CASE WHEN ${condition} THEN ${value} END), 0)`;
const isHit = "cache IN ('HIT', 'SEMANTIC HIT')";
const isMiss = "cache IN ('MISS', 'SEMANTIC MISS')";

/** Sums over requests. Costs in picodollars, times in microseconds. */
export const sums = {
  requests: 'count(*)',
  cost: 'coalesce(sum(cost), 0)',
  tokens: 'coalesce(sum(input + output), 0)',
  input: 'coalesce(sum(input), 0)',
  output: 'coalesce(sum(output), 0)',
  duration: 'coalesce(sum(total_us), 0)',
  errors: when('NOT ok', '1'),
  users: 'count(DISTINCT user_name)',
  of_users: 'count(user_name)',
  cacheable: when("cache <> 'DISABLED'", '1'),
  simple_hits: when("cache = 'HIT'", '1'),
  semantic_hits: when("cache = 'SEMANTIC HIT'", '1'),
  simple_saved: when("cache = 'HIT'", 'saved_cost'),
  semantic_saved: when("cache = 'SEMANTIC HIT'", 'saved_cost'),
  hit_duration: when(isHit, 'total_us'),
  misses: when(isMiss, '1'),
  miss_duration: when(isMiss, 'total_us'),
  feedback_count: 'coalesce(sum(feedback_count), 0)',
  feedback_value: 'coalesce(sum(feedback_value), 0)',
  feedback_weight: 'coalesce(sum(feedback_weight), 0)',
  with_feedback: when('feedback_count > 0', '1'),
  first_seen: 'min("at")',
  last_seen: 'max("at")',
} as const;
export type SumName = keyof typeof sums;

/** Of one bucket, group or range. */
export type Sums = Readonly<Record<SumName, number>>;
