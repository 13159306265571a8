/** Stores cached answers for all workers, by key. Every failure is a miss: nothing here rejects. */
export interface CacheStore {
  /** null: there is none, it has expired, or the store is unavailable. */
  read(key: string): Promise<string | null>;
  /** The caller does not wait for it. `ttl`: seconds. */
  write(key: string, entry: string, ttl: number): void;
  close(): Promise<void>;
}
