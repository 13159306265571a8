/**
 * State that a stage shares over all data workers, and over the nodes of a deployment that has a Redis. The control
 * process keeps it; a stage declares it by name and needs no code there.
 */
export type StateKind =
  /** Sums by key. A key starts again at 0 `seconds` after its first addition. */
  | { readonly kind: 'counter'; readonly seconds: number; readonly doc: string }
  /** JSON values by key, each for `seconds` after it was set. */
  | { readonly kind: 'values'; readonly seconds: number; readonly doc: string };

/** Keys of up to `maxKeyLength` characters. Only the key separates tenants: begin it with the workspace's id. */
export interface Counter {
  /** Adds a whole number; resolves with the sum. Rejects if the control process cannot answer. */
  add(key: string, amount?: number): Promise<number>;
}

export interface Values {
  /** undefined: there is none, or it has expired. Rejects if the control process cannot answer. */
  get(key: string): Promise<unknown>;
  /** The caller does not wait for it; lost if the control process has ended. */
  set(key: string, value: unknown): void;
  delete(key: string): void;
}

/** The shared state that a stage has declared. Throws for an undeclared name, or one of another kind. */
export interface SharedState {
  counter(name: string): Counter;
  values(name: string): Values;
}

export const maxKeyLength = 512;
/** Of a value's JSON text, in UTF-16 units. */
export const maxValueLength = 64 * 1024;

/** A key of one state of one stage, as it crosses between processes. */
export interface StateKey {
  readonly stage: string;
  readonly name: string;
  readonly key: string;
}
