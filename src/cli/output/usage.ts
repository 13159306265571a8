import { type Command, Option } from 'commander';
import { CliError } from '../cli-error.js';

/** Gives every command the line that follows an error of usage: which help lists what was meant. */
export function hintsOfUsage(command: Command, path = command.name()): void {
  const lists = command.commands.length > 0 ? 'commands' : 'arguments and flags';
  const all = command.parent === null ? 'all commands' : `its ${lists}`;
  command.showHelpAfterError(`Run ${path} --help for ${all}.`);
  for (const child of command.commands) hintsOfUsage(child, `${path} ${child.name()}`);
}

/**
 * A flag that would take a secret as text: `--database-url` beside `--database-url-file`. Help does not list it; its error
 * names what to type instead. `variable`: the environment variable that may hold the secret; null: there is none.
 */
export function refusedSecretFlag(flag: string, variable: string | null): Option {
  const name = flag.replace(/-file$/, '');
  const elsewhere = variable === null ? '; - is standard input' : `, or in the variable ${variable}`;
  return new Option(`${name} [text]`).hideHelp().argParser(() => {
    throw new CliError(
      `${name} would show the secret to other users of this machine: give it in a file with ${flag}${elsewhere}.`,
      2,
    );
  });
}
