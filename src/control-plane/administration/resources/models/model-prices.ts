import type { ModelPrice, ModelTokenPrices } from '../../../../../proto/messages.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import { additionalUnits, picosOfCents, tokenUnits } from '../../../../common/prices/api-units.js';
import type { DollarPrice } from '../../../../common/prices/lists/price-list.js';
import { type RateName, rateUnits } from '../../../../common/prices/price.js';
import { checkRates } from '../../../../common/prices/pricing.js';
import type { ModelPriceRecord } from '../../../store/store.js';
import { AdminError } from '../../admin-error.js';
import { pageOf, timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';
import { checkPrices } from './price-amounts.js';

const perMillion = 1_000_000;
const picosPerDollar = 1_000_000_000_000;
const picosPerCent = 10_000_000_000;

const picosInAmount = (rate: RateName): number =>
  rateUnits[rate] === 'second' || rateUnits[rate] === 'request' ? picosPerDollar : perMillion;

/** Cents for one unit, as dollars for a million of it, or for one second or request. */
const dollarsOf = (rate: RateName, cents: number): number => (picosOfCents(cents) ?? 0) / picosInAmount(rate);

const allUnits = [
  ...Object.entries(tokenUnits).map(([unit, rate]) => [unit, rate, false] as const),
  ...Object.entries(additionalUnits).map(([unit, rate]) => [unit, rate, true] as const),
];

function dollarPrice(given: ModelTokenPrices): DollarPrice {
  const dollars: Partial<Record<RateName, number>> = {};
  for (const [unit, rate, isMore] of allUnits) {
    const cents = (isMore ? given.additional_units?.[unit] : given[unit as keyof typeof tokenUnits])?.price;
    if (cents != null) dollars[rate] = dollarsOf(rate, cents);
  }
  const { input, output, ...others } = dollars;
  if (input === undefined || output === undefined)
    throw AdminError.field('pay_as_you_go', 'needs request_token and response_token.');
  return { input, output, ...others };
}

function centPrices(price: DollarPrice): ModelTokenPrices {
  const tokens: Record<string, { price: number }> = {};
  const units: Record<string, { price: number }> = {};
  for (const [unit, rate, isMore] of allUnits) {
    const dollars = price[rate];
    if (dollars === undefined) continue;
    (isMore ? units : tokens)[unit] = { price: Math.round(dollars * picosInAmount(rate)) / picosPerCent };
  }
  return { ...tokens, additional_units: units };
}

const toMessage = (record: ModelPriceRecord): ModelPrice => ({
  provider: record.provider,
  model: record.model,
  pay_as_you_go: centPrices(record),
  since: record.since,
  source: record.source,
  read_on: record.readOn,
  last_updated_at: timeOf(record.updatedAt),
});

/** Prices that an organisation sets for the calls through its stored providers. */
export function modelPricesService({ store, providers }: AdminParts): Service<'ModelPrices'> {
  /** Every stored provider of the organisation travels with its prices. */
  async function forgets(organisationId: string): Promise<Forget[]> {
    const forgotten: Forget[] = [];
    for (let offset = 0; ; offset += 1000) {
      const { rows, total } = await store.workspaces.list(organisationId, { offset, limit: 1000 });
      for (const { id } of rows) {
        const usable = await store.providers.usable({ organisationId, workspaceId: id }, { limit: 10_000 });
        for (const { slug } of usable) forgotten.push({ kind: 'provider', workspace: id, name: slug });
      }
      if (offset + 1000 >= total) return forgotten;
    }
  }

  return {
    async ListModelPrices(caller, request) {
      const { total, rows } = await store.modelPrices.list(
        caller.organisationId,
        request.provider || null,
        pageOf(request),
      );
      return { object: 'list', total, data: rows.map(toMessage) };
    },

    async UpdateModelPrice(caller, request) {
      const { provider, model, pay_as_you_go: given } = request;
      if (!providers.has(provider))
        throw AdminError.field('provider', 'is no provider that the gateway can call.');
      checkPrices(given, 'pay_as_you_go');
      const since = request.since || undefined;
      const price = { ...dollarPrice(given), ...(since !== undefined && { since }) };
      try {
        checkRates({ [provider]: { [model]: price } });
      } catch (error) {
        throw AdminError.field('since', `cannot be used: ${(error as Error).message}`);
      }
      const full = await store.modelPrices.put(caller.organisationId, {
        ...price,
        provider,
        model,
        ...(request.source && { source: request.source }),
        ...(request.read_on && { readOn: request.read_on }),
      });
      if (full !== null)
        throw new AdminError(
          'AB01',
          'provider: 500 prices of it are set: delete some, or set them in the setting prices.',
        );
      caller.changed({ id: `${provider}/${model}`, workspaceId: null }, await forgets(caller.organisationId));
      return {};
    },

    async DeleteModelPrice(caller, { provider, model, since }) {
      const name = { provider, model, since: since ?? '' };
      if ((await store.modelPrices.delete(caller.organisationId, name)) === 'missing')
        throw new AdminError('AB08', 'There is no such price.');
      caller.changed({ id: `${provider}/${model}`, workspaceId: null }, await forgets(caller.organisationId));
      return {};
    },
  };
}
