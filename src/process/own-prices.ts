import { priceFileState, pricesWithFile } from '../common/settings/price-file.js';
import { type Settings, SettingsError } from '../common/settings/settings.js';
import type { PriceSettings } from '../common/settings/settings-prices.js';
import { nearestName } from '../common/text/nearest.js';
import { providerRows } from '../data-plane/providers/rows.js';

export interface StoredPrices {
  readonly prices: PriceSettings;
  /** State of the file of prices before it was read; null: there is none. */
  readonly fileState: string | null;
}

/** Prices of the settings and of the data directory. Throws a SettingsError where they cannot be used. */
export function storedPrices({ dataDir, prices }: Pick<Settings, 'dataDir' | 'prices'>): StoredPrices {
  checkPrices(prices);
  try {
    const fileState = priceFileState(dataDir);
    return { prices: pricesWithFile(dataDir, prices), fileState };
  } catch (error) {
    throw new SettingsError([(error as Error).message]);
  }
}

/** Throws a SettingsError for an unknown provider, since no call would ever use its prices. */
export function checkPrices(prices: PriceSettings): void {
  const unknown = Object.keys(prices).filter((name) => !providerRows.has(name));
  if (unknown.length === 0) return;
  throw new SettingsError(
    unknown.map((name) => {
      const meant = nearestName(name, providerRows.names());
      return `prices.${name}: is no provider that the gateway can call${meant === null ? '; docs/providers.md lists them.' : `; did you mean ${meant}?`}`;
    }),
  );
}
