import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { version as gatewayVersion } from '../src/process/node/version.js';
import { type BenchRow, type BenchRun, changesBetween, movedFloors, variedFloors } from './comparison.js';

/** The repository, whether this file runs as it is or compiled, in dist/bench. */
const root = fileURLToPath(
  new URL(import.meta.url.includes('/dist/bench/') ? '../..' : '..', import.meta.url),
);
const resultsFolder = join(root, 'bench', 'results');

function machine(): BenchRun['machine'] {
  const nginx = spawnSync('nginx', ['-v'], { encoding: 'utf8' });
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memory_mb: Math.round(totalmem() / 1e6),
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
    nginx: nginx.error === undefined ? (/nginx\/(\S+)/.exec(nginx.stderr)?.[1] ?? 'unknown') : 'none',
  };
}

/** The latest run of the same command in `folder`; null: there is none, or none that can be read. */
export function lastRun(command: string, folder = resultsFolder): BenchRun | null {
  const names = (() => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  })();
  const own = names.filter((name) => name.endsWith(`-${command}.json`)).sort();
  for (const name of own.reverse()) {
    try {
      const run = readRun(join(folder, name));
      if (run.command === command) return run;
    } catch {
      // A run that was cut off while it wrote its file.
    }
  }
  return null;
}

function readRun(file: string): BenchRun {
  const run = JSON.parse(readFileSync(file, 'utf8')) as BenchRun;
  if (!Array.isArray(run.rows)) throw new Error(`${file} holds no results of a benchmark`);
  return run;
}

export interface Recorded {
  readonly run: BenchRun;
  readonly before: BenchRun | null;
  readonly file: string;
}

/**
 * Writes a run's figures to a file of their own in bench/results. `before`: the run of the file behind `--compare`, or
 * else the last one of the same command.
 */
export function record(
  { command, options, rows }: Pick<BenchRun, 'command' | 'options' | 'rows'>,
  folder = resultsFolder,
  at = new Date(),
): Recorded {
  const given = process.argv.indexOf('--compare');
  const before = given < 0 ? lastRun(command, folder) : readRun(process.argv[given + 1] ?? '');
  const run: BenchRun = {
    command,
    at: at.toISOString(),
    version: gatewayVersion(),
    machine: machine(),
    options,
    rows,
    noisy: variedFloors(rows),
  };
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${run.at.slice(0, 19).replaceAll(':', '-')}-${command}.json`);
  writeFileSync(file, `${JSON.stringify(run, null, 2)}\n`);
  return { run, before, file };
}

const shown = (value: number): string => (Math.abs(value) < 10 ? value.toFixed(2) : value.toFixed(1));
const signed = (percent: number): string => `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(1)} %`;

/** The lines that a person reads after a run: what changed in each row, whether that can be relied on, and the file. */
export function summary({ run, before, file }: Recorded): string[] {
  const noisy = [...run.noisy];
  const lines: string[] = [];
  if (before === null)
    lines.push('No run of this command before: the next one is compared with these figures.');
  else {
    noisy.push(...movedFloors(before.rows, run.rows));
    noisy.push(...before.noisy.map((reason) => `the run before was noisy: ${reason}`));
    lines.push(`Compared with the run of ${before.at}${otherCircumstances(before, run)}:`);
    lines.push(...rowLines(before.rows, run.rows));
  }
  if (noisy.length > 0) lines.push(`noisy: ${noisy.join('; ')}. Measure again on a quiet machine.`);
  lines.push(`Results: ${relative(process.cwd(), file)}`);
  return lines;
}

function rowLines(before: readonly BenchRow[], now: readonly BenchRow[]): string[] {
  const byRow = new Map<string, string[]>();
  for (const { work, server, figure, before: from, now: to, percent } of changesBetween(before, now)) {
    const row = `${work}, ${server}`;
    const text = `${figure} ${shown(from)} → ${shown(to)} (${signed(percent)})`;
    byRow.set(row, [...(byRow.get(row) ?? []), text]);
  }
  return [...byRow].map(([row, figures]) => `  ${row}: ${figures.join(', ')}`);
}

/** What makes two runs hard to compare, as a part of a sentence. */
function otherCircumstances(before: BenchRun, now: BenchRun): string {
  const other = (['machine', 'options'] as const).flatMap((kind) =>
    Object.entries(now[kind])
      .filter(([name, value]) => before[kind][name] !== value)
      .map(([name, value]) => `${name} ${before[kind][name] ?? 'unknown'} then, ${value} now`),
  );
  return other.length === 0 ? '' : ` (${other.join('; ')})`;
}
