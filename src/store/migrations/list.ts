import type { Transaction } from '../sql/driver.js';
import { up as keysProvidersConfigs } from './0001-keys-providers-configs.js';

export interface Migration {
  /** Counts up from 1. */
  readonly version: number;
  readonly name: string;
  up(sql: Transaction): Promise<void>;
}

/** Every step from an empty store to today's, in order. Only ever added to. */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'keys, providers, configs', up: keysProvidersConfigs },
];
