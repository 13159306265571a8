import type { LedgerRow, LedgerUsage, UsageFilter } from '../../src/common/ledger/record.js';

/** What the statements of the ledgers add up, from the rows themselves. */
export function usageOfRows(rows: readonly LedgerRow[], filter: UsageFilter): LedgerUsage[] {
  const { org, workspace, providers, from, to } = filter;
  const groups = new Map<string, LedgerUsage>();
  const add = (
    given: Pick<LedgerUsage, 'provider' | 'slug' | 'integration' | 'model'>,
    more: Partial<LedgerUsage>,
  ) => {
    if (providers.length > 0 && !providers.includes(given.provider)) return;
    const name = JSON.stringify([
      given.provider,
      given.slug,
      given.integration,
      given.model,
      more.lost === 1,
    ]);
    const none = { calls: 0, input: 0, output: 0, cost: 0n, unpriced: 0, lost: 0 };
    const { provider, slug, integration, model } = given;
    const day = new Date(from).toISOString().slice(0, 10);
    const group = groups.get(name) ?? { day, provider, slug, integration, model, ...none };
    const sum: Record<string, unknown> = { ...group };
    for (const [field, value] of Object.entries(more))
      sum[field] = (sum[field] as number) + (value as number);
    groups.set(name, sum as unknown as LedgerUsage);
  };
  for (const row of rows) {
    if (row.org !== org || (workspace !== undefined && row.workspace !== workspace)) continue;
    if (row.at < from || row.at >= to) continue;
    const own = {
      provider: row.provider ?? '',
      slug: row.slug,
      integration: row.integration,
      model: row.modelUsed,
    };
    if (row.state === 'unknown') add(own, { lost: 1 });
    else if (row.cache !== 'HIT' && row.cache !== 'SEMANTIC HIT') {
      const one = [{ ...own, target: row.target, usage: row.usage, cost: row.cost }];
      for (const call of row.attempts.length > 1 ? row.attempts : one) {
        if ((call.usage === null || call.usage.source === 'none') && call.cost === null) continue;
        const isAnswer = call.target === row.target;
        add(
          {
            provider: call.provider,
            slug: call.slug ?? (isAnswer ? row.slug : null),
            integration: call.integration ?? (isAnswer ? row.integration : null),
            model: isAnswer ? row.modelUsed : call.model,
          },
          {
            calls: 1,
            input: call.usage?.input ?? 0,
            output: call.usage?.output ?? 0,
            cost: BigInt(call.cost ?? 0),
            unpriced: call.cost === null ? 1 : 0,
          },
        );
      }
    }
  }
  return [...groups.values()];
}
