import type { Command } from 'commander';
import * as yaml from 'yaml';
import { parseAllDocuments } from 'yaml';
import type { Replay } from '../../client/index.js';
import { yamlProblem } from '../../common/text/yaml-text.js';
import { CliError } from '../cli-error.js';
import { readInput } from '../input/file-input.js';
import { writeJson, writeLine } from '../output/output.js';
import { table } from '../output/table.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';

interface ReplayOptions extends SessionOptions {
  readonly config: string;
  readonly last: string;
}

/** `headgate replay`. */
export function register(program: Command, context: SessionContext): void {
  const command = program
    .command('replay')
    .description('try a draft config on recorded requests, without sending them')
    .requiredOption(
      '--config <file>',
      'the draft: YAML or JSON, a config or a document of one; - is standard input (required)',
    )
    .option('--last <number>', 'how many of the newest requests, at most 5000', '1000');
  withSession(command, { workspace: true }).action((options: ReplayOptions) => {
    const config = configIn(options.config);
    const last = Number(options.last);
    if (!Number.isInteger(last) || last < 1 || last > 5000)
      throw new CliError('--last must be a whole number from 1 to 5000.', 2);
    return withAdmin(
      context,
      options,
      async (client) => {
        const replay = await client.api.requests.replayRequests({
          config: JSON.stringify(config),
          last,
          ...(options.workspace !== undefined && { workspace_id: options.workspace }),
        });
        if (options.json === true) writeJson(replay);
        else writeLine(picture(replay));
      },
      { timeoutMs: 130_000 },
    );
  });
}

/** Objects and lists in each other: more than a config may have. */
const deepestDraft = 100;
/** Characters of a draft whose names are compared: that takes time that grows with the square of their number. */
const longestChecked = 512 * 1024;

function valueIn(document: { toJS(): unknown } | undefined): unknown {
  try {
    return document?.toJS();
  } catch (error) {
    // An alias has no target, or expands to too many values.
    throw new CliError(`--config: ${(error as Error).message}: replace the alias by its value.`, 2);
  }
}

/** A draft may be the config itself, or a document with it. */
function configIn(file: string): unknown {
  const text = readInput(file.replace(/^@/, ''));
  const problem = yamlProblem(text, yaml, deepestDraft);
  if (problem !== null) throw new CliError(`--config ${problem}.`, 2);
  const documents = parseAllDocuments(text, {
    uniqueKeys: text.length < longestChecked,
    logLevel: 'error',
  }).filter(({ contents, errors }) => contents !== null || errors.length > 0);
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined) throw new CliError(`--config: ${error.message.split('\n')[0]}`, 2);
  if (documents.length > 1)
    throw new CliError(
      `--config has ${documents.length} documents: give a file that holds the one draft alone.`,
      2,
    );
  const found = valueIn(documents[0]);
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    throw new CliError('--config must contain a config: an object.', 2);
  const { kind, spec } = found as { kind?: unknown; spec?: { config?: unknown } };
  return kind === 'Config' && spec?.config !== undefined ? spec.config : found;
}

const percent = (part: number, all: number): string =>
  all === 0 ? '–' : `${(Math.round((part / all) * 1000) / 10).toFixed(1)} %`;

const dollars = (amount: number): string => `$${amount.toFixed(amount < 1 ? 6 : 2)}`;

function picture({ requests, with_body, skipped, ...replay }: Replay): string {
  const { before, after, moves, refusals, without_cost, oldest, newest } = replay;
  const span = oldest && newest ? `, from ${oldest} to ${newest}` : '';
  const lines = [
    `${requests} requests replayed${span}. Nothing was sent.`,
    `${with_body} of them with their bodies; for the others, only the model is known.`,
  ];
  if (skipped > 0) lines.push(`${skipped} left out: the gateway does not read their bodies.`);
  if (requests === 0) return lines.join('\n');
  const rows = moves.map((move) => [
    move.before,
    move.after,
    String(Math.round(move.requests * 10) / 10),
    percent(move.requests, requests),
  ]);
  lines.push('', table(['before', 'after', 'requests', 'share'], rows), '');
  const change =
    before.cost === 0
      ? ''
      : ` (${after.cost >= before.cost ? '+' : ''}${percent(after.cost - before.cost, before.cost)})`;
  lines.push(
    table(
      ['', 'before', 'after'],
      [
        ['cost', dollars(before.cost), `${dollars(after.cost)}${change}`],
        ['from the cache', percent(before.cache_hits, requests), percent(after.cache_hits, requests)],
        ['refused', percent(before.refused, requests), percent(after.refused, requests)],
      ],
    ),
  );
  if (without_cost > 0)
    lines.push(`${without_cost} requests are not in the cost: no price or no usage is known.`);
  for (const { code, message, requests: count } of refusals)
    lines.push(`refused ${count}: ${message} [${code}]`);
  return lines.join('\n');
}
