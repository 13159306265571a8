import type { Alerting } from '../../control-plane/alerts/alerting.js';
import { RefusedStart } from '../../control-plane/store/files/refused-start.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { LedgerGiven } from './ledger.js';
import type { MailGiven } from './mail.js';
import type { Records } from './store.js';

/** Alerts of budgets: who gets them, by mail, and the webhook. */
export const alertsPart: ProcessPart<
  Base & Records & LedgerGiven & MailGiven,
  { readonly alerting: Alerting }
> = {
  name: 'alerts',
  async start({ settings, store, ledger: { alerts }, outbox, log }) {
    const { startAlerting } = await import('../../control-plane/alerts/alerting.js');
    const { alertWebhook: url, alertWebhookSecret: secret } = settings;
    if ((url === null) !== (secret === null)) {
      throw new RefusedStart('alert_webhook and alert_webhook_secret go together: set both, or neither.');
    }
    const webhook = url === null || secret === null ? null : { url, secret };
    return { alerting: startAlerting({ alerts, store, outbox, webhook, log }) };
  },
  stop: ({ alerting }) => alerting.stop(),
};
