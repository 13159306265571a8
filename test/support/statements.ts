import pg from 'pg';
import sqlite3 from 'sqlite3';

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Ends this process before it sends its database the statement of that number; 0 lets it live. Returns their count. */
export function killBefore(killAt: number): () => number {
  let statements = 0;
  const counted = (owner: object, name: string): void => {
    const methods = owner as Record<string, Method>;
    const method = methods[name]!;
    methods[name] = function (...args) {
      statements += 1;
      if (statements === killAt) process.kill(process.pid, 'SIGKILL');
      return method.apply(this, args);
    };
  };
  counted(sqlite3.Statement.prototype, 'run');
  counted(sqlite3.Statement.prototype, 'all');
  counted(pg.Client.prototype, 'query');
  return () => statements;
}
