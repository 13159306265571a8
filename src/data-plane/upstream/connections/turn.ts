import type { Connection } from './connection.js';

type Then = (connection: Connection) => void;

/** Each connection is followed by the function to call with it. */
let waiting: (Connection | Then)[] = [];

/**
 * Calls back after the event loop has next handled the system's socket events: one immediate for all that
 * ask within a turn.
 */
export function afterPoll(connection: Connection, then: Then): void {
  if (waiting.length === 0) setImmediate(turn);
  waiting.push(connection, then);
}

function turn(): void {
  const called = waiting;
  waiting = [];
  for (let i = 0; i < called.length; i += 2) (called[i + 1] as Then)(called[i] as Connection);
}
