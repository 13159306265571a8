import type { OrganisationPrice } from '../../../common/prices/provider-prices.js';
import type { Listed, Page } from './place.js';

/** A price that an organisation has set for a model of a provider, from a day on. */
export interface ModelPriceRecord extends OrganisationPrice {
  readonly provider: string;
  /** Unix milliseconds. */
  readonly updatedAt: number;
}

/** The day from which on a price holds (UTC); '': always, until another one's day. */
export interface ModelPriceName {
  readonly provider: string;
  readonly model: string;
  readonly since: string;
}

export interface ModelPriceStore {
  /** By provider, model and day. `provider`: of that one alone. */
  list(organisationId: string, provider: string | null, page: Page): Promise<Listed<ModelPriceRecord>>;
  /** Takes the place of the one of the same day. `full`: the provider has as many as a provider may have. */
  put(organisationId: string, price: Omit<ModelPriceRecord, 'updatedAt'>): Promise<'full' | null>;
  delete(organisationId: string, name: ModelPriceName): Promise<'missing' | null>;
  /** Those of one provider. */
  of(organisationId: string, provider: string): Promise<readonly OrganisationPrice[]>;
}
