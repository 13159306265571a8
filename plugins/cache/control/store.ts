/** Where cached answers are kept for all workers, by name. Whatever fails in it is a miss: nothing here rejects. */
export interface CacheStore {
  /** null: there is none, or it is too old, or the store is away. */
  read(key: string): Promise<string | null>;
  /** Is not waited for. `ttl`: seconds. */
  write(key: string, entry: string, ttl: number): void;
  close(): Promise<void>;
}
