import { nanosPerDollar } from '../../common/core/budget-rules.js';
import type { AnomalyAlert, BudgetAlert, SentAlert } from '../../common/ledger/alerts.js';

/** An anomaly as the administration API and the webhook show it. */
export const anomalyMessage = ({ id, at, workspace, metric, value, expected, from, to }: AnomalyAlert) => ({
  id,
  object: 'anomaly' as const,
  workspace_id: workspace,
  metric,
  value,
  expected,
  started_at: timeOf(from),
  last_seen_at: timeOf(to),
  created_at: timeOf(at),
});

/** An alert as the administration API and the webhook show it. Amounts of costs are in dollars. */
export function alertMessage(alert: SentAlert) {
  return {
    id: alert.id,
    object: 'alert' as const,
    event: alert.event,
    created_at: timeOf(alert.at),
    organisation_id: alert.org,
    workspace_id: alert.workspace,
    holder_name: alert.name,
    ...(alert.event === 'anomaly' ? ofAnomaly(alert) : ofBudget(alert)),
    recipients: alert.recipients,
    delivery: alert.delivery,
    delivery_attempts: alert.tries,
    sent_at: alert.sentAt === null ? null : timeOf(alert.sentAt),
  };
}

const ofAnomaly = (alert: AnomalyAlert) => ({
  holder_type: 'workspace' as const,
  holder_id: alert.workspace,
  budget_id: '',
  value_key: null,
  type: alert.metric,
  credit_limit: 0,
  alert_threshold: null,
  usage: 0,
  period_start: timeOf(alert.from),
  period_end: null,
  anomaly: anomalyMessage(alert),
});

function ofBudget(alert: BudgetAlert) {
  const { holder, holderId, measure, valueKey, endsAt } = alert;
  const amount = (value: number): number => (measure === 'cost' ? value / nanosPerDollar : value);
  return {
    holder_type: holder,
    // The budget of an integration is that of one workspace, whose id its own ends in.
    holder_id: holder === 'integration' ? (holderId.split(':')[0] ?? holderId) : holderId,
    budget_id: alert.budgetId,
    value_key: valueKey,
    type: measure,
    credit_limit: amount(alert.limit),
    alert_threshold: alert.threshold === null ? null : amount(alert.threshold),
    usage: Math.max(0, amount(alert.used)),
    period_start: timeOf(alert.startsAt),
    period_end: endsAt === null ? null : timeOf(endsAt),
    anomaly: null,
  };
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
