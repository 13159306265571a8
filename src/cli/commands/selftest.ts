import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Settings } from '../../common/settings/settings.js';
import { CliError } from '../cli-error.js';
import type { CliContext } from '../context.js';
import { readInput } from '../input/file-input.js';
import { printable, writeErrorLine, writeJson, writeLine } from '../output/output.js';
import { table } from '../output/table.js';
import {
  type Cell,
  cellsOf,
  checkNames,
  type Tested,
  type TestedGateway,
  UnknownSlug,
} from '../selftest/selftest-checks.js';
import { storedSlugs, unknownSlug } from '../selftest/selftest-slugs.js';

interface SelftestOptions {
  readonly provider?: readonly string[];
  readonly model?: string;
  readonly embeddingModel?: string;
  readonly rerankModel?: string;
  readonly keyFile?: string;
  readonly url?: string;
  readonly json?: boolean;
}

export function register(program: Command, context: CliContext): void {
  program
    .command('selftest')
    .description('call providers, real or simulated, and report what works')
    .option(
      '--provider <slug...>',
      'stored providers of the running gateway (@slug, or @slug/model); without: every format, simulated',
    )
    .option('--model <model>', 'model to chat with, where the provider is named without one')
    .option('--embedding-model <model>', 'model to embed with; without, embeddings are left out')
    .option('--rerank-model <model>', 'model to rerank with; without, reranking is left out')
    .option('--key-file <file>', 'a key of the workspace (default: the first one, out of the data directory)')
    .option('--url <url>', 'address of the gateway (default: that of these settings)')
    .option('--json', 'print the cells as JSON')
    .action((options: SelftestOptions) => selftest(context, options));
}

/** Sets exit code 1 where a cell fails. Progress goes to standard error, the result to standard output. */
async function selftest(context: CliContext, options: SelftestOptions): Promise<void> {
  const { provider: named } = options;
  const cells: Cell[] = [];
  const run = async (gateway: TestedGateway, tested: readonly Tested[]): Promise<void> => {
    const total = tested.length * checkNames.length;
    for (const one of tested) {
      for await (const cell of cellsOf(gateway, one)) {
        cells.push(cell);
        writeErrorLine(progress(cell, cells.length, total));
      }
    }
  };
  if (named === undefined) await (await import('../selftest/selftest-simulated.js')).withSimulated(run);
  else {
    const gateway = gatewayOf(context.settings(), options);
    const tested = named.map((text) => testedOf(text, options));
    const slugs = await storedSlugs(gateway);
    const unknown = slugs && tested.find(({ provider }) => !slugs.includes(provider.slice(1)));
    if (unknown) throw unknownSlug(unknown.provider, slugs);
    await run(gateway, tested).catch((thrown: unknown) => {
      // A key that may not list providers is refused by its first call.
      throw thrown instanceof UnknownSlug ? unknownSlug(thrown.provider, slugs) : thrown;
    });
  }
  const failed = cells.filter(({ result }) => result === 'fail').length;
  if (options.json === true) writeJson({ ok: failed === 0, cells }, 2);
  else writeLine(matrix(cells));
  if (failed > 0) process.exitCode = 1;
}

function testedOf(text: string, { model, embeddingModel, rerankModel }: SelftestOptions): Tested {
  const slug = text.startsWith('@') ? text : `@${text}`;
  const slash = slug.indexOf('/');
  const chat = slash < 0 ? model : slug.slice(slash + 1);
  if (chat === undefined || chat === '')
    throw new CliError(
      `--model: which model of ${slug} to chat with is not said; ${slug}/<model> says it too.`,
      2,
    );
  return {
    provider: slash < 0 ? slug : slug.slice(0, slash),
    model: chat,
    embeddingModel: embeddingModel ?? null,
    rerankModel: rerankModel ?? null,
  };
}

function gatewayOf(settings: Settings, { keyFile, url }: SelftestOptions): TestedGateway {
  const host = settings.host === '0.0.0.0' || settings.host === '::' ? '127.0.0.1' : settings.host;
  const key = keyFile === undefined ? firstKey(settings.dataDir) : readInput(keyFile).trim();
  return { url: url?.replace(/\/+$/, '') ?? `http://${host}:${settings.port}`, key };
}

function firstKey(dataDir: string): string {
  try {
    const keys = JSON.parse(readFileSync(join(dataDir, 'first-keys.json'), 'utf8')) as Record<string, string>;
    if (keys['workspace_key']) return keys['workspace_key'];
  } catch {
    // Reported below.
  }
  throw new CliError(
    '--key-file: there is no first-keys.json to take a key of a workspace from, so name one.',
    2,
  );
}

/** `[3/10] @main tools: ok, 41 ms` */
const progress = ({ provider, check, result, durationMs }: Cell, done: number, total: number): string =>
  `[${done}/${total}] ${provider} ${check}: ${marks[result]}${result === 'none' ? '' : `, ${durationMs} ms`}`;

const marks = { pass: 'ok', fail: 'FAIL', none: '–' } as const;

/** A row for each provider, a column for each check, and below them why what did not pass did not. */
function matrix(cells: readonly Cell[]): string {
  const providers = [...new Set(cells.map(({ provider }) => provider))];
  const rows = providers.map((name) => [
    name,
    ...checkNames.map((check) => {
      const cell = cells.find((found) => found.provider === name && found.check === check);
      return cell === undefined ? '' : marks[cell.result];
    }),
  ]);
  const reasons = cells
    .filter(({ result }) => result !== 'pass')
    .map(
      ({ provider, check, result, reason }) =>
        `${marks[result]}  ${provider} ${check}: ${printable(reason ?? '')}`,
    );
  const failed = cells.filter(({ result }) => result === 'fail').length;
  const end = failed === 0 ? 'Everything that providers have works.' : `${failed} of ${cells.length} failed.`;
  return [table(['PROVIDER', ...checkNames.map((name) => name.toUpperCase())], rows), ...reasons, end].join(
    '\n',
  );
}
