/** How far readers of the ledger have come, by the reader's name. */
export interface Cursors {
  get(name: string): Promise<string | null>;
  set(name: string, cursor: string): Promise<void>;
}
