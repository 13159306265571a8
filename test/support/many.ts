import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import type { Place, Store } from '../../src/control-plane/store/store.js';

/** Hash of the key of that number. */
export const hashOf = (i: number): string => `many-${i}`;

/** Rows of one statement: those of a store have 5 s each. */
const pieceOf = 10_000;

/** So many keys more, each like one that is there. */
export async function addKeys(database: Database, count: number): Promise<void> {
  await database.write(async (sql) => {
    const template = await sql('api_keys').whereNotNull('workspace_id').first();
    const own: Readonly<Record<string, string>> = {
      id: "'key-' || i",
      hash: "'many-' || i",
      name: "'Key ' || i",
    };
    const columns = Object.keys(template);
    const values = columns.map((column) => own[column] ?? column);
    for (let from = 1; from <= count; from += pieceOf) {
      const to = Math.min(count, from + pieceOf - 1);
      await sql.raw(
        `INSERT INTO api_keys (${columns.join(', ')})
         WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to})
         SELECT ${values.join(', ')} FROM api_keys, n WHERE api_keys.id = ?`,
        [template.id],
      );
    }
  });
}

/** Configs `pc-many-1`, `pc-many-2`, …, in one unit of work. */
export function addConfigs(store: Store, place: Place, count: number): Promise<void> {
  return store.unit(place.organisationId, async () => {
    for (let i = 1; i <= count; i++)
      await store.configs.create(place, {
        slug: `pc-many-${i}`,
        name: `Config ${i}`,
        text: '{"retry":{"attempts":1}}',
      });
  });
}
