import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { headgateHere } from './cli-bench.js';
import { type Ran, run } from './command.js';
import { mainFile } from './gateway.js';

/** A line of plain words, some of them in quotes, and a file for its output: what a shell makes of it is clear without one. */
const plainLine =
  /^npx headgate((?: +(?:'[^']*'|"[^"$`\\!]*"|[\w@%+=:,./-])+)+?)(?: *> *(?<into>[\w./-]+))?$/;
const word = /(?:'[^']*'|"[^"]*"|[^\s'"])+/g;
const unquoted = (one: string): string =>
  one.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double);

/**
 * Runs what a page of the docs has one type: commands of plain words in this process, which is quicker, all else by bash. Ends with
 * the first command that fails.
 */
export async function runTyped(
  text: string,
  { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
): Promise<Ran> {
  const lines = text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/(^| )#.*/, '').trim())
    .filter((line) => line !== '');
  const plain = lines.map((line) => plainLine.exec(line));
  if (plain.includes(null)) {
    const typed = text.replaceAll('npx headgate', `${process.execPath} ${mainFile}`);
    return run('bash', ['-euo', 'pipefail', '-c', typed], { env, cwd });
  }
  const all = { code: 0 as number | null, stdout: '', stderr: '' };
  for (const [, words, into] of plain as RegExpExecArray[]) {
    const { code, stdout, stderr } = await headgateHere(words!.match(word)!.map(unquoted), env, cwd);
    if (into === undefined) all.stdout += stdout;
    else writeFileSync(resolve(cwd, into), stdout);
    all.stderr += stderr;
    all.code = code;
    if (code !== 0) break;
  }
  return all;
}
