import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Settings } from '../config/settings.js';
import { CliError } from './cli-error.js';
import { readInput } from './file-input.js';
import type { CliContext } from './program.js';
import { type Cell, cellsOf, checkNames, type Tested, type TestedGateway } from './selftest-checks.js';
import { printable, table } from './table.js';

interface SelftestOptions {
  readonly provider?: readonly string[];
  readonly model?: string;
  readonly embeddingModel?: string;
  readonly keyFile?: string;
  readonly url?: string;
  readonly json?: boolean;
}

export function register(program: Command, context: CliContext): void {
  program
    .command('selftest')
    .description('call providers for real, or simulated ones, and tell what works')
    .option(
      '--provider <slug...>',
      'stored providers of the running gateway (@slug, or @slug/model); without: every format, simulated',
    )
    .option('--model <model>', 'model to chat with, where the provider is named without one')
    .option('--embedding-model <model>', 'model to embed with; without, embeddings are left out')
    .option('--key-file <file>', 'a key of the workspace (default: the first one, out of the data directory)')
    .option('--url <url>', 'address of the gateway (default: that of these settings)')
    .option('--json', 'print the cells as JSON')
    .action((options: SelftestOptions) => selftest(context, options));
}

/** Sets exit code 1 where a cell fails. */
async function selftest(context: CliContext, options: SelftestOptions): Promise<void> {
  const { provider: named } = options;
  const cells: Cell[] = [];
  const run = async (gateway: TestedGateway, tested: readonly Tested[]): Promise<void> => {
    for (const one of tested) for await (const cell of cellsOf(gateway, one)) cells.push(cell);
  };
  if (named === undefined) await (await import('./selftest-simulated.js')).withSimulated(run);
  else
    await run(
      gatewayOf(context.settings(), options),
      named.map((text) => testedOf(text, options)),
    );
  const failed = cells.filter(({ result }) => result === 'fail').length;
  console.log(options.json === true ? JSON.stringify({ ok: failed === 0, cells }, null, 2) : matrix(cells));
  if (failed > 0) process.exitCode = 1;
}

function testedOf(text: string, { model, embeddingModel }: SelftestOptions): Tested {
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
    // Told below.
  }
  throw new CliError(
    '--key-file: there is no first-keys.json to take a key of a workspace from, so name one.',
    2,
  );
}

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
