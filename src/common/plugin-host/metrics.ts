/** One line of Prometheus's text format. A name that ends in `_total` is a counter, others are gauges. */
export interface Metric {
  readonly name: string;
  /** Never a secret, and from few values: each combination is a line for ever. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What the parts of a data worker have to show. They are asked once a second, so that counting is adding to a number. */
export class Metrics {
  readonly #sources: (() => readonly Metric[])[] = [];

  show(source: () => readonly Metric[]): void {
    this.#sources.push(source);
  }

  read(): Metric[] {
    return this.#sources.flatMap((source) => source());
  }
}
