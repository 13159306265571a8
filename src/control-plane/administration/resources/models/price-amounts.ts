import type { ModelTokenPrices } from '../../../../../proto/messages.js';
import { additionalUnits, picosOfCents } from '../../../../common/prices/api-units.js';
import { AdminError } from '../../admin-error.js';

/** Throws AB01 for a price that the ledger cannot count exactly, and for a unit that it does not count. */
export function checkPrices(given: ModelTokenPrices | null | undefined, path: string): void {
  const { additional_units: units, ...tokens } = given ?? {};
  for (const name of Object.keys(units ?? {}))
    if (!Object.hasOwn(additionalUnits, name))
      throw AdminError.field(
        `${path}.additional_units.${name}`,
        `is no unit that the gateway counts: it counts ${Object.keys(additionalUnits).join(', ')}.`,
      );
  for (const [name, price] of Object.entries({ ...tokens, ...units })) {
    const cents = price?.price;
    if (cents != null && picosOfCents(cents) === null)
      throw AdminError.field(
        `${path}.${name}.price`,
        'is no whole number of picodollars: give US cents for one unit, with ten digits after the point at most.',
      );
  }
}
