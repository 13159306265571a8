import type { Client } from 'pg';
import type { LedgerBatch } from '../ledger.js';
import { within } from './connections.js';
import { dayStart, givenColumns, givenList, quoted, stage } from './schema.js';

/**
 * Of rows that may be there already: a settlement takes the place of an unknown row, of all others the first counts.
 * Returns how many were not there.
 */
export async function takeStaged(
  client: Client,
  [from, to]: readonly [from: number, to: number],
): Promise<number> {
  const first = `SELECT DISTINCT ON (id) * FROM ${stage} ORDER BY id, state, n`;
  const values = givenColumns.map((name) => `${quoted(name)} = arrived.${quoted(name)}`).join(', ');
  const results = await within(
    client,
    client.query(`ANALYZE ${stage};
        UPDATE exchanges AS present SET tx = pg_current_xact_id(), ${values} FROM (${first}) AS arrived
          WHERE present.id = arrived.id AND present.at >= ${from} AND present.at < ${to}
            AND present.at = arrived.at AND present.state = 1 AND arrived.state = 0;
        INSERT INTO exchanges (${givenList}) SELECT ${givenList} FROM (${first}) AS arrived
          WHERE NOT EXISTS (SELECT 1 FROM exchanges AS present
            WHERE present.id = arrived.id AND present.at >= ${from} AND present.at < ${to})`),
  );
  // One for each of the statements.
  return (results as unknown as readonly { readonly rowCount: number | null }[]).at(-1)?.rowCount ?? 0;
}

/** Statements for what a batch changes beside its rows, in one text: one way to the server and back. */
export function bookkeeping(
  client: Client,
  name: string,
  positions: LedgerBatch['positions'],
  closed: readonly string[],
): string {
  const text = (value: string): string => client.escapeLiteral(value);
  const node = text(name);
  const statements: string[] = [];
  for (const [source, position] of positions) {
    statements.push(
      position === null
        ? `DELETE FROM journal_positions WHERE node = ${node} AND source = ${text(source)};`
        : `INSERT INTO journal_positions VALUES (${node}, ${text(source)}, ${Math.trunc(position)})
              ON CONFLICT (node, source) DO UPDATE SET position = excluded.position;`,
    );
  }
  if (closed.length > 0) {
    statements.push(
      `DELETE FROM open_intents WHERE node = ${node} AND id IN (${closed.map(text).join(', ')});`,
    );
  }
  return statements.join(' ');
}

/** From the start of the first of these days up to the end of the last. */
export const timesOf = (days: ReadonlySet<number>): [from: number, to: number] => [
  dayStart(Math.min(...days)),
  dayStart(Math.max(...days) + 1),
];
