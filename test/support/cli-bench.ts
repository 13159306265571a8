import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type AdminPlane, startPlane } from './admin-plane.js';
import { type Ran, withoutSettings } from './command.js';

export type Json = Record<string, unknown>;

/**
 * Runs `headgate …` inside of this process, which is quick, with the settings of those variables, in that folder. Standard
 * input is the test's own.
 */
export async function headgateHere(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = process.cwd(),
): Promise<Ran> {
  // Imported as the program imports its own parts, so that there is one of each.
  const { run } = await import('../../src/cli/program.js');
  const { log, error } = console;
  const { stdout, stderr } = process;
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  const into = (pieces: Buffer[]) => (piece: string | Uint8Array) => pieces.push(Buffer.from(piece)) > 0;
  const line = (pieces: Buffer[]) => (text: string) => void pieces.push(Buffer.from(`${text}\n`));
  const writes = [stdout.write, stderr.write] as const;
  const { env: variables, exitCode } = process;
  const before = process.cwd();
  process.env = { ...withoutSettings, ...env };
  process.chdir(cwd);
  Object.assign(console, { log: line(out), error: line(err) });
  Object.assign(stdout, { write: into(out) });
  Object.assign(stderr, { write: into(err) });
  try {
    const code = await run(args);
    return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
  } finally {
    process.chdir(before);
    Object.assign(process, { env: variables, exitCode });
    Object.assign(console, { log, error });
    Object.assign(stdout, { write: writes[0] });
    Object.assign(stderr, { write: writes[1] });
  }
}

/** What is typed: text is taken apart at its spaces, a list is words as they are. */
export type Words = string | readonly string[];

export const wordsOf = (typed: readonly Words[]): string[] =>
  typed.flatMap((part) => (typeof part === 'string' ? part.split(' ') : part));

/** An administration plane, and commands typed at it with its first admin key. */
export interface CliBench {
  readonly plane: AdminPlane;
  readonly folder: string;
  /** `host:port` of its gRPC. */
  readonly address: string;
  type(...typed: readonly Words[]): Promise<Ran>;
  /** Types what must work; gives what it prints for programs. */
  read(...typed: readonly Words[]): Promise<Json>;
  /** The same, of a list. */
  rows(...typed: readonly Words[]): Promise<Json[]>;
  /** Types what must be refused; gives the one line that says so. */
  fails(exitCode: number, ...typed: readonly Words[]): Promise<string>;
  /** A file of that text. */
  file(text: string): string;
  close(): Promise<void>;
}

export async function startCliBench(): Promise<CliBench> {
  const plane = await startPlane();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-cli-'));
  let files = 0;
  const file = (text: string): string => {
    const path = join(folder, String(++files));
    writeFileSync(path, text);
    return path;
  };
  const address = `127.0.0.1:${plane.server.port}`;
  const keyFile = file(plane.first.admin_key);
  const type = (...typed: readonly Words[]): Promise<Ran> =>
    headgateHere([...wordsOf(typed), '--address', address, '--admin-key-file', keyFile]);
  const printed = async (typed: readonly Words[]): Promise<unknown> => {
    const { code, stdout, stderr } = await type(...typed, '--json');
    expect([code, stderr], wordsOf(typed).join(' ')).to.deep.equal([0, '']);
    expect(stdout.trimEnd().split('\n')).to.have.length(1);
    return JSON.parse(stdout);
  };
  return {
    plane,
    folder,
    address,
    type,
    file,
    read: async (...typed) => (await printed(typed)) as Json,
    rows: async (...typed) => (await printed(typed)) as Json[],
    async fails(exitCode, ...typed) {
      const { code, stdout, stderr } = await type(...typed);
      expect([code, stdout], stderr).to.deep.equal([exitCode, '']);
      expect(stderr.trimEnd().split('\n'), stderr).to.have.length(1);
      return stderr.trimEnd();
    },
    async close() {
      await plane.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
