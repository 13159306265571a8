import { readFileSync } from 'node:fs';
import type { FullHost, Hooks, Plugin, PluginParts } from '../../common/plugin-host/plugin.js';
import type { SinkOptions } from '../../common/plugin-host/sink.js';
import { optionsSchema } from '../../common/plugin-host/stage-settings.js';
import { hookNames, loadPlugin } from '../../data-plane/pipeline/plugins/plugins.js';
import { KitChain } from '../chain/kit-chain.js';
import { simulatedUpstream } from '../chain/simulated-upstream.js';
import { declarationProblems, optionProblems, type Problem } from './declaration.js';
import type { PluginFinding } from './finding.js';
import { prefixOf, type Sample, sampleOf } from './sample.js';
import { lineOf } from './source-line.js';

/** A plugin as `headgate plugin check` sees it. */
export interface Checked {
  readonly file: string;
  /** null: the file could not be loaded. */
  readonly plugin: Plugin | null;
  /** Names of its hooks; empty where it could not be set up. */
  readonly hooks: readonly string[];
  /** Names of the checks of guardrails, and of the formats, that it brings. */
  readonly checks: readonly string[];
  readonly formats: readonly string[];
  /** Names of the providers that it brings with the sample's options, and of the sinks that its setup opens. */
  readonly providers: readonly string[];
  readonly sinks: readonly string[];
  readonly sample: Sample;
  readonly findings: readonly PluginFinding[];
}

const nothing = { hooks: [], checks: [], formats: [], providers: [], sinks: [] } as const;

/** Loads a plugin's file, checks its declaration and the sample's options, and sets it up in a chain. */
export async function checkPlugin(file: string, sampleFile: string | null): Promise<Checked> {
  const sample = sampleOf(file, sampleFile);
  const findings = [...sample.findings];
  let plugin: Plugin;
  try {
    plugin = await loadPlugin(file);
  } catch (error) {
    const finding = placed(file, messageOf(error));
    return { file, plugin: null, ...nothing, sample, findings: [...findings, finding] };
  }
  const source = readFileSync(file, 'utf8');
  const inSource = ({ path, message, severity = 'error' as never }: Problem): PluginFinding => ({
    ...{ file, line: lineOf(source, path), path: path.join('.'), message, severity },
  });
  const declared = declarationProblems(plugin).map(inSource);
  findings.push(...declared);
  const isSound = !declared.some(({ severity }) => severity === 'error');
  const schema = plugin.options ?? optionsSchema(plugin.settings ?? {});
  if (isSound)
    findings.push(
      ...optionProblems(schema, sample.options).map((problem) => inSample(problem, sample, file)),
    );
  if (findings.some(({ severity }) => severity === 'error'))
    return { file, plugin, ...nothing, sample, findings };
  const parts = await partsOf(plugin, sample.options).catch((error: unknown) => {
    findings.push(hookPlaced(placed(file, messageOf(error)), source));
    return nothing;
  });
  return { file, plugin, ...parts, sample, findings };
}

function inSample({ path, message }: Problem, sample: Sample, pluginFile: string): PluginFinding {
  const whole = ['options', ...path];
  return {
    file: sample.file ?? pluginFile,
    line: sample.file === null ? null : sample.lineOf(whole),
    path: whole.join('.'),
    message:
      sample.file === null
        ? `${message} Give options in ${prefixOf(pluginFile)}sample.json, as {"options": {…}}.`
        : message,
    severity: 'error',
  };
}

/** The names of what it returns when it is set up. */
async function partsOf(plugin: Plugin, options: unknown): Promise<Pick<Checked, keyof typeof nothing>> {
  let hooks: PluginParts = {};
  const sinks: string[] = [];
  const seen: Plugin = Object.create(plugin, {
    setup: {
      value: async (given: unknown, host: FullHost) => {
        const seeing: FullHost = Object.create(host, {
          sink: {
            value: (sink: SinkOptions<unknown>) => {
              const opened = host.sink(sink);
              sinks.push(sink.name);
              return opened;
            },
          },
        });
        hooks = await plugin.setup(given, seeing);
        return hooks;
      },
    },
  });
  const quiet = { info() {}, warn() {}, error() {} };
  const upstream = simulatedUpstream({ onCall() {}, answer: () => undefined });
  const chain = await KitChain.open({ plugins: [{ plugin: seen, options }], upstream, log: quiet });
  await chain.close();
  return {
    hooks: Object.keys(hookNames).filter((name) => hooks[name as keyof Hooks] !== undefined),
    checks: Object.keys(hooks.checks ?? {}),
    formats: Object.keys(hooks.formats ?? {}),
    providers: Object.keys(providersGiven(plugin, options)),
    sinks,
  };
}

/** Its rows of providers; they were checked when it was set up. */
const providersGiven = ({ providers }: Plugin, options: unknown): object =>
  (typeof providers === 'function' ? providers(options) : providers) ?? {};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A message of the gateway's start, such as `…: setup failed: no licence (/plugins/a.ts:3)`, with its place in front. */
function placed(file: string, message: string): PluginFinding {
  const [, text = message, at, line] = /^([\s\S]*?)(?: \((\/.*):(\d+)\))?$/.exec(message) ?? [];
  const plain = text.startsWith(`${file}: `) ? text.slice(file.length + 2) : text;
  return {
    file: at ?? file,
    line: line === undefined ? null : Number(line),
    path: '',
    message: plain,
    severity: 'error',
  };
}

/** A finding about a hook, with the line that names it. */
function hookPlaced(finding: PluginFinding, source: string): PluginFinding {
  const [, hook] = /(?:setup returned|the hook) (\w+)/.exec(finding.message) ?? [];
  return finding.line !== null || hook === undefined
    ? finding
    : { ...finding, line: lineOf(source, ['setup', hook]) };
}
