/** Ratio of the ends of neighbouring buckets: the relative precision of the percentiles. */
const growth = 1.05;
/** From 1 ms to 10 minutes. */
const buckets = Math.ceil(Math.log(600_000) / Math.log(growth)) + 1;
/** After this many samples the weight of all of them is halved, so that recent ones count most. */
const halvedAt = 1024;

const inverse = 1 / Math.log(growth);

/** Percentiles of the last few hundred times, in a histogram of one kilobyte. */
export class Latencies {
  readonly #counts = new Float32Array(buckets);
  #total = 0;

  /** Weighted number of samples. */
  get count(): number {
    return this.#total;
  }

  add(ms: number): void {
    if (this.#total >= halvedAt) this.#halve();
    const bucket = ms <= 1 ? 0 : Math.min(buckets - 1, Math.ceil(Math.log(ms) * inverse));
    this.#counts[bucket]! += 1;
    this.#total += 1;
  }

  /** Milliseconds that at least `percentile` per cent of the times did not exceed. 0: there are none. */
  percentile(percentile: number): number {
    const wanted = (this.#total * percentile) / 100;
    let seen = 0;
    for (let bucket = 0; bucket < buckets; bucket++) {
      seen += this.#counts[bucket]!;
      if (seen >= wanted && seen > 0) return growth ** bucket;
    }
    return 0;
  }

  #halve(): void {
    for (let bucket = 0; bucket < buckets; bucket++) this.#counts[bucket]! /= 2;
    this.#total /= 2;
  }
}
