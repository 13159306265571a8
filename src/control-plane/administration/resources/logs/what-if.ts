import type { WhatIfAnswer, WhatIfRequest } from '../../../../../proto/messages.js';
import type { ProviderModel } from '../../../../common/ledger/log-filters.js';
import { pricing as builtInPrices } from '../../../../common/prices/pricing.js';
import type { Analytics } from '../../../analytics/question.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import type { AdminParts } from '../../service.js';
import { aboutLogs, rangeOf } from '../../usage/analytics-questions.js';
import { logFilterNames } from '../../usage/log-filters.js';
import {
  longInputsOf,
  nameOf,
  ReplacementPrices,
  type Replacements,
  type WhatIfSums,
  whatIf,
} from '../../usage/what-if.js';

const mostReplacements = 100;
const picosPerCent = 10_000_000_000;

/** What requests would have cost if other models had answered them. */
export async function answerWhatIf(
  { store, pricing = builtInPrices }: Pick<AdminParts, 'store' | 'pricing'>,
  analytics: Analytics,
  caller: Caller,
  request: WhatIfRequest,
): Promise<WhatIfAnswer> {
  const filters: Readonly<Record<string, unknown>> = request.filters ?? {};
  const names: readonly string[] = [...logFilterNames, 'filter_id'];
  const unknown = Object.keys(filters).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw AdminError.field(`filters.${JSON.stringify(unknown.slice(0, 80))}`, 'is no filter.');
  const { filter_id: saved } = filters;
  if (saved !== undefined && typeof saved !== 'string')
    throw AdminError.field('filters.filter_id', 'must be text.');
  const replacements = replacementsOf(request);
  const about = await aboutLogs(caller, filters, { path: 'filters' });
  rangeOf(about.filters, 'filters.');
  const prices = new ReplacementPrices(store, pricing, caller.organisationId);
  const quotes = await Promise.all(
    [...replacements.values()].flatMap((to) => [
      prices.quoteOf(to, null, true),
      prices.quoteOf(to, null, false),
    ]),
  );
  const longInputs = longInputsOf(quotes);
  const { groups } = await analytics.ask({ kind: 'usage', longInputs, ...about });
  const { total, models } = await whatIf(groups, replacements, prices, longInputs);
  return {
    object: 'analytics-what-if',
    ...sumsOf(total),
    by_model: models.map(({ model, replacedBy, ...sums }) => ({
      model: model ?? undefined,
      replaced_by: replacedBy ?? undefined,
      ...sumsOf(sums),
    })),
  };
}

const sumsOf = ({ requests, cost, whatIfCost, unpriced }: WhatIfSums) => ({
  requests,
  cost: cost / picosPerCent,
  what_if_cost: whatIfCost / picosPerCent,
  unpriced,
});

/** Throws AB01 for what is no replacement, and for a model that is replaced twice. */
function replacementsOf({ replace }: WhatIfRequest): Replacements {
  const given = replace ?? [];
  if (given.length > mostReplacements)
    throw AdminError.field('replace', `must have at most ${mostReplacements} replacements.`);
  const found = new Map<string, ProviderModel>();
  for (const [i, { from, to }] of given.entries()) {
    const name = nameOf(modelOf(from, `replace[${i}].from`));
    if (found.has(name)) throw AdminError.field(`replace[${i}].from`, 'is replaced already.');
    found.set(name, modelOf(to, `replace[${i}].to`));
  }
  return found;
}

function modelOf(text: string, path: string): ProviderModel {
  const at = text.indexOf('__');
  if (at <= 0 || at + 2 === text.length) throw AdminError.field(path, 'must be provider__model.');
  return { provider: text.slice(0, at), model: text.slice(at + 2) };
}
