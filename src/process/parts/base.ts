import type { Logger } from '../../common/plugin-host/plugin.js';
import type { Settings } from '../../common/settings/settings.js';
import type { StoredPrices } from '../own-prices.js';

/** Values for every part of the control process. */
export interface Base {
  readonly settings: Settings;
  /** Reads the settings again, for those that may change while the gateway runs; null: they do not. */
  readonly reread: (() => Settings) | null;
  /** Prices of the settings and of the data directory, as they were at the start. */
  readonly ownPrices: StoredPrices;
  readonly log: Logger;
  /** Lines of this process's log that were dropped. */
  readonly droppedLines: () => number;
}
