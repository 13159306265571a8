/** Where the figures come from: the provider's own report, a tokeniser of ours, or nowhere. */
export type UsageSource = 'provider' | 'counted' | 'none';

/** Tokens of one exchange. `input` includes `cached`; `output` includes `reasoning`. */
export interface Usage {
  input: number;
  output: number;
  cached: number;
  /** Tokens written to the provider's prompt cache, where it bills them apart; part of `input`. */
  cacheWrite: number;
  reasoning: number;
  source: UsageSource;
}

export const noUsage = (): Usage => ({
  input: 0,
  output: 0,
  cached: 0,
  cacheWrite: 0,
  reasoning: 0,
  source: 'none',
});
