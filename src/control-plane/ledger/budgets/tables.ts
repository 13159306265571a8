import type { ColumnType, Language } from './language.js';

/** Columns of a table by their names; `!`: never null. */
type Columns = Readonly<Record<string, ColumnType | `${ColumnType}!`>>;

interface Table {
  readonly columns: Columns;
  readonly key: readonly string[];
  /** Are its rows changed all the time, in columns that no index has? */
  readonly isChanging: boolean;
  /** What of two rows of one key is added up; null: the first stays. */
  readonly sum: 'used' | null;
}

/**
 * Tables of budgets. A counter is a budget in one period; `id` is made of the budget's name, which begins with the organisation
 * and may be longer than an index takes. Amounts are in the unit of the budget.
 *
 * `budget_node_usage`: a counter by node. `budget_course`: by hour or day. `budget_alerts`: what is to be sent; at most one
 * for an event, a limit (and threshold) and a period, or what is left of that after a reset.
 */
export const budgetTables = {
  budget_counters: {
    columns: {
      id: 'text!',
      starts_at: 'integer!',
      org: 'text!',
      workspace: 'text',
      budget: 'text!',
      holder: 'text!',
      holder_id: 'text!',
      value_key: 'text',
      measure: 'text!',
      ends_at: 'integer',
      limit: 'integer!',
      threshold: 'integer',
      used: 'integer!',
      resets: 'integer!',
      reset_at: 'integer',
      closed_at: 'integer',
      threshold_alert_at: 'integer',
      threshold_alert_of: 'integer',
      threshold_alert_limit: 'integer',
      exhausted_alert_at: 'integer',
      exhausted_alert_of: 'integer',
      first_charge_at: 'integer!',
      updated_at: 'integer!',
    },
    key: ['id', 'starts_at'],
    isChanging: true,
    sum: 'used',
  },
  budget_node_usage: {
    columns: { id: 'text!', starts_at: 'integer!', node: 'text!', used: 'integer!' },
    key: ['id', 'starts_at', 'node'],
    isChanging: true,
    sum: 'used',
  },
  budget_course: {
    columns: { id: 'text!', starts_at: 'integer!', at: 'integer!', used: 'integer!' },
    key: ['id', 'starts_at', 'at'],
    isChanging: true,
    sum: 'used',
  },
  budget_alerts: {
    columns: {
      id: 'text!',
      at: 'integer!',
      org: 'text!',
      event: 'text!',
      value: 'integer!',
      budget_id: 'text!',
      starts_at: 'integer!',
      resets: 'integer!',
      budget: 'text!',
      holder: 'text!',
      holder_id: 'text!',
      value_key: 'text',
      measure: 'text!',
      ends_at: 'integer',
      limit: 'integer!',
      threshold: 'integer',
      used: 'integer!',
      workspace: 'text',
      name: 'text',
      recipients: 'text',
      delivery: 'text!',
      tries: 'integer!',
      due_at: 'integer',
      sent_at: 'integer',
    },
    key: ['budget_id', 'starts_at', 'resets', 'event', 'value', 'limit'],
    isChanging: false,
    sum: null,
  },
} as const satisfies Readonly<Record<string, Table>>;

export type BudgetTableName = keyof typeof budgetTables;
type ColumnName<Name extends BudgetTableName> = Extract<keyof (typeof budgetTables)[Name]['columns'], string>;
export const budgetTableNames = Object.keys(budgetTables) as BudgetTableName[];

const quoted = (name: string): string => `"${name}"`;
const typeOf = (type: string): ColumnType => (type.startsWith('text') ? 'text' : 'integer');

/** The types of some columns of a table, in this order. */
export function columnTypes<Name extends BudgetTableName, Column extends ColumnName<Name>>(
  name: Name,
  columns: readonly Column[],
): Readonly<Record<Column, ColumnType>> {
  const types: Columns = budgetTables[name].columns;
  return Object.fromEntries(columns.map((column) => [column, typeOf(types[column]!)])) as Record<
    Column,
    ColumnType
  >;
}

/** The statements that make the tables. */
export function createBudgets(language: Language): string {
  const tables = budgetTableNames.map((name) => {
    const { columns, key, isChanging }: Table = budgetTables[name];
    const lines = Object.entries(columns).map(
      ([column, type]) =>
        `${quoted(column)} ${language[typeOf(type)]}${type.endsWith('!') ? ' NOT NULL' : ''}`,
    );
    return `CREATE TABLE ${name} (${lines.join(', ')}, PRIMARY KEY (${key.map(quoted).join(', ')}))
      ${isChanging ? language.changing : ''};`;
  });
  return `${tables.join('\n')}
    CREATE INDEX budget_counters_holder ON budget_counters (org, holder_id, starts_at);
    CREATE INDEX budget_counters_ends ON budget_counters (ends_at) WHERE closed_at IS NULL;
    CREATE INDEX budget_counters_closed ON budget_counters (closed_at) WHERE closed_at IS NOT NULL;
    CREATE INDEX budget_course_at ON budget_course (at);
    CREATE UNIQUE INDEX budget_alerts_id ON budget_alerts (id);
    CREATE INDEX budget_alerts_org ON budget_alerts (org, at, id);
    CREATE INDEX budget_alerts_unaddressed ON budget_alerts (id) WHERE recipients IS NULL;
    CREATE INDEX budget_alerts_due ON budget_alerts (due_at) WHERE delivery = 'pending';`;
}

/** Adds rows of another ledger's table, given as `?1`: what two rows of one key have is added up. */
export function insertTaken(language: Language, name: BudgetTableName): string {
  const { columns, key, sum }: Table = budgetTables[name];
  const list = Object.keys(columns).map(quoted).join(', ');
  const types = Object.fromEntries(Object.entries(columns).map(([column, type]) => [column, typeOf(type)]));
  const conflict = sum === null ? 'DO NOTHING' : `DO UPDATE SET ${sum} = ${name}.${sum} + excluded.${sum}`;
  return `INSERT INTO ${name} (${list}) SELECT ${list} FROM ${language.rowsOf('?1', types)} AS taken
    WHERE true ORDER BY ${key.map(quoted).join(', ')} ON CONFLICT (${key.map(quoted).join(', ')}) ${conflict}`;
}
