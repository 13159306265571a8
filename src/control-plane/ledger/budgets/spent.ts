import type { BudgetCounter, CounterSums } from '../../../common/ledger/budgets.js';
import type { SpentBudgets, SpentListener } from '../../../common/plugin-host/control.js';
import type { BudgetLedger, LedgerBatch } from '../ledger.js';

export interface SpentOptions {
  readonly ledger: BudgetLedger;
  /** Id of this node. */
  readonly node: string;
  readonly isShared: boolean;
}

/** Passes on to the counters of budgets what the ledger has got, in an order that counts nothing twice. */
export class Spent implements SpentBudgets {
  #listener: SpentListener | null = null;
  /** What processes of earlier runs have written comes first. */
  #ready: Promise<void> = Promise.resolve();
  /** Batches and questions for sums, one after the other: a sum has all that was passed on before, and nothing that is passed on later. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(readonly options: SpentOptions) {
    options.ledger.budgets.onReset(async (org, counter) => this.#listener?.reset(org, counter));
  }

  get node(): string {
    return this.options.node;
  }

  get isShared(): boolean {
    return this.options.isShared;
  }

  listen(listener: SpentListener): void {
    this.#listener = listener;
  }

  /** Sums are not answered before. */
  waitFor(ready: Promise<void>): void {
    this.#ready = ready.catch(() => {});
  }

  async sums(organisationId: string, counters: readonly BudgetCounter[]): Promise<readonly CounterSums[]> {
    await this.#ready;
    return this.#inTurn(() => this.options.ledger.budgets.sums(organisationId, counters));
  }

  /** A batch of rows that one process has written. */
  apply(pid: number, batch: LedgerBatch): Promise<void> {
    return this.#inTurn(async () => {
      const charged = await this.options.ledger.apply(batch);
      if (charged.length > 0) this.#listener?.charged(pid, charged);
    });
  }

  /** Every batch of a process that has ended was applied. */
  ended(pid: number): void {
    this.#listener?.ended(pid);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }
}
