import { createReadStream, statSync } from 'node:fs';
import { createGunzip } from 'node:zlib';
import type { Command } from 'commander';
import type { Reconciliation } from '../../client/index.js';
import { type Amount, parseAmount, printAmount } from '../../common/reconciliation/amounts.js';
import { alarmOf, columnsOf } from '../../common/reconciliation/compare.js';
import { ExportReader } from '../../common/reconciliation/export-reader.js';
import {
  genericHeader,
  genericLine,
  type UsageGroup,
  UsageGroups,
} from '../../common/reconciliation/usage-groups.js';
import { type ExportKind, exportKinds } from '../../common/reconciliation/usage-line.js';
import { reasonOf } from '../../common/text/bounded-file.js';
import { nearest } from '../../common/text/nearest.js';
import { CliError } from '../cli-error.js';
import { readInput } from '../input/file-input.js';
import { printable, writeErrorLine, writeJson, writeLine, writeProgress } from '../output/output.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';

interface ReconcileOptions extends SessionOptions {
  readonly provider: string;
  readonly file: string;
  readonly of?: string[];
  readonly keyMap?: string[];
  readonly modelMap?: string[];
  readonly ignoreKeys?: boolean;
  readonly from?: string;
  readonly to?: string;
  readonly threshold?: string;
  readonly thresholdUsd?: string;
  readonly toleranceUsd?: string;
}

type Difference = Reconciliation['differences'][number];

/** Characters of the groups that one call sends: below what the administration takes. */
const partSize = 2 * 1024 * 1024;
/** Progress is shown for files that are larger. Bytes. */
const showFrom = 8 * 1024 * 1024;
const dayMs = 86_400_000;
/** Days that one call compares. */
const daysInPart = 100;

const listOf = (text: string, before: string[] = []): string[] => [...before, text];

/** `headgate reconcile`. */
export function register(program: Command, context: SessionContext): void {
  const command = program
    .command('reconcile')
    .description("compare a provider's export of usage with the ledger; exit code 1: an alarm")
    .requiredOption('--provider <name>', `whose export it is: ${exportKinds.join(', ')}`)
    .requiredOption('-f, --file <file>', 'CSV or JSON lines, also as .gz; - is standard input')
    .option(
      '--of <provider>',
      'provider whose calls are compared, repeatable (default: that of the export)',
      listOf,
    )
    .option(
      '--key-map <key=slug>',
      'integration or stored provider that a key of the export is, repeatable; @ and a file: one a line',
      listOf,
    )
    .option(
      '--model-map <model=model>',
      'model as answers name it, repeatable; @ and a file: one a line',
      listOf,
    )
    .option('--ignore-keys', 'compare all keys together')
    .option('--from <day>', 'first day (UTC) to compare (default: that of the file)')
    .option('--to <day>', 'last day (UTC) to compare (default: that of the file)')
    .option(
      '--threshold <percent>',
      'percent of the export beyond which differences are an alarm (default: any)',
    )
    .option('--threshold-usd <amount>', 'US dollars beyond which they are')
    .option('--tolerance-usd <amount>', "by which a day's cost of a key and model may differ", '0');
  withSession(command, { workspace: false }).action(async (options: ReconcileOptions) => {
    const kind = exportKinds.find((name) => name === options.provider);
    if (kind === undefined) throw unknownKind(options.provider);
    const percent = amountOf(options.threshold?.replace(/%$/, ''), '--threshold');
    const dollars = amountOf(options.thresholdUsd, '--threshold-usd');
    amountOf(options.toleranceUsd, '--tolerance-usd');
    const groups = await groupsOf(kind, options.file);
    await withAdmin(
      context,
      options,
      async ({ api }) => {
        const parts: Reconciliation[] = [];
        for (const part of partsOf(groups, options)) {
          parts.push(
            await api.reconciliations.reconcileUsage({
              provider: 'generic',
              providers: options.of ?? (kind === 'generic' ? [] : [kind]),
              file: [genericHeader, ...part.lines].join('\n'),
              key_map: mapOf(options.keyMap, '--key-map'),
              model_map: mapOf(options.modelMap, '--model-map'),
              ignore_keys: options.ignoreKeys === true,
              from: part.from,
              to: part.to,
              tolerance_usd: options.toleranceUsd,
              keys: keysOf(groups),
              compare: columnNames(groups),
            }),
          );
        }
        const result = sumOf(parts, kind, { percent, dollars });
        if (options.json === true) writeJson(result);
        else for (const line of picture(result)) writeLine(printable(line));
        if (result.alarm) process.exitCode = 1;
      },
      { said: inFlags },
    );
  });
}

/** A refusal with the flag in place of the field. */
const inFlags = (message: string): string => message.replace(/^providers\[\d+\]/, '--of');

function unknownKind(given: string): CliError {
  const meant = nearest(given, exportKinds);
  const hint = meant === null ? '.' : `; did you mean ${meant}?`;
  return new CliError(`--provider must be one of ${exportKinds.join(', ')}${hint}`, 2);
}

function amountOf(text: string | undefined, flag: string): Amount | null {
  if (text === undefined) return null;
  const amount = parseAmount(text);
  if (amount === null || amount < 0n) throw new CliError(`${flag} must be a number, such as 0.5.`, 2);
  return amount;
}

/** Reads the file piece by piece, so that a long one takes no more memory than its days, keys and models do. */
async function groupsOf(kind: ExportKind, file: string): Promise<UsageGroup[]> {
  const reader = new ExportReader(kind);
  const groups = new UsageGroups();
  const isShown = file !== '-' && process.stderr.isTTY === true && sizeOf(file) > showFrom;
  let shownAt = 0;
  const show = (isDone: boolean): void => {
    if (!isShown || (!isDone && performance.now() - shownAt < 200)) return;
    shownAt = performance.now();
    const read = ((100 * bytes.read) / Math.max(1, bytes.all)).toFixed(0);
    writeProgress(`${reader.lines} lines, ${groups.size} groups, ${read} %`, isDone);
  };
  const bytes = { read: 0, all: isShown ? sizeOf(file) : 0 };
  try {
    const raw = file === '-' ? process.stdin : createReadStream(file);
    raw.on('data', (piece: Buffer | string) => {
      bytes.read += piece.length;
    });
    const source = file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
    if (source !== raw) raw.on('error', (error: Error) => source.destroy(error));
    const text = new TextDecoder();
    for await (const piece of source) {
      for (const line of reader.read(text.decode(piece as Buffer, { stream: true }))) groups.add(line);
      show(false);
    }
    for (const line of reader.read(text.decode())) groups.add(line);
    for (const line of reader.end()) groups.add(line);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === undefined ? `: ${message}.` : ` cannot be read: ${reasonOf(error)}.`;
    throw new CliError(file + why, 2);
  }
  show(true);
  if (groups.size === 0) writeErrorLine(`headgate: ${file} has no usage.`);
  return groups.sorted();
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

const keysOf = (groups: readonly UsageGroup[]): string[] => [
  ...new Set(groups.flatMap(({ key }) => (key === null ? [] : [key]))),
];

function columnNames(groups: readonly UsageGroup[]): ('tokens' | 'costs')[] {
  const { tokens, costs } = columnsOf(groups);
  return [...(tokens ? (['tokens'] as const) : []), ...(costs ? (['costs'] as const) : [])];
}

interface Part {
  readonly from: string;
  readonly to: string;
  readonly lines: readonly string[];
}

const dayAfter = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + dayMs).toISOString().slice(0, 10);
const daysFrom = (day: string, last: string): number =>
  (Date.parse(`${last}T00:00:00Z`) - Date.parse(`${day}T00:00:00Z`)) / dayMs + 1;

/** Whole days, as many as one call takes: every day from the first to the last is in one of them. */
function* partsOf(groups: readonly UsageGroup[], options: ReconcileOptions): Generator<Part> {
  const first = options.from ?? groups[0]?.day;
  const last = options.to ?? groups.at(-1)?.day;
  if (first === undefined || last === undefined)
    throw new CliError(`${options.file} has no usage: name the days with --from and --to.`, 2);
  const outside = groups.find(({ day }) => day < first || day > last);
  if (outside !== undefined)
    throw new CliError(
      `${options.file} has usage of ${outside.day}, which is not from ${first} to ${last}.`,
      2,
    );
  if (!(daysFrom(first, last) >= 1))
    throw new CliError('--from and --to must be days in their order, such as 2026-10-07.', 2);
  let at = 0;
  let from = first;
  while (from <= last) {
    const lines: string[] = [];
    let size = 0;
    let to = from;
    for (let day = from; day <= last && daysFrom(from, day) <= daysInPart; day = dayAfter(day)) {
      const ofDay: string[] = [];
      for (; groups[at + ofDay.length]?.day === day; ) ofDay.push(genericLine(groups[at + ofDay.length]!));
      const more = ofDay.reduce((sum, line) => sum + line.length + 1, 0);
      if (day !== from && size + more > partSize) break;
      lines.push(...ofDay);
      at += ofDay.length;
      size += more;
      to = day;
    }
    yield { from, to, lines };
    from = dayAfter(to);
  }
}

function mapOf(given: readonly string[] | undefined, flag: string): Record<string, string> {
  const lines = (given ?? []).flatMap((text) =>
    text.startsWith('@') ? readInput(text.slice(1)).split(/\r?\n/) : [text],
  );
  return Object.fromEntries(
    lines
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const at = line.lastIndexOf('=');
        if (at < 1) throw new CliError(`${flag} must be as in name=other, not ${JSON.stringify(line)}.`, 2);
        return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );
}

/** One result of several parts. */
function sumOf(
  parts: readonly Reconciliation[],
  kind: ExportKind,
  thresholds: Parameters<typeof alarmOf>[1],
): Reconciliation {
  const total = (of: (part: Reconciliation) => number): number =>
    parts.reduce((sum, part) => sum + of(part), 0);
  const money = (of: (part: Reconciliation) => string): Amount =>
    parts.reduce((sum, part) => sum + (parseAmount(of(part)) ?? 0n), 0n);
  const there = { tokens: total((part) => part.export_tokens), cost: money((part) => part.export_usd) };
  const costDifference = money((part) => part.difference_usd);
  const tokenDifference = total((part) => part.token_difference);
  const reason = alarmOf({ there, costDifference, tokenDifference }, thresholds);
  return {
    object: 'reconciliation',
    provider: kind,
    from: parts[0]!.from,
    to: parts.at(-1)!.to,
    groups: total(({ groups }) => groups),
    differences: parts.flatMap(({ differences }) => differences),
    ledger_tokens: total((part) => part.ledger_tokens),
    export_tokens: there.tokens,
    ledger_usd: printAmount(money((part) => part.ledger_usd)),
    export_usd: printAmount(there.cost),
    token_difference: tokenDifference,
    difference_usd: printAmount(costDifference),
    alarm: reason !== null,
    alarm_reason: reason,
  };
}

function picture(result: Reconciliation): string[] {
  const { from, to, groups, differences } = result;
  return [
    `${from} to ${to}: ${groups} groups of a day, a key and a model, ${differences.length} with differences`,
    ...differences.map(lineOf),
    `tokens  ledger ${result.ledger_tokens}, export ${result.export_tokens}, differences ${result.token_difference}`,
    `cost    ledger $${result.ledger_usd}, export $${result.export_usd}, differences $${result.difference_usd}`,
    ...(result.alarm_reason == null ? [] : [`alarm: ${result.alarm_reason}`]),
  ];
}

const kinds: Readonly<Record<string, string>> = {
  missing_in_ledger: 'not in the ledger',
  missing_in_export: 'not in the export',
};

function lineOf(difference: Difference): string {
  const { day, key, model, kind, input_tokens: input, output_tokens: output, cost_usd: cost } = difference;
  const off = [
    kinds[kind],
    input == null || input.difference === 0
      ? null
      : `input ${input.ledger} → ${input.export} (${signed(input.difference)})`,
    output == null || output.difference === 0
      ? null
      : `output ${output.ledger} → ${output.export} (${signed(output.difference)})`,
    cost == null || cost.difference === '0'
      ? null
      : `cost $${cost.ledger} → $${cost.export} (${cost.difference.startsWith('-') ? '' : '+'}${cost.difference})`,
    difference.unpriced_calls === 0 ? null : `${counted(difference.unpriced_calls, 'call')} without a price`,
    difference.lost_requests === 0 ? null : `${counted(difference.lost_requests, 'request')} lost`,
  ];
  return `  ${day}  ${key ?? '*'}  ${model ?? '?'}: ${off.filter((part) => part != null).join(', ')}`;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const signed = (count: number): string => (count > 0 ? `+${count}` : String(count));
