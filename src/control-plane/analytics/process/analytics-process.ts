import { chmodSync } from 'node:fs';
import { setPriority } from 'node:os';
import { Answering, type QuestionMessage } from '../duckdb/answering.js';
import { analyticsPath, Follower } from '../duckdb/follower.js';

/** The process that answers questions about what passed through the gateway (`process-analytics.ts` starts it). */

const [dataDir = ''] = process.argv.slice(2);

/** Requests come first. */
const niceness = 15;

/** Milliseconds for closing the file: a kill does it no harm either. */
const closeMs = 3000;

/** DuckDB answers nothing more after such an error, as of a full disk: another process opens the file again. */
const isFatal = ({ message }: Error): boolean => /^FATAL|has been invalidated/.test(message);

async function main(): Promise<void> {
  // Only the control process ends it: a terminal sends these to all of its processes.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  try {
    setPriority(niceness);
  } catch {
    // A system without priorities.
  }
  // DuckDB gives its files the usual mode.
  process.umask(0o077);
  closeToOthers(analyticsPath(dataDir));
  const send = (message: object): void => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
  };
  // Also while the file is opened: a process that stays keeps the file locked for the one that the next gateway starts.
  let close = async (): Promise<void> => {};
  process.on('disconnect', () => {
    setTimeout(() => process.exit(1), closeMs).unref();
    close().finally(() => process.exit(0));
  });
  // It was disconnected while this code was loaded.
  if (!process.connected) process.exit(0);
  const answering = new Answering(await Follower.open(dataDir), (error) => {
    // What follows is text of callers.
    const message = error.message.replace(/\s+Input: [\s\S]*/, '');
    const warning = { warning: `${error.name}: ${message}` };
    if (!isFatal(error)) send(warning);
    else if (process.connected) process.send?.(warning, undefined, undefined, () => process.exit(1));
  });
  process.on('message', (asked: QuestionMessage) => {
    answering.answer(asked).then(send);
  });
  close = () => answering.close();
  send({ isReady: true });
}

/** A file that was made with another mode. */
function closeToOthers(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch {
    // It does not exist yet, or belongs to another user.
  }
}

main().catch((error: Error) => {
  process.send?.({ warning: error.message }, () => process.exit(1));
});
