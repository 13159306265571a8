/** How much one thing costs of another, by paired measurements. */
export interface Ratio {
  readonly median: number;
  /** The true median lies between these, in 95 of 100 runs. */
  readonly from: number;
  readonly to: number;
}

/** Of pairs that were measured one right after the other: what else the machine did falls on both. */
export function ratioOf(values: readonly number[], bases: readonly number[]): Ratio {
  const ratios = values.map((value, i) => value / bases[i]!).sort((a, b) => a - b);
  const { length } = ratios;
  // By ranks, whatever the distribution: the binomial one, by its normal approximation.
  const reach = 0.98 * Math.sqrt(length);
  const at = (rank: number): number => ratios[Math.min(length - 1, Math.max(0, Math.round(rank)))]!;
  return { median: at((length - 1) / 2), from: at(length / 2 - reach - 1), to: at(length / 2 + reach) };
}
