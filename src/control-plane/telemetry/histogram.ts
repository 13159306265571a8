import type { Exemplar, MetricSample } from './metric-family.js';

const exemplarMs = 1000;

/** Counts values in buckets, as Prometheus has them: each with its upper bound. */
export class Histogram {
  readonly #counts: Float64Array;
  readonly #exemplars: (Exemplar | null)[];
  #sum = 0;

  /** `bounds`: upper bounds, ascending. What is above the last one counts in a bucket without a bound. */
  constructor(readonly bounds: readonly number[]) {
    this.#counts = new Float64Array(bounds.length + 1);
    this.#exemplars = new Array<Exemplar | null>(bounds.length + 1).fill(null);
  }

  /** The request (`at`: milliseconds since 1970) becomes the exemplar of its bucket where that is older than a second. */
  observe(value: number, { at, traceId }: { readonly at: number; traceId(): string }): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > this.bounds[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#sum += value;
    const exemplar = this.#exemplars[bucket];
    if (!exemplar || at - exemplar.at > exemplarMs)
      this.#exemplars[bucket] = { traceId: traceId(), value, at };
  }

  samples(labels: Readonly<Record<string, string>>): MetricSample[] {
    let total = 0;
    const buckets = [...this.#counts].map((count, i) => {
      total += count;
      const le = i < this.bounds.length ? String(this.bounds[i]) : '+Inf';
      return {
        suffix: '_bucket',
        labels: { ...labels, le },
        value: total,
        exemplar: this.#exemplars[i] ?? null,
      };
    });
    return [
      ...buckets,
      { suffix: '_sum', labels, value: this.#sum },
      { suffix: '_count', labels, value: total },
    ];
  }
}
