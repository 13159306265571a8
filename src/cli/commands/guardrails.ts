import type { Command } from 'commander';
import type { TestGuardrailResponse } from '../../client/index.js';
import { CliError } from '../cli-error.js';
import { readInput } from '../input/file-input.js';
import { printable, writeJson, writeLine } from '../output/output.js';
import { registerResource } from '../resource.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';

interface TestOptions extends SessionOptions {
  readonly texts?: string;
  readonly file?: string;
  readonly phase?: string;
}

interface Labelled {
  readonly text: string;
  readonly label?: 'pass' | 'fail';
}

type Result = TestGuardrailResponse['results'][number];

/** Texts of one question to the gateway. */
const batch = 50;

/** `headgate guardrails`. */
export function register(program: Command, context: SessionContext): void {
  const test = registerResource(program, context, 'Guardrails', { TestGuardrail: { isOwn: true } })
    .command('test')
    .summary('run a guardrail over texts, and show what it finds')
    .argument('<id>', 'Id or slug.')
    .description('run a guardrail, by id or slug, over texts; exit code 1: one of them does not pass')
    .option('--texts <text>', 'a text')
    .option(
      '-f, --file <file>',
      'JSON lines with text and, if there is one, label: pass or fail; - is standard input',
    )
    .option('--phase <before|after>', 'are the texts requests (before, the default) or answers?');
  withSession(test, { workspace: true }).action((id: string, options: TestOptions) => {
    const texts = textsOf(options);
    return withAdmin(context, options, async (client) => {
      const results: Result[] = [];
      for (let i = 0; i < texts.length; i += batch) {
        const asked = texts.slice(i, i + batch);
        const { workspace: workspace_id, phase } = options;
        const answer = await client.api.guardrails.testGuardrail({
          ...{ id, texts: asked, workspace_id },
          phase: phase === 'after' ? 'after' : 'before',
        });
        results.push(...answer.results);
      }
      const score = scoreOf(texts, results);
      if (options.json === true) writeJson({ results, score });
      else
        writeLine([...results.map((result, i) => line(texts[i]!, result)), ...scoreLines(score)].join('\n'));
      if (results.some(({ verdict }) => !verdict)) process.exitCode = 1;
    });
  });
}

function textsOf({ texts: text, file, phase }: TestOptions): Labelled[] {
  if ((text === undefined) === (file === undefined))
    throw new CliError('Give --texts or --file, and not both.', 2);
  if (phase !== undefined && phase !== 'before' && phase !== 'after')
    throw new CliError('--phase must be before or after.', 2);
  if (text !== undefined) return [{ text }];
  const lines = readInput(file!).split('\n');
  return lines.flatMap((one, i) => (one.trim() === '' ? [] : [labelled(one, i + 1)]));
}

function labelled(line: string, number: number): Labelled {
  try {
    const { text, label } = JSON.parse(line) as Labelled;
    if (typeof text === 'string' && (label === undefined || label === 'pass' || label === 'fail'))
      return label === undefined ? { text } : { text, label };
  } catch {
    // Reported below.
  }
  throw new CliError(
    `Line ${number} of --file must be an object with text and, at most, label: pass or fail.`,
    2,
  );
}

interface Score {
  readonly labelled: number;
  readonly precision: number | null;
  readonly recall: number | null;
}

/** Over all batches. null: no text has a label. */
function scoreOf(texts: readonly Labelled[], results: readonly Result[]): Score | null {
  const all = texts.map(({ label }, i) => ({ label, isFound: results[i]?.verdict === false }));
  const given = all.filter(({ label }) => label !== undefined);
  if (given.length === 0) return null;
  const found = given.filter(({ isFound }) => isFound);
  const wanted = given.filter(({ label }) => label === 'fail');
  const right = found.filter(({ label }) => label === 'fail').length;
  return {
    labelled: given.length,
    precision: found.length === 0 ? null : right / found.length,
    recall: wanted.length === 0 ? null : right / wanted.length,
  };
}

const longest = 60;

function line({ text, label }: Labelled, { verdict, status, ms, transformed }: Result): string {
  const short = text.length > longest ? `${text.slice(0, longest)}…` : text;
  const found = verdict ? 'pass' : 'fail';
  const wrong = label !== undefined && label !== found ? `  (should be ${label})` : '';
  const changed = transformed == null ? '' : `  → ${JSON.stringify(transformed)}`;
  return printable(
    `${found}  ${status}  ${ms.toFixed(1).padStart(8)} ms  ${JSON.stringify(short)}${changed}${wrong}`,
  );
}

const percent = (share: number | null): string => (share === null ? 'none' : `${(share * 100).toFixed(1)} %`);

const scoreLines = (score: Score | null): string[] =>
  score === null
    ? []
    : [
        `${score.labelled} labelled texts: precision ${percent(score.precision)}, recall ${percent(score.recall)}`,
      ];
