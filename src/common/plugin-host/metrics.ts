/** One line of Prometheus's text format. A name that ends in `_total` is a counter, others are gauges. */
export interface Metric {
  readonly name: string;
  /** Never a secret, and with few values: each combination stays a line forever. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * The metrics of a data worker's parts. They are collected once a second, so that counting is only adding to a number.
 */
export class Metrics {
  readonly #sources = new Set<() => readonly Metric[]>();

  show(source: () => readonly Metric[]): void {
    this.#sources.add(source);
  }

  /** What has ended shows nothing any more. */
  hide(source: () => readonly Metric[]): void {
    this.#sources.delete(source);
  }

  read(): Metric[] {
    return [...this.#sources].flatMap((source) => source());
  }
}
