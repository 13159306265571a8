import {
  type AskedCourse,
  type BudgetCounter,
  type BudgetPage,
  type BudgetUsageRow,
  type CounterCourse,
  type CounterSums,
  type CoursePoint,
  type LedgerBudgets,
  type PolicyBudgetsFilter,
  resetsNode,
} from '../../../common/ledger/budgets.js';
import { writeAlerts } from './alert-rows.js';
import { courseAt, courseWidth } from './charge-sums.js';
import { budgetId, type CounterRow, usageOf } from './counter-rows.js';
import { type BudgetDatabase, rowsParameter, type Step } from './language.js';

interface CourseRow extends Pick<CounterRow, 'budget' | 'starts_at' | 'ends_at'> {
  readonly total: number;
  /** Of a point; null: there is none. */
  readonly at: number | null;
  readonly used: number | null;
}

const dayMs = 86_400_000;

/** Budgets in the tables of a ledger. */
export class Budgets implements LedgerBudgets {
  readonly #database: BudgetDatabase;
  readonly #onReset: ((org: string, counter: BudgetCounter) => Promise<void>)[] = [];
  readonly #asked: string;

  constructor(database: BudgetDatabase) {
    this.#database = database;
    this.#asked = database.language.rowsOf('?2', { id: 'text', starts_at: 'integer' });
  }

  async sums(org: string, counters: readonly BudgetCounter[]): Promise<CounterSums[]> {
    const rows = await this.#database.read<Pick<CounterRow, 'id' | 'starts_at' | 'used'> & { node: string }>(
      `SELECT c.id, c.starts_at, u.node, u.used FROM ${this.#asked} AS asked
        JOIN budget_counters AS c ON c.id = asked.id AND c.starts_at = asked.starts_at
        JOIN budget_node_usage AS u ON u.id = c.id AND u.starts_at = c.starts_at
        WHERE c.org = ?1`,
      [org, keysOf(counters)],
    );
    const byKey = new Map<string, Map<string, number>>();
    for (const { id, starts_at, node, used } of rows) {
      const key = `${id} ${starts_at}`;
      const byNode = byKey.get(key);
      if (byNode === undefined) byKey.set(key, new Map([[node, used]]));
      else byNode.set(node, used);
    }
    return counters.flatMap(({ budget, startsAt }) => {
      const byNode = byKey.get(`${budgetId(budget)} ${startsAt}`);
      return byNode === undefined ? [] : [{ budget, startsAt, byNode }];
    });
  }

  async usage(org: string, counters: readonly BudgetCounter[]): Promise<BudgetUsageRow[]> {
    const rows = await this.#database.read<CounterRow>(
      `SELECT c.* FROM ${this.#asked} AS asked
        JOIN budget_counters AS c ON c.id = asked.id AND c.starts_at = asked.starts_at WHERE c.org = ?1`,
      [org, keysOf(counters)],
    );
    return rows.map(usageOf);
  }

  async ofPolicy(
    org: string,
    policyId: string,
    startsAt: number,
    { status, search }: PolicyBudgetsFilter,
    { offset, limit }: BudgetPage,
  ): Promise<{ rows: BudgetUsageRow[]; total: number }> {
    const values: unknown[] = [org, policyId, startsAt];
    const where = [ofPolicy];
    if (status !== undefined) {
      values.push(status.limit);
      where.push(`used ${status.is === 'exhausted' ? '>=' : '<'} ?${values.length}`);
    }
    if (search !== undefined && search !== '') {
      values.push(`%${search.replaceAll('\0', '\ufffd').replace(/[\\%_]/g, '\\$&')}%`);
      where.push(`lower(value_key) LIKE lower(?${values.length}) ESCAPE '\\'`);
    }
    const from = `FROM budget_counters WHERE ${where.join(' AND ')}`;
    const [counted] = await this.#database.read<{ total: number }>(
      `SELECT count(*) AS total ${from}`,
      values,
    );
    const rows = await this.#database.read<CounterRow>(
      `SELECT * ${from} ORDER BY value_key, id LIMIT ?${values.length + 1} OFFSET ?${values.length + 2}`,
      [...values, limit, offset],
    );
    return { rows: rows.map(usageOf), total: counted?.total ?? 0 };
  }

  async find(org: string, policyId: string, startsAt: number, id: string): Promise<BudgetUsageRow | null> {
    const [row] = await this.#database.read<CounterRow>(
      `SELECT * FROM budget_counters WHERE ${ofPolicy} AND id = ?4`,
      [org, policyId, startsAt, id],
    );
    return row === undefined ? null : usageOf(row);
  }

  onReset(listener: (org: string, counter: BudgetCounter) => Promise<void>): void {
    this.#onReset.push(listener);
  }

  async reset(org: string, counter: BudgetCounter, at: number): Promise<'missing' | undefined> {
    const answer = await this.#reset(org, counter, at);
    if (answer !== 'missing') await Promise.all(this.#onReset.map((listener) => listener(org, counter)));
    return answer;
  }

  #reset(org: string, { budget, startsAt }: BudgetCounter, at: number): Promise<'missing' | undefined> {
    const { language } = this.#database;
    const id = budgetId(budget);
    return this.#database.transaction(async (step) => {
      const [counter] = await step<CounterRow>(
        `SELECT * FROM budget_counters WHERE org = ?1 AND id = ?2 AND starts_at = ?3 ${language.forUpdate}`,
        [org, id, startsAt],
      );
      if (counter === undefined) return 'missing';
      const { used, ends_at: endsAt } = counter;
      await step(
        `UPDATE budget_counters SET used = 0, resets = resets + 1, reset_at = ?3, updated_at = ?3,
          threshold_alert_at = NULL, threshold_alert_of = NULL, threshold_alert_limit = NULL,
          exhausted_alert_at = NULL, exhausted_alert_of = NULL
          WHERE id = ?1 AND starts_at = ?2`,
        [id, startsAt, at],
      );
      for (const [table, column, value] of [
        ['budget_node_usage', 'node', resetsNode],
        ['budget_course', 'at', courseAt(at, startsAt, endsAt)],
      ]) {
        await step(
          `INSERT INTO ${table} (id, starts_at, ${column}, used) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (id, starts_at, ${column}) DO UPDATE SET used = ${table}.used + excluded.used`,
          [id, startsAt, value, -used],
        );
      }
      await writeAlerts(language, step, [{ event: 'reset', value: 0, counter }], at);
      return undefined;
    });
  }

  ended(org: string, budget: string, at: number): Promise<void> {
    const { language } = this.#database;
    return this.#database.transaction(async (step) => {
      const open = await step<CounterRow>(
        `SELECT * FROM budget_counters WHERE org = ?1 AND id = ?2 AND starts_at < ?3 AND closed_at IS NULL
          ORDER BY starts_at ${language.forUpdate}`,
        [org, budgetId(budget), at],
      );
      await closeCounters(this.#database, step, open, at);
    });
  }

  async courses(org: string, asked: readonly AskedCourse[]): Promise<CounterCourse[]> {
    const counters = this.#database.language.rowsOf('?2', {
      id: 'text',
      starts_at: 'integer',
      after: 'integer',
    });
    // The hour or day of `since` begins at most a day before it.
    const wanted = asked.map(({ budget, startsAt, since }) => [budgetId(budget), startsAt, since - dayMs]);
    // From the end: the oldest parts of a long course are deleted.
    const rows = await this.#database.read<CourseRow>(
      `SELECT c.budget, c.starts_at, c.ends_at, c.used AS total, p.at, p.used FROM ${counters} AS asked
        JOIN budget_counters AS c ON c.id = asked.id AND c.starts_at = asked.starts_at
        LEFT JOIN budget_course AS p ON p.id = c.id AND p.starts_at = c.starts_at AND p.at > asked.after
        WHERE c.org = ?1 ORDER BY c.id, c.starts_at, p.at DESC`,
      [org, rowsParameter(wanted)],
    );
    const courses: { budget: string; startsAt: number; before: number; points: CoursePoint[] }[] = [];
    for (const { budget, starts_at: startsAt, ends_at, total, at, used } of rows) {
      let course = courses.at(-1);
      if (course?.budget !== budget || course.startsAt !== startsAt) {
        course = { budget, startsAt, before: total, points: [] };
        courses.push(course);
      }
      if (at === null || used === null) continue;
      course.points.push({ at: at + courseWidth(startsAt, ends_at), used: course.before });
      course.before -= used;
    }
    for (const { points } of courses) points.reverse();
    return courses;
  }
}

const ofPolicy = "org = ?1 AND holder = 'usage_limits_policy' AND holder_id = ?2 AND starts_at = ?3";

const keysOf = (counters: readonly BudgetCounter[]): string =>
  rowsParameter(counters.map(({ budget, startsAt }) => [budgetId(budget), startsAt]));

/** Marks the periods of these counters as ended, and writes the alert `reset` of those in which something was used. */
export async function closeCounters(
  { language }: BudgetDatabase,
  step: Step,
  counters: readonly CounterRow[],
  at: number,
): Promise<void> {
  if (counters.length === 0) return;
  await step(
    `UPDATE budget_counters SET closed_at = ?1
      FROM ${language.rowsOf('?2', { id: 'text', starts_at: 'integer' })} AS ended
      WHERE budget_counters.id = ended.id AND budget_counters.starts_at = ended.starts_at`,
    [at, rowsParameter(counters.map(({ id, starts_at }) => [id, starts_at]))],
  );
  const events = counters
    .filter(({ used }) => used > 0)
    .map((counter) => ({ event: 'reset' as const, value: 0, counter }));
  await writeAlerts(language, step, events, at);
}
