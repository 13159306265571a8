import { nanosPerDollar } from '../../common/core/budget-rules.js';
import type { SentAlert } from '../../common/ledger/alerts.js';

/** An alert as the administration API and the webhook show it. Amounts of costs are in dollars. */
export function alertMessage(alert: SentAlert) {
  const { holder, holderId, measure, valueKey, endsAt, sentAt } = alert;
  const amount = (value: number): number => (measure === 'cost' ? value / nanosPerDollar : value);
  return {
    id: alert.id,
    object: 'alert' as const,
    event: alert.event,
    created_at: timeOf(alert.at),
    organisation_id: alert.org,
    workspace_id: alert.workspace,
    holder_type: holder,
    // The budget of an integration is that of one workspace, whose id its own ends in.
    holder_id: holder === 'integration' ? (holderId.split(':')[0] ?? holderId) : holderId,
    holder_name: alert.name,
    budget_id: alert.budgetId,
    value_key: valueKey,
    type: measure,
    credit_limit: amount(alert.limit),
    alert_threshold: alert.threshold === null ? null : amount(alert.threshold),
    usage: Math.max(0, amount(alert.used)),
    period_start: timeOf(alert.startsAt),
    period_end: endsAt === null ? null : timeOf(endsAt),
    recipients: alert.recipients,
    delivery: alert.delivery,
    delivery_attempts: alert.tries,
    sent_at: sentAt === null ? null : timeOf(sentAt),
  };
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
