/** Source of the figures: the provider's report, the gateway's own count, or none. */
export type UsageSource = 'provider' | 'counted' | 'none';

/** A service tier that providers bill separately: the answer names it. */
export type ServiceTier = 'batch' | 'flex' | 'priority';

/** Usage that some models bill separately from text, or in other units than tokens. Absent: none. Whole numbers. */
export interface UsageKinds {
  /** Of `cacheWrite`: kept for an hour. */
  readonly cacheWriteHour?: number;
  /** Of `input`, cached ones included. */
  readonly audioInput?: number;
  readonly imageInput?: number;
  /** Of `cached`. */
  readonly audioCached?: number;
  readonly imageCached?: number;
  /** Of `output`. */
  readonly audioOutput?: number;
  readonly imageOutput?: number;
  /** Of sound that was transcribed, where it is billed by time. */
  readonly seconds?: number;
  /** Of text that was spoken. */
  readonly characters?: number;
  /** That a ranking was billed as; each is a request of the price. */
  readonly searches?: number;
  readonly tier?: ServiceTier;
}

/** Tokens of one exchange. `input` includes `cached`; `output` includes `reasoning`. */
export interface Usage {
  input: number;
  output: number;
  cached: number;
  /** Tokens written to the provider's prompt cache, if it bills them separately; part of `input`. */
  cacheWrite: number;
  reasoning: number;
  source: UsageSource;
  kinds?: UsageKinds | undefined;
}

export const noUsage = (): Usage => ({
  input: 0,
  output: 0,
  cached: 0,
  cacheWrite: 0,
  reasoning: 0,
  source: 'none',
});

/** Records those that are above 0. `tier` null: the usual one. */
export function setKinds(
  usage: Usage,
  counts: Omit<UsageKinds, 'tier'>,
  tier: ServiceTier | null = null,
): void {
  for (const name in counts) {
    const value = counts[name as keyof typeof counts] ?? 0;
    if (value > 0) usage.kinds = { ...usage.kinds, [name]: value };
  }
  if (tier !== null) usage.kinds = { ...usage.kinds, tier };
}

/** As providers name it in answers; null: the usual one, or one that they do not bill apart. */
export const serviceTier = (name: unknown): ServiceTier | null =>
  name === 'batch' || name === 'flex' || name === 'priority' ? name : null;
