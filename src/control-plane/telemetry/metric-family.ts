/** An example of what a bucket counted: a request, by its trace id. Only the OpenMetrics format has them. */
export interface Exemplar {
  readonly traceId: string;
  readonly value: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** One line of a family. */
export interface MetricSample {
  /** Added to the family's name: `_bucket`, `_sum`, `_count`; counters have none. */
  readonly suffix?: string;
  /** Never a secret, and with few values: each combination stays a line forever. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly exemplar?: Exemplar | null;
}

/** Lines of one name. */
export interface MetricFamily {
  /** Counters end in `_total`. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string | null;
  readonly samples: readonly MetricSample[];
}
