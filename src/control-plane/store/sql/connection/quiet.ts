import type { Knex } from 'knex';

const silent = (): void => {};

/** knex prints nothing, and its errors do not quote a statement's values: sealed credentials are among them. */
export const quiet: Pick<Knex.Config, 'compileSqlOnError' | 'log'> = {
  compileSqlOnError: false,
  log: { warn: silent, error: silent, debug: silent, deprecate: silent },
};
