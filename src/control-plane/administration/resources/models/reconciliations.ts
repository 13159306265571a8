import type { ReconcileUsageRequest, ReconciliationDifference } from '../../../../../proto/messages.js';
import type { LedgerUsage } from '../../../../common/ledger/record.js';
import { withoutDate } from '../../../../common/prices/pricing.js';
import { type Amount, parseAmount, printAmount } from '../../../../common/reconciliation/amounts.js';
import {
  alarmOf,
  type ComparedColumns,
  compare,
  type Difference,
  type Sides,
} from '../../../../common/reconciliation/compare.js';
import { ExportReader } from '../../../../common/reconciliation/export-reader.js';
import { type UsageGroup, UsageGroups } from '../../../../common/reconciliation/usage-groups.js';
import { type ExportKind, exportKinds } from '../../../../common/reconciliation/usage-line.js';
import { AdminError } from '../../admin-error.js';
import type { AdminParts, Service } from '../../service.js';
import { currentName, providerNamed } from '../integrations/provider-names.js';

const dayMs = 86_400_000;
const maxDays = 400;
/** Groups of the ledger that one answer may be about. */
const maxUsage = 200_000;

const kindNames = {
  missing_here: 'missing_in_ledger',
  missing_there: 'missing_in_export',
  different: 'different',
} as const;

/** Compares exports of usage with the ledger. */
export function reconciliationsService(parts: AdminParts): Service<'Reconciliations'> {
  const { ledger } = parts;

  /** Logs that were imported may name providers that the gateway itself cannot call: they are known by their rows. */
  function checkProviders(providers: readonly string[], ours: readonly LedgerUsage[]): void {
    const logged = new Set(ours.map(({ provider }) => provider));
    for (const [i, name] of providers.entries())
      if (!logged.has(name)) providerNamed(parts, name, `providers[${i}]`);
  }

  return {
    async ReconcileUsage(caller, request) {
      const kind = exportKinds.find((name) => name === request.provider) ?? 'generic';
      const theirs = groupsOf(kind, request.file);
      const { from, to } = rangeOf(request, theirs);
      const providers = providersOf(kind, request.providers ?? []);
      const ours: LedgerUsage[] = [];
      for (let at = from; at <= to; at += dayMs) {
        const filter = { org: caller.organisationId, providers, from: at, to: at + dayMs };
        ours.push(...(await ledger.usage(filter)));
        if (ours.length > maxUsage)
          throw new AdminError('AB01', `from: the ledger has more than ${maxUsage} groups: name fewer days.`);
      }
      checkProviders(providers, ours);
      const compared = compare(theirs, ours, {
        keyMap: new Map(Object.entries(request.key_map ?? {})),
        modelMap: new Map(Object.entries(request.model_map ?? {})),
        ignoreKeys: request.ignore_keys === true,
        keys: request.keys ?? [],
        shorter: shorterName(providers),
        tolerance: amountIn(request, 'tolerance_usd') ?? 0n,
        columns: columnsIn(request.compare ?? []),
      });
      const reason = alarmOf(compared, {
        percent: amountIn(request, 'threshold_percent'),
        dollars: amountIn(request, 'threshold_usd'),
      });
      const { here, there, groups, tokenDifference, costDifference } = compared;
      return {
        object: 'reconciliation',
        provider: kind,
        from: dayText(from),
        to: dayText(to),
        groups,
        differences: compared.differences.map(toMessage),
        ledger_tokens: here.tokens,
        export_tokens: there.tokens,
        ledger_usd: printAmount(here.cost),
        export_usd: printAmount(there.cost),
        token_difference: tokenDifference,
        difference_usd: printAmount(costDifference),
        alarm: reason !== null,
        alarm_reason: reason,
      };
    },
  };
}

function groupsOf(kind: ExportKind, file: string): UsageGroup[] {
  const reader = new ExportReader(kind);
  const groups = new UsageGroups();
  try {
    for (const line of reader.read(file)) groups.add(line);
    for (const line of reader.end()) groups.add(line);
  } catch (error) {
    throw AdminError.field('file', `${(error as Error).message}.`);
  }
  return groups.sorted();
}

function rangeOf(
  { from, to }: ReconcileUsageRequest,
  groups: readonly UsageGroup[],
): { readonly from: number; readonly to: number } {
  const first = from || groups[0]?.day;
  const last = to || groups.at(-1)?.day;
  if (first === undefined || last === undefined)
    throw AdminError.field('file', 'has no usage: name the days with from and to.');
  const range = { from: Date.parse(`${first}T00:00:00Z`), to: Date.parse(`${last}T00:00:00Z`) };
  if (Number.isNaN(range.from) || Number.isNaN(range.to) || range.from > range.to)
    throw AdminError.field('from', 'and to are no days in their order.');
  if (range.to - range.from >= maxDays * dayMs)
    throw AdminError.field('from', `and to are more than ${maxDays} days apart.`);
  const outside = groups.find(({ day }) => day < first || day > last);
  if (outside !== undefined)
    throw AdminError.field('file', `has usage of ${outside.day}, which is not from ${first} to ${last}.`);
  return range;
}

const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10);

function providersOf(kind: ExportKind, given: readonly string[]): readonly string[] {
  if (given.length > 0) return given.map(currentName);
  return kind === 'generic' ? [] : [kind];
}

const columnsIn = (names: readonly string[]): ComparedColumns | null =>
  names.length === 0 ? null : { tokens: names.includes('tokens'), costs: names.includes('costs') };

/** Without the date, as the providers document it that are compared. */
const shorterName =
  (providers: readonly string[]) =>
  (model: string): string =>
    (providers.length === 0 ? ['openai', 'anthropic'] : providers).reduce(
      (name, provider) => withoutDate(provider, name),
      model,
    );

function amountIn(
  request: ReconcileUsageRequest,
  name: 'tolerance_usd' | 'threshold_usd' | 'threshold_percent',
): Amount | null {
  const text = request[name];
  if (!text) return null;
  const amount = parseAmount(text);
  if (amount === null || amount < 0n) throw AdminError.field(name, 'is no amount: write it as in 0.5.');
  return amount;
}

const tokens = (sides: Sides<number> | null) =>
  sides && { ledger: sides.here, export: sides.there, difference: sides.difference };

function toMessage({ kind, input, output, cost, ...rest }: Difference): ReconciliationDifference {
  return {
    day: rest.day,
    key: rest.key,
    model: rest.model,
    kind: kindNames[kind],
    input_tokens: tokens(input),
    output_tokens: tokens(output),
    cost_usd: cost && {
      ledger: printAmount(cost.here),
      export: printAmount(cost.there),
      difference: printAmount(cost.difference),
    },
    unpriced_calls: rest.unpriced,
    lost_requests: rest.lost,
  };
}
