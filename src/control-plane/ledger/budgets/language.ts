/** Runs a statement, whose parameters are `?1`, `?2`, …, and gives its rows; whole numbers come as numbers. */
export type Step = <Row>(statement: string, parameters: readonly unknown[]) => Promise<Row[]>;

/** Where budgets are kept: one of the databases of the ledger. */
export interface BudgetDatabase {
  readonly language: Language;
  readonly read: Step;
  /** All steps or none, one transaction after the other. */
  transaction<T>(work: (step: Step) => Promise<T>): Promise<T>;
}

export type ColumnType = 'text' | 'integer';
type RowColumns = Readonly<Record<string, ColumnType>>;

/** What differs between SQLite and PostgreSQL in the statements over budgets. */
export interface Language {
  readonly text: string;
  readonly integer: string;
  /** After the columns of a table whose rows are changed all the time, of other columns than those of its indexes. */
  readonly changing: string;
  /** Of a `SELECT`: its rows are about to be changed, in its order. */
  readonly forUpdate: string;
  /** The same, without rows that another transaction is about to change. */
  readonly forUpdateOfFree: string;
  readonly least: string;
  /** Does no other process write to it? */
  readonly isExclusive: boolean;
  /** The table that a parameter has as JSON: an array with an array for each row. */
  rowsOf(parameter: string, columns: RowColumns): string;
}

export const sqliteLanguage: Language = {
  text: 'TEXT',
  integer: 'INTEGER',
  changing: '',
  forUpdate: '',
  forUpdateOfFree: '',
  least: 'min',
  isExclusive: true,
  rowsOf: (parameter, columns) =>
    `(SELECT ${Object.keys(columns)
      .map((name, i) => `value ->> ${i} AS "${name}"`)
      .join(', ')} FROM jsonb_each(${parameter}))`,
};

export const postgresLanguage: Language = {
  text: 'text COLLATE "C"',
  integer: 'bigint',
  // Room for the next version of a row on its page: its indexes then stay as they are.
  changing: 'WITH (fillfactor = 70)',
  forUpdate: 'FOR UPDATE',
  forUpdateOfFree: 'FOR UPDATE SKIP LOCKED',
  least: 'least',
  isExclusive: false,
  rowsOf: (parameter, columns) =>
    `(SELECT ${Object.entries(columns)
      .map(
        ([name, type], i) =>
          `(value ->> ${i})::${type === 'integer' ? 'bigint' : 'text COLLATE "C"'} AS "${name}"`,
      )
      .join(', ')} FROM json_array_elements(${parameter}::json))`,
};

/** A statement with PostgreSQL's parameters. */
export const numbered = (statement: string): string => statement.replace(/\?(\d+)/g, '$$$1');

/** Rows as a parameter for `rowsOf`. PostgreSQL keeps no NUL in a text. */
export function rowsParameter(rows: readonly (readonly unknown[])[]): string {
  const text = JSON.stringify(rows);
  // The escapes of a NUL, and of half a character: nearly never there.
  if (!/\\u(?:0000|d[89a-f])/.test(text)) return text;
  return JSON.stringify(rows, (_key, value) =>
    typeof value === 'string' ? Buffer.from(value.replaceAll('\0', '\ufffd')).toString() : value,
  );
}
