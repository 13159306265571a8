import { spawn } from 'node:child_process';
import { mainFile } from './gateway.js';

/** The environment without settings of whoever runs the tests. */
export const withoutSettings: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(HEADGATE_|(LEDGER_)?DATABASE_URL$|REDIS_URL$|SMTP_URL$)/.test(name),
  ),
);

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. */
export function run(
  command: string,
  args: readonly string[],
  {
    env = {},
    cwd,
    input = '',
  }: { env?: Readonly<Record<string, string>>; cwd?: string; input?: string } = {},
): Promise<Ran> {
  return new Promise((done) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env } });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (text: Buffer) => {
      stdout += text.toString();
    });
    child.stderr.on('data', (text: Buffer) => {
      stderr += text.toString();
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('close', (code) => done({ code, stdout, stderr }));
  });
}

/** Runs `headgate …` as built, with the settings of those variables. */
export const headgate = (
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  input = '',
): Promise<Ran> => run(process.execPath, [mainFile, ...args], { env, input });
