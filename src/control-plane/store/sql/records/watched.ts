import type { Database } from '../connection/driver.js';

/** The same database. `changed` is called when a transaction that was written to through it is on disk. */
export const watched = (database: Database, changed: () => void): Database => ({
  dialect: database.dialect,
  name: database.name,
  get state() {
    return database.state;
  },
  suspect: () => database.suspect(),
  read: (work) => database.read(work),
  write: (work, options) =>
    database.write((sql) => {
      database.afterCommit(changed);
      return work(sql);
    }, options),
  afterCommit: (then) => database.afterCommit(then),
  announce: (sql) => database.announce(sql),
  onCommitElsewhere: (wake) => database.onCommitElsewhere(wake),
  isServed: (sql) => database.isServed(sql),
  close: () => database.close(),
});
