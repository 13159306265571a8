import { emailKey } from '../../../../common/access/email.js';
import type { ScimComparison, ScimCondition } from '../../records/scim-conditions.js';

/** A condition as SQL, with the values of its question marks. */
interface Piece {
  readonly text: string;
  readonly values: readonly (string | number | boolean)[];
}

/** Attributes as expressions of SQL, by their names. Text is compared in lower case. */
export interface ScimColumns {
  readonly [attribute: string]: { readonly sql: string; readonly as: keyof typeof forms };
}

const patternOf = (text: string): string => text.replace(/[\\%_]/g, '\\$&');
const signs = { eq: '=', ne: '<>', gt: '>', ge: '>=', lt: '<', le: '<=' } as const;

type Form = (sql: string, comparison: ScimComparison) => Piece;

/** `column` is text in lower case already. */
function inText(column: string, { op, value }: ScimComparison, read = (text: string) => text): Piece {
  const text = read(String(value));
  const like = (pattern: string): Piece => ({
    text: `${column} LIKE lower(?) ESCAPE '\\'`,
    values: [pattern],
  });
  if (op === 'pr') return { text: `${column} <> ''`, values: [] };
  if (op === 'co') return like(`%${patternOf(text)}%`);
  if (op === 'sw') return like(`${patternOf(text)}%`);
  if (op === 'ew') return like(`%${patternOf(text)}`);
  return { text: `${column} ${signs[op]} lower(?)`, values: [text] };
}

const ordered: Form = (sql, { op, value }) =>
  op === 'pr'
    ? { text: '1 = 1', values: [] }
    : { text: `${sql} ${signs[op as keyof typeof signs]} ?`, values: [value as number | boolean] };

const lineFeed = '\n';
const framed: Partial<Record<ScimComparison['op'], (text: string) => string>> = {
  eq: (text) => `%${lineFeed}${text}${lineFeed}%`,
  sw: (text) => `%${lineFeed}${text}%`,
  ew: (text) => `%${text}${lineFeed}%`,
  co: (text) => `%${text}%`,
};

const forms = {
  text: (sql, comparison) => inText(`lower(coalesce(${sql}, ''))`, comparison),
  /** Kept in the form in which addresses are compared. */
  email: (sql, comparison) => inText(sql, comparison, comparison.op === 'eq' ? emailKey : undefined),
  exact: (sql, { op, value }) => {
    const column = `coalesce(${sql}, '')`;
    if (op === 'pr') return { text: `${column} <> ''`, values: [] };
    const text = String(value);
    if (op === 'eq') return { text: `${sql} = ?`, values: [text] };
    // LIKE minds case in one of the databases alone.
    if (op === 'sw') return { text: `substr(${column}, 1, ?) = ?`, values: [[...text].length, text] };
    if (op === 'co') return { text: `replace(${column}, ?, '') <> ${column}`, values: [text] };
    if (op === 'ew')
      return {
        text: `length(${column}) >= ? AND substr(${column}, length(${column}) - ?) = ?`,
        values: [[...text].length, [...text].length - 1, text],
      };
    return { text: `${column} ${signs[op]} ?`, values: [text] };
  },
  ordered,
  /** Lines between line feeds. */
  lines: (sql, { op, value }) => {
    if (op === 'pr') return { text: '1 = 1', values: [] };
    const frame = framed[op === 'ne' ? 'eq' : op];
    if (frame === undefined) return { text: '1 = 0', values: [] };
    const text = patternOf(op === 'eq' || op === 'ne' ? emailKey(String(value)) : String(value));
    const not = op === 'ne' ? 'NOT ' : '';
    return { text: `${sql} ${not}LIKE lower(?) ESCAPE '\\'`, values: [frame(text)] };
  },
  /** A subquery that ends where the id is compared: `EXISTS (… AND x = `. */
  related: (sql, { op, value }) => {
    if (op === 'pr') return { text: `EXISTS (${sql} IS NOT NULL)`, values: [] };
    return { text: `${op === 'ne' ? 'NOT ' : ''}EXISTS (${sql} = ?)`, values: [String(value)] };
  },
} satisfies Record<string, Form>;

/** The condition as SQL. Throws for an attribute that has no column: callers have checked them. */
export function scimSql(condition: ScimCondition, columns: ScimColumns): Piece {
  if (condition.op === 'not') {
    const { text, values } = scimSql(condition.condition, columns);
    return { text: `NOT (${text})`, values };
  }
  if ('conditions' in condition) {
    const pieces = condition.conditions.map((one) => scimSql(one, columns));
    return {
      text: pieces.map(({ text }) => `(${text})`).join(condition.op === 'and' ? ' AND ' : ' OR '),
      values: pieces.flatMap(({ values }) => values),
    };
  }
  const column = columns[condition.attribute];
  if (column === undefined) throw new Error(`no column has the attribute ${condition.attribute}`);
  return forms[column.as](column.sql, condition);
}
