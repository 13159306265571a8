import type { Message } from '../../../proto/codec.js';
import type { FieldShape, Shape } from '../../../proto/shape.js';
import { printable } from './output.js';
import { table } from './table.js';

/** What answers look like to people. Programs take --json. */

/** Parts of an answer that are not shown. */
const envelope: ReadonlySet<string> = new Set(['object', 'success', 'total', 'total_count']);
/** Not worth a column. */
const dull: ReadonlySet<string> = new Set([
  'created_by',
  'description',
  'etag',
  'format',
  'id',
  'last_updated_at',
  'object',
  'organisation_id',
  'owner_id',
  'slug',
  'updated_by',
]);
const mostColumns = 8;
const widestCell = 48;

/** The one part of an answer that it is about, where there is one; null: all of it is. */
export function heartOf(shape: Shape): FieldShape | null {
  const [field, ...others] = shape.fields.filter(({ name }) => !envelope.has(name));
  if (field?.kind !== 'message' || others.length > 0 || field.map) return null;
  return field.list || field.name === 'data' ? field : null;
}

/** Six digits; of a whole number all of them, since it may be counted on. */
const short = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(6)));

function text(field: FieldShape, value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (field.kind === 'timestamp') return `${String(value).slice(0, 16)}Z`;
  if (field.kind === 'double') return String(short(Number(value)));
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

const isPlain = ({ kind, list, map }: FieldShape): boolean =>
  !list && !map && !['message', 'struct', 'value', 'bytes', 'mask'].includes(kind);

/** What a table shows for an empty value: a dash. */
export const cell = (value: unknown): string =>
  value === undefined || value === null || value === '' ? '-' : String(value);

/** A column of a table: its heading, and what a row has in it. */
export type Column = readonly [heading: string, cell: (row: Message) => string];

function columnsOf(shape: Shape): Column[] {
  const name = shape.field('slug') ?? shape.field('id');
  const others = shape.fields.filter((field) => isPlain(field) && !dull.has(field.name));
  // When it was made is read last.
  const made = others.filter((field) => field.name === 'created_at');
  const rest = others.filter((field) => field.name !== 'created_at');
  return [...(name === undefined ? [] : [name]), ...rest, ...made].map((field) => [
    field.name.replaceAll('_', ' ').toUpperCase(),
    (row) => text(field, row[field.name]),
  ]);
}

const cut = (cell: string): string => (cell.length > widestCell ? `${cell.slice(0, widestCell - 1)}…` : cell);

/** Rows as a table. Columns that are empty in all rows are left out. */
export function listing(shape: Shape, rows: readonly Message[], columns = columnsOf(shape)): string {
  const said = columns.filter(([, cell], i) => i === 0 || rows.some((row) => cell(row) !== '-'));
  const shown = (rows.length === 0 ? columns : said).slice(0, mostColumns);
  return table(
    shown.map(([heading]) => heading),
    rows.map((row) => shown.map(([, cell], i) => (i === 0 ? cell(row) : cut(cell(row))))),
  );
}

function isSaid(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

type Flat = Readonly<Record<string, string | number | boolean | null>>;

/** Is it a row of a table that fits a line? */
const isFlat = (item: unknown): item is Flat =>
  typeof item === 'object' &&
  item !== null &&
  Object.keys(item).length <= mostColumns &&
  Object.values(item).every((value) => typeof value !== 'object' || value === null);

/** Points of a graph and the like: a column for each name that a row has. */
function flatTable(rows: readonly Flat[]): string[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== 'object');
  const shown = (value: Flat[string] | undefined): string =>
    cell(typeof value === 'number' ? short(value) : value);
  return table(
    names.map((name) => name.replaceAll('_', ' ').toUpperCase()),
    rows.map((row) => names.map((name) => shown(row[name]))),
  ).split('\n');
}

function lines(value: unknown): string[] {
  if (typeof value !== 'object') return [printable(String(value))];
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return [value.map((item) => printable(String(item))).join(', ')];
  if (Array.isArray(value) && value.every(isFlat)) return flatTable(value);
  return JSON.stringify(value, null, 2).split('\n').map(printable);
}

/** A record as a line for each field that it has. */
export function record(json: Readonly<Record<string, unknown>>): string {
  const said = Object.entries(json).filter(([name, value]) => name !== 'object' && isSaid(value));
  const width = Math.max(...said.map(([name]) => name.length));
  return said
    .flatMap(([name, value]) =>
      lines(value).map((line, i) => `${(i === 0 ? name : '').padEnd(width)}  ${line}`),
    )
    .join('\n');
}

/** Names of the secrets that an answer brings, wherever in it they are. */
export function secretsIn(shape: Shape, value: Message): string[] {
  return shape.fields.flatMap((field) => {
    const inner = value[field.name];
    if (!isSaid(inner)) return [];
    if (field.rules.secret === true) return [field.name.replaceAll('_', ' ')];
    if (field.kind !== 'message' || field.map) return [];
    return [inner].flat().flatMap((item) => secretsIn(field.message!, item as Message));
  });
}
