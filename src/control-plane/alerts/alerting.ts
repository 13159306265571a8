import type { LedgerAlerts, SendOutcome, SentAlert } from '../../common/ledger/alerts.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { alertMail } from '../mail/alert-mail.js';
import { closedOutbox, type Outbox } from '../mail/outbox.js';
import type { Store } from '../store/store.js';
import { addresseesOf } from './addressees.js';
import { sendAlert, type WebhookTarget } from './webhook.js';

export interface AlertingOptions {
  readonly alerts: LedgerAlerts;
  readonly store: Store;
  /** Alerts are not mailed unless given. */
  readonly outbox?: Outbox;
  /** null: alerts are not sent there. */
  readonly webhook: WebhookTarget | null;
  readonly log: Logger;
  /** How often new alerts are looked for. */
  readonly everyMs?: number;
  /** A claimed alert that was not settled for so long is sent again: its node has died. More than a call may take. */
  readonly claimMs?: number;
  /** The first wait after a failed call; each next one is three times as long. */
  readonly firstWaitMs?: number;
}

export interface Alerting {
  /** Resolves when what was due at the time of the call was done once. */
  runNow(): Promise<void>;
  /** Calls that are under way are cut off; another node, or the next start, makes them again. */
  stop(): Promise<void>;
}

const usualEveryMs = 1000;
const usualClaimMs = 60_000;
const usualFirstWaitMs = 5000;
const longestWaitMs = 4 * 3_600_000;
/** An alert that was not accepted for so long has failed. */
const givenUpMs = 24 * 3_600_000;
const periodsEveryMs = 30_000;
const pruneEveryMs = 3_600_000;
/** Alerts of one step. Calls of one step run at the same time. */
const batch = 50;
const concurrentCalls = 8;
/** The same problem is logged again after this long. */
const remindMs = 60_000;

/**
 * Closes periods that have ended, fills in the addressees of alerts, and sends them by mail and to the webhook, from
 * every node: each alert is sent by the one that claims it.
 */
export function startAlerting(options: AlertingOptions): Alerting {
  const run = new Run(options);
  let turn: Promise<void> = Promise.resolve();
  const runNow = (): Promise<void> => {
    turn = turn.then(() => run.once());
    return turn;
  };
  let timer: NodeJS.Timeout | null = null;
  const schedule = (): void => {
    timer = setTimeout(() => {
      void runNow().then(() => {
        if (!run.isStopped) schedule();
      });
    }, options.everyMs ?? usualEveryMs).unref();
  };
  schedule();
  return {
    runNow,
    stop() {
      if (timer !== null) clearTimeout(timer);
      run.stop();
      return turn;
    },
  };
}

class Run {
  readonly #stop = new AbortController();
  #periodsAt = 0;
  #prunedAt = 0;
  #problem = '';
  #problemAt = 0;

  constructor(readonly options: AlertingOptions) {}

  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  stop(): void {
    this.#stop.abort();
  }

  async once(): Promise<void> {
    if (this.isStopped) return;
    try {
      await this.#periods();
      await this.#address();
      await this.#send();
    } catch (error) {
      this.#report('Alerts of budgets wait for the ledger or the store.', { err: error });
    }
  }

  async #periods(): Promise<void> {
    const { alerts } = this.options;
    const now = performance.now();
    if (this.#periodsAt !== 0 && now - this.#periodsAt < periodsEveryMs) return;
    await alerts.closePeriods(Date.now());
    this.#periodsAt = now;
    if (this.#prunedAt !== 0 && now - this.#prunedAt < pruneEveryMs) return;
    await alerts.prune(Date.now());
    this.#prunedAt = now;
  }

  async #address(): Promise<void> {
    const { alerts, store, outbox = closedOutbox, webhook } = this.options;
    for (;;) {
      const found = await alerts.unaddressed(batch);
      for (const alert of found) {
        const addressees = await addresseesOf(store, alert);
        // Before the ledger has them: cut off in between, it is added again, which changes nothing.
        await outbox.add(alertMail(alert, addressees));
        await alerts.address(alert.id, addressees, webhook !== null);
      }
      if (found.length < batch || this.isStopped) return;
    }
  }

  async #send(): Promise<void> {
    const { alerts, webhook, claimMs = usualClaimMs } = this.options;
    if (webhook === null) return;
    while (!this.isStopped) {
      const now = Date.now();
      const claimed = await alerts.claim(now, now + claimMs, concurrentCalls);
      await Promise.all(claimed.map((alert) => this.#sendOne(webhook, alert)));
      if (claimed.length < concurrentCalls) return;
    }
  }

  async #sendOne(webhook: WebhookTarget, alert: SentAlert): Promise<void> {
    const { alerts, log } = this.options;
    const reason = await sendAlert(webhook, alert, this.#stop.signal);
    // Cut off: whether it has arrived is not known, so it is sent again.
    if (reason !== null && this.isStopped) return;
    const outcome = reason === null ? { is: 'sent' as const, at: Date.now() } : this.#retry(alert);
    if (outcome.is === 'failed') {
      log.error({ alert: alert.id, reason }, 'An alert was not accepted by the webhook for 24 hours.');
    } else if (outcome.is === 'retry') {
      this.#report('The webhook of alerts did not accept one; it is tried again.', { reason });
    }
    await alerts.settle(alert.id, outcome);
  }

  #retry({ at, tries }: SentAlert): SendOutcome {
    const { firstWaitMs = usualFirstWaitMs } = this.options;
    const wait = Math.min(longestWaitMs, firstWaitMs * 3 ** Math.min(20, tries - 1));
    // Alerts of one moment do not all come back at one.
    const notBefore = Date.now() + Math.round(wait * (0.9 + 0.2 * Math.random()));
    return notBefore > at + givenUpMs ? { is: 'failed' } : { is: 'retry', notBefore };
  }

  #report(message: string, fields: object): void {
    const now = performance.now();
    if (message === this.#problem && now - this.#problemAt < remindMs) return;
    this.#problem = message;
    this.#problemAt = now;
    this.options.log.warn(fields, message);
  }
}
