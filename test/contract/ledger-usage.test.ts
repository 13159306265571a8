import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import type { AttemptRecord } from '../../src/common/core/exchange.js';
import { noUsage, type Usage } from '../../src/common/core/usage.js';
import type { LedgerRow, LedgerUsage } from '../../src/common/ledger/record.js';
import { withoutDate } from '../../src/common/prices/pricing.js';
import { amountOfPicos, printAmount } from '../../src/common/reconciliation/amounts.js';
import { type CompareOptions, compare, directKey } from '../../src/common/reconciliation/compare.js';
import { ExportReader } from '../../src/common/reconciliation/export-reader.js';
import {
  genericHeader,
  genericLine,
  type UsageGroup,
  UsageGroups,
} from '../../src/common/reconciliation/usage-groups.js';
import type { Ledger } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { org, settlementOf, workspace } from '../fault/journal-records.js';
import { usageOfRows } from '../support/ledger-usage.js';
import { forEachStore } from '../support/stores.js';

const dayMs = 86_400_000;
const start = Date.parse('2026-10-05T00:00:00Z');
const days = 3;
const node = '0190a1b2-0000-7000-8000-0000000000a1';

const stored = [
  { provider: 'openai', slug: 'main', integration: 'openai-main' },
  { provider: 'openai', slug: 'second', integration: 'openai-main' },
  { provider: 'openai', slug: 'own', integration: null },
  { provider: 'anthropic', slug: null, integration: null },
];
const models = ['gpt-4o-2024-08-06', 'gpt-4o-mini', 'claude-sonnet-4-5', 'odd, "name"'];

const usage = fc.record({
  input: fc.nat(1e6),
  output: fc.nat(1e5),
  source: fc.constantFrom('provider' as const, 'counted' as const, 'none' as const),
}) as fc.Arbitrary<Partial<Usage>>;
const call = fc.record({
  at: fc.nat(stored.length - 1),
  model: fc.constantFrom(...models),
  usage,
  cost: fc.option(fc.oneof(fc.nat(1e12), fc.constant(Number.MAX_SAFE_INTEGER)), { freq: 6 }),
});
const row = fc.record({
  at: fc.nat(days * dayMs - 1),
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  cache: fc.constantFrom('MISS' as const, 'MISS' as const, 'HIT' as const),
  state: fc.constantFrom('settled' as const, 'settled' as const, 'settled' as const, 'unknown' as const),
  organisation: fc.constantFrom(org, org, org, 'other'),
  workspace: fc.constantFrom(workspace, null),
});
type Row = typeof row extends fc.Arbitrary<infer T> ? T : never;

function ledgerRow(given: Row, i: number): LedgerRow {
  const attempts: AttemptRecord[] = given.calls.map(({ at, model, usage: used, cost }, n) => ({
    ...settlementOf('x').attempts[0]!,
    ...stored[at]!,
    target: `config.targets[${n}]`,
    // A name that a client chose.
    model: n === 0 && given.calls.length > 1 ? 'asked\0for' : model,
    usage: used.source === 'none' ? null : { ...noUsage(), ...used },
    cost: used.source === 'none' ? null : cost,
  }));
  const last = attempts.at(-1)!;
  const costs = attempts.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  return {
    ...settlementOf(`0190a1b2-0000-7000-8000-${String(i).padStart(12, '0')}`),
    node,
    state: given.state,
    org: given.organisation,
    workspace: given.workspace,
    at: start + given.at,
    cache: given.cache,
    provider: last.provider,
    slug: last.slug,
    integration: last.integration,
    modelUsed: given.calls.at(-1)!.model,
    target: last.target,
    attempts,
    usage: last.usage ?? noUsage(),
    cost:
      costs.length === 0
        ? null
        : Math.min(
            Number.MAX_SAFE_INTEGER,
            costs.reduce((sum, cost) => sum + cost, 0),
          ),
  };
}

const rows = fc.sample(row, { seed: 7, numRuns: 400 }).map(ledgerRow);
const sorted = (groups: readonly LedgerUsage[]): string[] =>
  groups
    .map((group) =>
      JSON.stringify(group, (_, value) => (typeof value === 'bigint' ? `${value}` : (value as unknown))),
    )
    .sort();

const options: CompareOptions = {
  keyMap: new Map(),
  modelMap: new Map(),
  ignoreKeys: false,
  keys: ['second'],
  shorter: (model) => withoutDate('openai', model),
  tolerance: 0n,
  columns: null,
};

/** What the provider would bill for these rows: an own account of them, by the gateway's slugs. */
function exportOf(given: readonly LedgerRow[]): UsageGroup[] {
  const groups = new UsageGroups();
  for (const one of given) {
    if (one.org !== org || one.state === 'unknown' || one.cache === 'HIT') continue;
    for (const attempt of one.attempts) {
      if (attempt.usage === null) continue;
      const { slug, integration, cost, usage: used } = attempt;
      groups.add({
        day: new Date(one.at).toISOString().slice(0, 10),
        key: slug === 'second' ? slug : (integration ?? slug ?? directKey),
        model: attempt.target === one.target ? one.modelUsed : attempt.model,
        input: used.input,
        output: used.output,
        cost: amountOfPicos(BigInt(cost ?? 0)),
      });
    }
  }
  return groups.sorted();
}

describe('the usage that a ledger adds up', () => {
  forEachStore(({ dialect, options: storeOptions }) => {
    let dataDir: string;
    let ledger: Ledger;
    const ours: LedgerUsage[] = [];

    /** PostgreSQL keeps no NUL. */
    const kept = rows.map((one) => ({
      ...one,
      attempts: one.attempts.map((attempt) => ({
        ...attempt,
        model: dialect === 'sqlite' ? attempt.model : (attempt.model?.replaceAll('\0', '\ufffd') ?? null),
      })),
    }));

    before(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'usage-'));
      const { databaseUrl } = dialect === 'sqlite' ? { databaseUrl: null } : await storeOptions(dataDir);
      ledger =
        databaseUrl === null || databaseUrl === undefined
          ? await openLedger({ dataDir })
          : await openPostgresLedger({ url: databaseUrl, node });
      const settled = { packed: null, rows: rows.filter(({ state }) => state === 'settled') };
      const unknown = rows.filter(({ state }) => state === 'unknown');
      await ledger.apply({ settled, unknown, positions: new Map(), opened: [], closed: [] });
      for (let day = 0; day < days; day++) {
        const from = start + day * dayMs;
        ours.push(...(await ledger.usage({ org, providers: [], from, to: from + dayMs })));
      }
    });
    after(async () => {
      await ledger?.close();
      rmSync(dataDir, { recursive: true, force: true });
    });

    it('is that of its rows, whatever their attempts, costs and outcomes', async () => {
      for (const filter of [{}, { workspace }, { providers: ['anthropic'] }]) {
        for (let day = 0; day < days; day++) {
          const from = start + day * dayMs;
          const asked = { org, providers: [], ...filter, from, to: from + dayMs };
          const found = (await ledger.usage(asked)).filter(({ calls, lost }) => calls + lost > 0);
          expect(sorted(found)).to.deep.equal(sorted(usageOfRows(kept, asked)));
        }
      }
      const all = await ledger.usage({ org: 'nobody', providers: [], from: start, to: start + dayMs });
      expect(all).to.deep.equal([]);
    });

    it('agrees with an export of the same calls', () => {
      const compared = compare(exportOf(kept), ours, options);
      expect(compared.differences).to.deep.equal([]);
      expect(compared.here).to.deep.equal(compared.there);
    });

    it('finds every error of an export, and nothing else', () => {
      const clean = exportOf(kept);
      const seeded = fc.record({
        which: fc.array(
          fc.record({
            group: fc.nat(clean.length - 1),
            fault: fc.nat(4),
            by: fc.integer({ min: 1, max: 1e6 }),
          }),
          {
            maxLength: 6,
          },
        ),
      });
      fc.assert(
        fc.property(seeded, ({ which }) => {
          const expected = new Map<string, string>();
          const faults = new Map(which.map(({ group, fault, by }) => [group, { fault, by }]));
          const lines: UsageGroup[] = [];
          for (const [i, group] of clean.entries()) {
            const { fault = -1, by = 0 } = faults.get(i) ?? {};
            const name = `${group.day} ${group.key} ${group.model}`;
            const isNothing = group.input === 0 && group.output === 0 && group.cost === 0n;
            if (fault === 0) {
              if (!isNothing) expected.set(name, 'missing_there');
              continue;
            }
            const line = { ...group };
            if (fault === 1) line.input = line.input! + by;
            if (fault === 2) line.output = line.output! + by;
            // As little as a picodollar.
            if (fault === 3) line.cost = line.cost! + amountOfPicos(BigInt(by));
            if (fault === 4) {
              const extra = { ...group, model: `extra-${i}`, input: by, output: 0, cost: 0n };
              lines.push(extra);
              expected.set(`${extra.day} ${extra.key} ${extra.model}`, 'missing_here input');
            }
            if (fault >= 1 && fault <= 3)
              expected.set(name, `different ${['', 'input', 'output', 'cost'][fault]}`);
            lines.push(line);
          }
          const reader = new ExportReader('generic');
          const groups = new UsageGroups();
          const text = `${genericHeader}\n${lines.map(genericLine).join('\n')}`;
          for (const line of [...reader.read(text), ...reader.end()]) groups.add(line);
          const { differences } = compare(groups.sorted(), ours, options);
          const found = differences.map(({ day, key, model, kind, input, output, cost }) => {
            const parts = [
              input !== null && input.difference !== 0 ? 'input' : '',
              output !== null && output.difference !== 0 ? 'output' : '',
              cost !== null && cost.difference !== 0n ? 'cost' : '',
            ].filter((part) => part !== '');
            return [`${day} ${key} ${model}`, kind === 'missing_there' ? kind : `${kind} ${parts.join(' ')}`];
          });
          expect(found.sort()).to.deep.equal([...expected].sort());
        }),
        { numRuns: 60 },
      );
    });

    it('keeps amounts beyond what a number holds', () => {
      const sum = ours.reduce((all, { cost }) => all + cost, 0n);
      expect(sum > BigInt(Number.MAX_SAFE_INTEGER)).to.equal(true);
      expect(printAmount(amountOfPicos(sum))).to.match(/^\d+\.\d+$/);
    });
  });
});
