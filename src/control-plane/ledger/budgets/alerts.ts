import type {
  AlertAddressees,
  AlertFilter,
  AnomalyAlert,
  AnomalyFilter,
  FoundAnomaly,
  LedgerAlert,
  LedgerAlerts,
  SendOutcome,
  SentAlert,
} from '../../../common/ledger/alerts.js';
import type { BudgetPage } from '../../../common/ledger/budgets.js';
import type { LogSight } from '../../../common/ledger/logs/log-sight.js';
import { type AlertRow, alertOf, anomalyOf, sentAlertOf, writeAnomaly } from './alert-rows.js';
import { closeCounters } from './budgets.js';
import type { CounterRow } from './counter-rows.js';
import { type BudgetDatabase, rowsParameter } from './language.js';

/** Periods that are closed in one transaction. */
const batchPeriods = 500;
/** Milliseconds. Counters of periods that ended earlier are deleted, and so are alerts. */
const keptMs = 400 * 86_400_000;
/** The course of a budget that never ends is kept for so long. */
const courseKeptMs = 92 * 86_400_000;

/** The alerts in the tables of a ledger. */
export class Alerts implements LedgerAlerts {
  readonly #database: BudgetDatabase;

  constructor(database: BudgetDatabase) {
    this.#database = database;
  }

  async list(
    org: string,
    { event, holder, holderId, workspace, keys, since }: AlertFilter,
    page: BudgetPage,
  ): Promise<{ alerts: SentAlert[]; total: number }> {
    const values: unknown[] = [org];
    const where = ['org = ?1', 'recipients IS NOT NULL'];
    const equal = { event, holder, workspace };
    for (const [column, value] of Object.entries(equal)) {
      if (value === undefined) continue;
      values.push(value);
      where.push(`${column} = ?${values.length}`);
    }
    if (holderId !== undefined) {
      values.push(holderId);
      // That of an integration has a workspace after it.
      const given = `?${values.length}`;
      where.push(`(holder_id = ${given} OR substr(holder_id, 1, 37) = ${given} || ':')`);
    }
    if (keys !== undefined) {
      values.push(rowsParameter(keys.map((key) => [key])));
      const own = this.#database.language.rowsOf(`?${values.length}`, { id: 'text' });
      where.push(`holder = 'api_key' AND holder_id IN (SELECT id FROM ${own} AS own)`);
    }
    if (since !== undefined) {
      values.push(since);
      where.push(`at >= ?${values.length}`);
    }
    const { rows, total } = await this.#page(where, values, page);
    return { alerts: rows.map(sentAlertOf), total };
  }

  /** Newest first. */
  async #page(
    where: readonly string[],
    values: readonly unknown[],
    { offset, limit }: BudgetPage,
  ): Promise<{ rows: AlertRow[]; total: number }> {
    const from = `FROM budget_alerts WHERE ${where.join(' AND ')}`;
    const [counted] = await this.#database.read<{ total: number }>(
      `SELECT count(*) AS total ${from}`,
      values,
    );
    const rows = await this.#database.read<AlertRow>(
      `SELECT * ${from} ORDER BY at DESC, id DESC LIMIT ?${values.length + 1} OFFSET ?${values.length + 2}`,
      [...values, limit, offset],
    );
    return { rows, total: counted?.total ?? 0 };
  }

  writeAnomaly(found: FoundAnomaly, now: number): Promise<boolean> {
    const { language } = this.#database;
    return this.#database.transaction((step) => writeAnomaly(language, step, found, now));
  }

  async listAnomalies(
    { org, workspaces, except, keys }: LogSight,
    { metric, since }: AnomalyFilter,
    page: BudgetPage,
  ): Promise<{ anomalies: AnomalyAlert[]; total: number }> {
    if (keys !== null) return { anomalies: [], total: 0 };
    const values: unknown[] = [org];
    const where = ["org = ?1 AND event = 'anomaly'"];
    const add = (value: unknown): string => `?${values.push(value)}`;
    const among = (list: readonly string[]): string =>
      `workspace IN (SELECT id FROM ${this.#database.language.rowsOf(add(rowsParameter(list.map((id) => [id]))), { id: 'text' })} AS listed)`;
    if (workspaces !== null) where.push(among(workspaces));
    if (except.length > 0) where.push(`NOT ${among(except)}`);
    if (metric !== undefined) where.push(`measure = ${add(metric)}`);
    if (since !== undefined) where.push(`at >= ${add(since)}`);
    const { rows, total } = await this.#page(where, values, page);
    return { anomalies: rows.map(anomalyOf), total };
  }

  async closePeriods(now: number): Promise<number> {
    const { language } = this.#database;
    const any = 'SELECT 1 FROM budget_counters WHERE closed_at IS NULL AND ends_at <= ?1 LIMIT 1';
    let closed = 0;
    for (;;) {
      if ((await this.#database.read(any, [now])).length === 0) return closed;
      const count = await this.#database.transaction(async (step) => {
        const ended = await step<CounterRow>(
          `SELECT * FROM budget_counters WHERE closed_at IS NULL AND ends_at <= ?1
            ORDER BY id, starts_at LIMIT ${batchPeriods} ${language.forUpdateOfFree}`,
          [now],
        );
        await closeCounters(this.#database, step, ended, now);
        return ended.length;
      });
      closed += count;
      if (count < batchPeriods) return closed;
    }
  }

  async prune(now: number): Promise<void> {
    const { language } = this.#database;
    const keys = language.rowsOf('?1', { id: 'text', starts_at: 'integer' });
    await this.#database.transaction(async (step) => {
      const old = await step<Pick<CounterRow, 'id' | 'starts_at'>>(
        `SELECT id, starts_at FROM budget_counters WHERE closed_at < ?1
          ORDER BY id, starts_at LIMIT ${batchPeriods} ${language.forUpdateOfFree}`,
        [now - keptMs],
      );
      if (old.length > 0) {
        const parameter = rowsParameter(old.map(({ id, starts_at }) => [id, starts_at]));
        for (const table of ['budget_course', 'budget_node_usage', 'budget_counters']) {
          await step(
            `DELETE FROM ${table} WHERE (id, starts_at) IN (SELECT id, starts_at FROM ${keys} AS old)`,
            [parameter],
          );
        }
      }
      await step('DELETE FROM budget_course WHERE at < ?1', [now - courseKeptMs]);
      await step('DELETE FROM budget_alerts WHERE at < ?1', [now - keptMs]);
    });
  }

  async unaddressed(limit: number): Promise<LedgerAlert[]> {
    const rows = await this.#database.read<AlertRow>(
      'SELECT * FROM budget_alerts WHERE recipients IS NULL ORDER BY id LIMIT ?1',
      [limit],
    );
    return rows.map(alertOf);
  }

  async address(id: string, { name, recipients }: AlertAddressees, isSent: boolean): Promise<void> {
    await this.#database.transaction((step) =>
      step(
        `UPDATE budget_alerts SET name = ?2, recipients = ?3, delivery = ?4, due_at = at
          WHERE id = ?1 AND recipients IS NULL`,
        [id, name, JSON.stringify(recipients), isSent ? 'pending' : 'none'],
      ),
    );
  }

  async claim(now: number, until: number, limit: number): Promise<SentAlert[]> {
    const { language } = this.#database;
    const any = "SELECT 1 FROM budget_alerts WHERE delivery = 'pending' AND due_at <= ?1 LIMIT 1";
    if ((await this.#database.read(any, [now])).length === 0) return [];
    const rows = await this.#database.transaction((step) =>
      step<AlertRow>(
        `UPDATE budget_alerts SET due_at = ?2, tries = tries + 1 WHERE id IN (
          SELECT id FROM budget_alerts WHERE delivery = 'pending' AND due_at <= ?1
            ORDER BY due_at, id LIMIT ?3 ${language.forUpdateOfFree}) RETURNING *`,
        [now, until, limit],
      ),
    );
    return rows.map(sentAlertOf).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async settle(id: string, outcome: SendOutcome): Promise<void> {
    await this.#database.transaction((step) => {
      if (outcome.is === 'retry') {
        return step("UPDATE budget_alerts SET due_at = ?2 WHERE id = ?1 AND delivery = 'pending'", [
          id,
          outcome.notBefore,
        ]);
      }
      return step(
        "UPDATE budget_alerts SET delivery = ?2, sent_at = ?3 WHERE id = ?1 AND delivery = 'pending'",
        [id, outcome.is, outcome.is === 'sent' ? outcome.at : null],
      );
    });
  }
}
