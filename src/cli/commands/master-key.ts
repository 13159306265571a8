import type { Command } from 'commander';
import {
  installNextKey,
  type MasterKey,
  parseMasterKey,
  prepareNextKey,
} from '../../control-plane/store/secrets/master-key.js';
import { rotateMasterKey } from '../../control-plane/store/store.js';
import { CliError } from '../cli-error.js';
import { readSecret } from '../input/secret-input.js';
import {
  inOneLine,
  masterKeyOf,
  type StoreContext,
  type StoredSettings,
  whileStopped,
} from '../local-store.js';
import { writeErrorLine, writeLine } from '../output/output.js';

interface RotateOptions {
  readonly newKeyFile?: string;
}

/** `headgate master-key`. */
export function register(program: Command, context: StoreContext): void {
  program
    .command('master-key')
    .description('change the key that encrypts the stored secrets')
    .command('rotate')
    .description('wrap every key of the store by a new master key; the gateway must be stopped')
    .option(
      '--new-key-file <file>',
      'file that holds the new key; - is standard input (default: one is made, where the old one is master.key in the data directory)',
    )
    .action(({ newKeyFile }: RotateOptions) => inOneLine(() => rotate(context.settings(), newKeyFile)));
}

async function rotate(settings: StoredSettings, newKeyFile: string | undefined): Promise<void> {
  const { dataDir } = settings;
  const old = masterKeyOf(settings, 'rotate');
  const text = newKeyFile === undefined ? null : await readSecret(newKeyFile, 'New master key: ');
  const isOwn = settings.masterKey === null;
  await whileStopped(dataDir, async () => {
    await rewrap(settings, old, isOwn ? prepareNextKey(dataDir, text) : given(text));
    if (isOwn) {
      writeLine(`The new master key is in ${dataDir}/master.key; start the gateway.`);
      writeLine(
        `The old one is kept in ${installNextKey(dataDir, old)}: only backups from before need it. Remove it when you need none of them.`,
      );
    } else {
      writeLine(
        'Start the gateway with the new master key. Only backups from before need the old one: remove it when you need none of them.',
      );
    }
  });
}

function given(text: string | null): MasterKey {
  if (text !== null) return parseMasterKey(text, 'the new key file');
  throw new CliError(
    'Name a file with the new master key: --new-key-file <file> (openssl rand -hex 32 makes one).',
    2,
  );
}

/** Reports its progress once a second, and at the end. */
async function rewrap(settings: StoredSettings, old: MasterKey, next: MasterKey): Promise<void> {
  let shownAt = 0;
  let total = 0;
  await rotateMasterKey({ ...settings, masterKey: old }, next, (done, of) => {
    total = done;
    if (done < of && performance.now() - shownAt < 1000) return;
    shownAt = performance.now();
    writeErrorLine(`${done} of ${of} keys are wrapped by the new master key.`);
  });
  if (total === 0) writeErrorLine('Every key is wrapped by the new master key already.');
}
