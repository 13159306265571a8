import { expect } from 'chai';
import type { Knex } from 'knex';
import { SqlWriter } from '../../src/control-plane/store/sql/connection/sqlite/writer.js';

/** A connection that notes what it is told; what begins with `failing` fails the `at`th time. */
function connection(failing: string, at: number) {
  const said: string[] = [];
  let times = 0;
  const client = {
    acquireConnection: async () => client,
    releaseConnection: async () => {},
    query: async (_connection: object, text: string) => {
      said.push(text);
      if (text.startsWith(failing) && ++times === at) throw new Error('the disk is in pain');
    },
  };
  return { said, writer: new SqlWriter({ client } as unknown as Knex) };
}

describe('changes that share a commit', () => {
  it('are all refused where a savepoint cannot be set: the one before it must not be undone and reported as done', async () => {
    const { said, writer } = connection('SAVEPOINT', 2);
    const ends = await Promise.allSettled([1, 2, 3].map((n) => writer.transaction(async () => n)));
    expect(ends.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected', 'rejected']);
    expect(said).to.deep.equal(['BEGIN IMMEDIATE', 'SAVEPOINT unit', 'SAVEPOINT unit', 'ROLLBACK']);
  });

  it('are done where all goes well', async () => {
    const { said, writer } = connection('nothing', 1);
    expect(await Promise.all([1, 2, 3].map((n) => writer.transaction(async () => n)))).to.deep.equal([
      1, 2, 3,
    ]);
    expect(said.at(-1)).to.equal('COMMIT');
  });
});
