import type { Client } from 'pg';
import type { Transaction } from './driver.js';

const channel = 'headgate_changes';
/** Statement by which a transaction wakes the listeners of its schema when it commits. */
export const notify = `SELECT pg_notify('${channel}', current_schema())`;

/** Shared by the listeners of a schema for as long as they live. */
const listenersLock = "hashtext('headgate gateway'), hashtext(current_schema())";

/** Is there a listener? None is added before the transaction ends. */
export async function isListenedTo(sql: Transaction): Promise<boolean> {
  const { rows } = await sql.raw(`SELECT pg_try_advisory_xact_lock(${listenersLock}) AS alone`);
  return rows[0]?.alone !== true;
}

/** A wake-up may be lost with its connection: so often one comes by itself. */
const pollMs = 1000;

/** Calls `wake` at every notification, and every second. Returns how to stop. */
export function listen(open: () => Client, wake: () => void): () => void {
  let client: Client | null = null;
  let connecting = false;
  let stopped = false;

  const drop = (gone: Client): void => {
    if (client === gone) client = null;
    gone.end().catch(() => {});
  };

  async function connect(): Promise<void> {
    const made = open();
    made.on('error', () => drop(made));
    made.on('end', () => drop(made));
    try {
      await made.connect();
      const { rows } = await made.query<{ schema: string }>('SELECT current_schema() AS schema');
      made.on('notification', ({ payload }) => {
        if (payload === rows[0]?.schema) wake();
      });
      await made.query(`SELECT pg_advisory_lock_shared(${listenersLock})`);
      await made.query(`LISTEN ${channel}`);
    } catch {
      drop(made);
      return;
    }
    if (stopped) drop(made);
    else client = made;
  }

  const tick = (): void => {
    wake();
    if (client !== null || connecting) return;
    connecting = true;
    connect().finally(() => {
      connecting = false;
    });
  };
  tick();
  const timer = setInterval(tick, pollMs);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
    if (client !== null) drop(client);
  };
}
