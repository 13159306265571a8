import type { Command } from 'commander';
import { CliError } from '../cli-error.js';
import { writeLine } from '../output/output.js';

/** Shells with a completion script. */
export const shells = ['bash', 'zsh'] as const;

/** Prints a script that completes the commands and flags of `program`, to which all commands were added. */
export function completion(shell: string, program: Command): void {
  if (!(shells as readonly string[]).includes(shell))
    throw new CliError(
      `There are completions for ${shells.join(' and ')}, not for ${shell.slice(0, 40)}.`,
      2,
    );
  writeLine(scriptOf(program, shell === 'zsh'));
}

/** What may follow a command, by the path below `headgate`: names of commands, and flags that help shows. */
function wordsOf(program: Command): Map<string, readonly string[]> {
  const words = new Map<string, readonly string[]>();
  const add = (command: Command, path: string): void => {
    const flags = command.options.filter(({ hidden, long }) => !hidden && long !== undefined);
    words.set(path, [
      ...command.commands.map((child) => child.name()),
      ...flags.map(({ long }) => long!),
      '--help',
    ]);
    for (const child of command.commands) add(child, `${path} ${child.name()}`.trim());
  };
  add(program, '');
  return words;
}

/** Completion may be on already: to start it once more takes a part of a second of every new shell. */
const zshStart = [
  'autoload -U +X compinit bashcompinit',
  '(( $+functions[compdef] )) || compinit',
  '(( $+functions[complete] )) || bashcompinit',
];

/** Words are names of the proto files and of this program: letters, digits, dots and dashes. */
function scriptOf(program: Command, isZsh: boolean): string {
  const cases = [...wordsOf(program)].map(([path, words]) => `    '${path}') words='${words.join(' ')}' ;;`);
  return [
    ...(isZsh ? zshStart : []),
    '_headgate_words() {',
    '  case "$1" in',
    ...cases,
    '    *) return 1 ;;',
    '  esac',
    '}',
    '_headgate() {',
    `  local current="\${COMP_WORDS[COMP_CWORD]}" path="" words="" word i`,
    // A command has at most two names; what follows it are arguments, flags and their values.
    '  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do',
    `    word="\${COMP_WORDS[i]}"`,
    `    _headgate_words "\${path:+$path }$word" || break`,
    `    path="\${path:+$path }$word"`,
    '  done',
    '  _headgate_words "$path"',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    'complete -o default -F _headgate headgate',
  ].join('\n');
}
