import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CliError } from '../cli-error.js';
import { printable } from '../output/output.js';
import { readInput } from './file-input.js';

/** Bytes. */
const longestSecret = 1024 * 1024;

/** Asks on the terminal without showing what is typed. */
function ask(question: string): Promise<string> {
  process.stderr.write(printable(question));
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: unseen, terminal: true });
  return new Promise((answered, failed) => {
    terminal.once('SIGINT', () => {
      terminal.close();
      failed(new CliError('Cancelled.', 130));
    });
    terminal.question('', (answer) => {
      terminal.close();
      process.stderr.write('\n');
      answered(answer.trim());
    });
  });
}

/** A secret from a file (`-`: standard input), else from standard input, else asked for. Never from the command line. */
export async function readSecret(file: string | undefined, question: string): Promise<string> {
  if (file === undefined && process.stdin.isTTY) return ask(question);
  return readInput(file ?? '-', longestSecret).trim();
}
