import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Command } from 'commander';
import type { PluginCost } from '../../plugin-kit/bench/bench-plugin.js';
import type { Checked } from '../../plugin-kit/check/check-plugin.js';
import { ownPackage } from '../../process/node/version.js';
import { CliError } from '../cli-error.js';
import { writeErrorLine, writeJson, writeLine } from '../output/output.js';
import { table } from '../output/table.js';

interface PluginOptions {
  readonly sample?: string;
  readonly json?: boolean;
}

/** `headgate plugin`: for those who write one. No gateway runs, and no key is needed. */
export function register(program: Command): void {
  const plugin = program.command('plugin').description('make, test, check and measure a plugin of your own');
  plugin
    .command('new <name>')
    .description(
      "make a plugin's folder: its code with types and a schema of its options, a test, a sample, a README",
    )
    .option('--directory <folder>', 'where the folder is made', '.')
    .action((name: string, { directory }: { directory: string }) => makeNew(name, directory));
  withSample(plugin.command('test [folder]'))
    .description('check a plugin, send requests in every format through it, then run its *.test.js files')
    .action((folder: string | undefined, options: PluginOptions) => test(folder, options));
  withSample(plugin.command('check [folder]'))
    .description('check the declaration of a plugin, and the options of its sample')
    .action((folder: string | undefined, options: PluginOptions) => check(folder, options));
  withSample(plugin.command('bench [folder]'))
    .description(
      'print what a plugin costs a request, in microseconds, measured in turns with a chain without it',
    )
    .option('--seconds <seconds>', 'for whole answers, and again for streams', '3')
    .action((folder: string | undefined, options: PluginOptions & { seconds: string }) =>
      bench(folder, options),
    );
}

const withSample = (command: Command): Command =>
  command
    .option(
      '--sample <file>',
      'options and a request to send, as JSON or YAML (default: sample.json beside the plugin)',
    )
    .option('--json', 'print the result as JSON');

async function makeNew(name: string, directory: string): Promise<void> {
  const { newPlugin } = await import('../../plugin-kit/new/new-plugin.js');
  const { folder, files } = orCliError(() => newPlugin(name, directory));
  const made = files.map((file) => `  ${join(folder, file)}`);
  writeLine([...made, '', `Next: npx headgate plugin test ${folder}`].join('\n'));
}

async function check(folder: string | undefined, options: PluginOptions): Promise<void> {
  const checked = await checkedAt(folder, options);
  if (options.json === true) {
    const { plugin, file: _file, sample: _sample, findings, ...parts } = checked;
    writeJson({ name: plugin?.name ?? null, ...parts, findings });
  } else await report(checked);
}

/** Checks the plugin; the exit code is 1 where the gateway would not take it. */
async function checkedAt(folder: string | undefined, { sample }: PluginOptions): Promise<Checked> {
  const { pluginFile } = await import('../../plugin-kit/plugin-file.js');
  const { checkPlugin } = await import('../../plugin-kit/check/check-plugin.js');
  const { endWithEndlessPlugin } = await import('../../process/worker/watch/watch-plugins.js');
  endWithEndlessPlugin();
  const file = orCliError(() => pluginFile(folder ?? '.'));
  const checked = await checkPlugin(file, sample ?? null);
  if (isRefused(checked)) process.exitCode = 1;
  return checked;
}

const isRefused = ({ findings }: Checked): boolean => findings.some(({ severity }) => severity === 'error');

async function report(checked: Checked): Promise<void> {
  const { findingLine } = await import('../../plugin-kit/check/finding.js');
  for (const finding of checked.findings)
    writeErrorLine(findingLine({ ...finding, file: relative('.', finding.file) || finding.file }));
  if (isRefused(checked)) return;
  const { plugin, hooks, checks, file } = checked;
  const isIdle = checked.providers.length === 0 && checks.length === 0;
  const declared = ['settings', 'errors', 'state', 'ledgerFields', 'replyHeaders', 'metrics'] as const;
  const rows = [
    ['file', relative('.', file)],
    ['hooks', hooks.join(', ') || (isIdle ? 'none: it does nothing' : 'none')],
    ...(checks.length === 0 ? [] : [['checks', checks.map((name) => `${plugin?.name}.${name}`).join(', ')]]),
    ...(['providers', 'formats', 'sinks'] as const).flatMap((part) =>
      checked[part].length === 0 ? [] : [[part, checked[part].join(', ')]],
    ),
    ...declared.flatMap((member) => {
      const names = Object.keys(plugin?.[member] ?? {});
      return names.length === 0 ? [] : [[member, names.join(', ')]];
    }),
    ...(plugin?.needs === undefined ? [] : [['needs', plugin.needs.join(', ')]]),
  ];
  writeLine(table([`${plugin?.name} is in order.`, ''], []));
  writeLine(rows.map(([name = '', text]) => `  ${name.padEnd(13)}${text}`).join('\n'));
}

async function test(folder: string | undefined, options: PluginOptions): Promise<void> {
  const checked = await checkedAt(folder, options);
  if (isRefused(checked)) return report(checked);
  const { tryPlugin } = await import('../../plugin-kit/trial.js');
  const tried = await tryPlugin(checked.plugin!, checked.sample.options, checked.sample.request);
  const faults = tried.flatMap(({ request, faults }) => faults.map((fault) => `${request}: ${fault}`));
  if (faults.length > 0) process.exitCode = 1;
  if (options.json === true) writeJson({ name: checked.plugin!.name, tried });
  else {
    await report(checked);
    writeLine('');
    const rows = tried.map(({ request, status, calls, refusal }) => [
      request,
      String(status),
      String(calls),
      refusal ?? '',
    ]);
    writeLine(table(['request', 'status', 'calls', ''], rows));
    for (const fault of faults) writeErrorLine(`\n${fault}`);
  }
  if (!(await runTests(checked.file, options.json === true))) process.exitCode = 1;
}

/** Runs the test files beside a plugin's file with node:test. false: one has failed. */
async function runTests(file: string, isQuiet: boolean): Promise<boolean> {
  const { prefixOf } = await import('../../plugin-kit/check/sample.js');
  const folder = dirname(file);
  const own = prefixOf(file);
  const files = readdirSync(folder).filter(
    (name) => /(^|\.)test\.[cm]?js$/.test(name) && name.startsWith(own === '' ? '' : `${own}test.`),
  );
  if (files.length === 0) return true;
  const imports = new URL('dist/src/plugin-kit/test-imports.js', ownPackage()?.folder).href;
  const { status } = spawnSync(process.execPath, ['--import', imports, '--test', ...files], {
    cwd: folder,
    stdio: isQuiet ? 'ignore' : 'inherit',
  });
  return status === 0;
}

async function bench(
  folder: string | undefined,
  options: PluginOptions & { seconds: string },
): Promise<void> {
  const seconds = Number(options.seconds);
  if (!(seconds > 0 && seconds <= 600)) throw new CliError('--seconds: must be a number up to 600.', 2);
  const checked = await checkedAt(folder, options);
  if (isRefused(checked)) return report(checked);
  const { benchPlugin } = await import('../../plugin-kit/bench/bench-plugin.js');
  const { plugin, sample } = checked;
  const costs = await benchPlugin({
    plugin: plugin!,
    options: sample.options,
    request: sample.request,
    seconds,
  });
  if (options.json === true) writeJson({ name: plugin!.name, costs });
  else
    writeLine(
      [
        `${plugin!.name}: what it adds to a request, beside the same chain without it`,
        ...costs.map(costText),
      ].join('\n\n'),
    );
}

const oneDigit = (value: number): string => value.toFixed(1);

function costText({
  kind,
  status,
  requests,
  emptyMicros,
  addedMicros,
  quartiles,
  hooks,
}: PluginCost): string {
  const rows = hooks.map(({ hook, calls, micros, waitsMs }) => [
    hook,
    String(calls),
    micros.toFixed(2),
    waitsMs === 0 ? '' : `${waitsMs.toFixed(2)} ms`,
  ]);
  const inHooks = hooks.reduce((sum, { micros }) => sum + micros, 0);
  const [low, high] = quartiles;
  const head = `${kind === 'whole' ? 'A whole answer' : 'A stream'}: ${oneDigit(addedMicros)} µs of CPU (quartiles ${oneDigit(low)} to ${oneDigit(high)}), on ${oneDigit(emptyMicros)} µs; ${requests} requests each`;
  const refused =
    status < 400
      ? []
      : [`It answers the sample with ${status}: give a request in sample.json that it lets pass.`];
  return [
    head,
    ...refused,
    table(
      ['hook', 'calls', 'µs', 'waits'],
      [...rows, ['around them', '', Math.max(0, addedMicros - inHooks).toFixed(2), '']],
    ),
  ].join('\n');
}

/** What is wrong with what was typed is a sentence, and no stack. */
function orCliError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new CliError((error as Error).message, 2);
  }
}
