import pg from 'pg';
import sqlite3 from 'sqlite3';

type Method = (this: unknown, ...args: unknown[]) => unknown;

export interface Steps {
  /** One beside the statements. */
  step(): void;
  count(): number;
}

/**
 * Ends this process at the step of that number; 0 lets it live. Each statement that is sent to the database from here on is
 * a step, before it is sent.
 */
export function killAtStep(killAt: number): Steps {
  let steps = 0;
  const step = (): void => {
    steps += 1;
    if (steps === killAt) process.kill(process.pid, 'SIGKILL');
  };
  const counted = (owner: object, name: string): void => {
    const methods = owner as Record<string, Method>;
    const method = methods[name]!;
    methods[name] = function (...args) {
      step();
      return method.apply(this, args);
    };
  };
  counted(sqlite3.Statement.prototype, 'run');
  counted(sqlite3.Statement.prototype, 'all');
  counted(pg.Client.prototype, 'query');
  return { step, count: () => steps };
}

/** Ends this process before it sends its database the statement of that number; 0 lets it live. Returns their count. */
export const killBefore = (killAt: number): (() => number) => killAtStep(killAt).count;
