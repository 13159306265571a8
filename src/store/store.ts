export type * from './records.js';
export { openStore, type StoreOptions } from './sql/open.js';
