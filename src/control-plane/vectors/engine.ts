/** A database that can compute the distance of vectors. */
export interface VectorEngine {
  /** For the log: `vectors.db`, `PostgreSQL`. */
  readonly name: string;
  /** Runs one statement; parameters are `$1`, `$2`, … in the order of their first use. */
  run<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]>;
  /** A vector of length 1, as a parameter. */
  parameter(vector: Float32Array): unknown;
  /** SQL of the cosine distance (1 - cosine) of two vectors. */
  distance(a: string, b: string): string;
  close(): Promise<void>;
}
