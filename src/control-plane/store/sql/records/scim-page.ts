import type { Listed, Page } from '../../records/place.js';
import type { ScimQuery } from '../../records/scim-conditions.js';
import type { Sql } from '../connection/driver.js';
import { type ScimColumns, scimSql } from './scim-conditions.js';

/** The rows of an organisation that a SCIM query leaves, of one page, and how many there are on all. */
export async function scimPage<Row>(
  sql: Sql,
  table: 'users' | 'scim_groups',
  columns: ScimColumns,
  organisationId: string,
  query: ScimQuery,
  page: Page,
): Promise<Listed<Row>> {
  const wanted = sql(table).where({ organisation_id: organisationId });
  if (query.condition !== null) {
    const { text, values } = scimSql(query.condition, columns);
    wanted.whereRaw(`(${text})`, [...values]);
  }
  const count = await wanted.clone().count('* as total').first();
  const total = Number(count?.['total']);
  if (page.limit === 0 || page.offset >= total) return { total, rows: [] };
  const rows: Row[] = await wanted
    .orderByRaw(orderOf(query, columns, table))
    .offset(page.offset)
    .limit(page.limit);
  return { total, rows };
}

function orderOf({ sortBy, descending }: ScimQuery, of: ScimColumns, table: string): string {
  const direction = descending ? 'DESC' : 'ASC';
  const column = sortBy === null ? undefined : of[sortBy];
  if (column === undefined || column.as === 'related') return `${table}.created_at ${direction}, ${table}.id`;
  return `${column.sql} ${direction}, ${table}.created_at, ${table}.id`;
}
