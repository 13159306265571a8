import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { builtInPrices } from '../../common/prices/prices.js';
import type { DatedPrice, OwnPrices } from '../../common/prices/pricing.js';
import {
  type FiledPrice,
  parsePrices,
  priceFileOf,
  pricesWithFile,
  printPrices,
} from '../../common/settings/price-file.js';
import { providerRows } from '../../data-plane/providers/rows.js';
import { CliError } from '../cli-error.js';
import type { CliContext } from '../context.js';
import { readInput } from '../input/file-input.js';
import { writeFile, writeLine } from '../output/output.js';

interface ListOptions {
  readonly provider?: string;
  readonly json?: boolean;
}

interface FileOptions {
  readonly file: string;
}

/** `headgate prices`: what the gateway of this data directory counts with. It needs no running gateway. */
export function register(program: Command, { settings }: CliContext): void {
  const prices = program.command('prices').description('list, compare and update what models cost');
  const known = (): FiledPrice[] => knownPrices(settings());

  prices
    .command('list')
    .description('every price, with the place where it was read and the day')
    .option('--provider <name>', 'only those of this provider')
    .option('--json', 'print what update takes')
    .action(({ provider, json }: ListOptions) => {
      const rows = known().filter((row) => provider === undefined || row.provider === provider);
      if (json === true) print(rows);
      else for (const row of rows) writeLine(lineOf(row));
    });

  prices
    .command('show <provider> <model>')
    .description('all that is known of the price of a model, as update takes it')
    .option('--json', 'the same: there is no other form')
    .action((provider: string, model: string) => {
      const rows = known().filter((row) => row.provider === provider && row.model === model);
      if (rows.length === 0)
        throw new CliError(
          `No price of ${provider}/${model} is known: set one in prices, or update them.`,
          3,
        );
      print(rows);
    });

  prices
    .command('diff')
    .description('what update would change; exit code 1: something')
    .requiredOption('-f, --file <file>', 'prices as list --json prints them; - is standard input')
    .action(({ file }: FileOptions) => {
      const changes = differences(known(), readFile(file));
      for (const line of changes) writeLine(line);
      if (changes.length > 0) process.exitCode = 1;
    });

  prices
    .command('update')
    .description('count with these prices, in a running gateway too')
    .requiredOption('-f, --file <file>', 'prices as list --json prints them; - is standard input')
    .action(({ file }: FileOptions) => {
      const before = known();
      const rows = readFile(file);
      const changes = differences(before, rows);
      const path = priceFileOf(settings().dataDir);
      try {
        const stored = updated(storedRows(path), before, rows);
        writeFileSync(`${path}.new`, printPrices(stored), { mode: 0o600 });
        renameSync(`${path}.new`, path);
      } catch (error) {
        throw new CliError(`${path} cannot be written (${(error as NodeJS.ErrnoException).code}).`);
      }
      for (const line of changes) writeLine(line);
      const count = changes.filter((line) => line.startsWith('+')).length;
      writeLine(`${rows.length} prices stored in ${path}, ${count} of them new or changed.`);
      writeLine(
        'A running gateway counts with them within seconds; other nodes have a data directory of their own.',
      );
    });
}

/** Of earlier updates; none: there was none. Throws where the file cannot be read. */
function storedRows(path: string): FiledPrice[] {
  return existsSync(path) ? parsePrices(readFileSync(path, 'utf8')) : [];
}

/** A model that `rows` name keeps its prices of other days; other models keep those of earlier updates. */
function updated(
  stored: readonly FiledPrice[],
  known: readonly FiledPrice[],
  rows: readonly FiledPrice[],
): FiledPrice[] {
  const modelOf = ({ provider, model }: FiledPrice): string => `${provider}\n${model}`;
  const models = new Set(rows.map(modelOf));
  const days = new Set(rows.map(keyOf));
  return [
    ...stored.filter((row) => !models.has(modelOf(row))),
    ...known.filter((row) => models.has(modelOf(row)) && !days.has(keyOf(row))),
    ...rows,
  ].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function readFile(file: string): FiledPrice[] {
  try {
    const rows = parsePrices(readInput(file));
    const unknown = rows.find(({ provider }) => !providerRows.has(provider));
    if (unknown !== undefined)
      throw new Error(`${unknown.provider} is no provider that the gateway can call`);
    return rows;
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file}: ${(error as Error).message.replace(/\.$/, '')}.`, 2);
  }
}

/** The built-in prices, and in the place of those that have one an operator's own. */
function knownPrices(settings: { readonly dataDir: string; readonly prices: OwnPrices }): FiledPrice[] {
  let own: OwnPrices;
  try {
    own = pricesWithFile(settings.dataDir, settings.prices);
  } catch (error) {
    throw new CliError((error as Error).message);
  }
  const rows: FiledPrice[] = [];
  for (const [provider, listed] of Object.entries(builtInPrices))
    for (const row of listed)
      if (!Object.hasOwn(own[provider] ?? {}, row.model)) rows.push({ provider, ...row });
  for (const [provider, models] of Object.entries(own))
    for (const [model, prices] of Object.entries(models))
      for (const price of (Array.isArray(prices) ? prices : [prices]) as DatedPrice[])
        rows.push({ provider, model, ...price });
  return rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const keyOf = ({ provider, model, since }: FiledPrice): string => `${provider}\n${model}\n${since ?? ''}`;

/** A price without where it was read. */
const amounts = ({ source: _, readOn: __, ...row }: FiledPrice): string =>
  JSON.stringify(row, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );

/** A line for each price that is new or has other amounts. Prices that the file does not name stay as they are. */
function differences(known: readonly FiledPrice[], rows: readonly FiledPrice[]): string[] {
  const before = new Map(known.map((row) => [keyOf(row), row]));
  return rows.flatMap((row) => {
    const old = before.get(keyOf(row));
    if (old === undefined) return [`+ ${lineOf(row)}`];
    return amounts(old) === amounts(row) ? [] : [`- ${lineOf(old)}`, `+ ${lineOf(row)}`];
  });
}

function lineOf({ provider, model, input, output, cached, since, source, readOn }: FiledPrice): string {
  const read = source === undefined ? 'own' : `read on ${readOn ?? '?'}, ${source}`;
  const cache = cached === undefined ? '' : `, cached ${cached}`;
  const from = since === undefined ? '' : `, from ${since} on`;
  return `${provider}/${model}  input ${input}${cache}, output ${output}${from}  (${read})`;
}

/** As `prices update` reads them. */
function print(rows: Parameters<typeof printPrices>[0]): void {
  writeFile(printPrices(rows));
}
