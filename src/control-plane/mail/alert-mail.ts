import { type BudgetMeasure, nanosPerDollar } from '../../common/core/budget-rules.js';
import type {
  AlertAddressees,
  AnomalyAlert,
  AnomalyMetric,
  BudgetAlert,
  BudgetEvent,
  LedgerAlert,
} from '../../common/ledger/alerts.js';
import type { MailKind, NewMail } from '../store/store.js';
import { timeText } from './mail-values.js';

const kinds: Readonly<Record<BudgetEvent, MailKind>> = {
  threshold: 'budget_threshold',
  exhausted: 'budget_exhausted',
  reset: 'budget_reset',
};

const sentences: Readonly<Record<BudgetEvent, string>> = {
  threshold: 'has reached its alert threshold',
  exhausted: 'is used up: further requests are refused until it is reset or raised',
  reset: 'starts again at 0',
};

const subjects: Readonly<Record<BudgetEvent, string>> = {
  threshold: 'Budget threshold reached',
  exhausted: 'Budget used up',
  reset: 'Budget reset',
};

const holders: Readonly<Record<BudgetAlert['holder'], string>> = {
  api_key: 'key',
  workspace: 'workspace',
  virtual_key: 'provider',
  integration: 'integration',
  usage_limits_policy: 'usage-limits policy',
};

function amountOf(value: number, measure: BudgetMeasure): string {
  if (measure !== 'cost') return `${Math.max(0, value)} ${measure}`;
  const dollars = Math.max(0, value) / nanosPerDollar;
  return `$${dollars >= 0.01 || dollars === 0 ? dollars.toFixed(2) : dollars.toPrecision(2)}`;
}

const anomalies: Readonly<Record<AnomalyMetric, string>> = {
  cost: 'The cost',
  errors: 'The share of errors',
  latency: 'The latency',
  traffic: 'The number of requests',
};

const number = (value: number): string => String(Math.round(value * 100) / 100);

const figures: Readonly<Record<AnomalyMetric, (value: number) => string>> = {
  cost: (cents) => `$${(cents / 100).toFixed(2)} in five minutes`,
  errors: (percent) => `${number(percent)} %`,
  latency: (ms) => `${number(ms)} ms`,
  traffic: (requests) => `${number(requests)} in five minutes`,
};

/** An alert, to its addressees. */
export function alertMail(alert: LedgerAlert, addressees: AlertAddressees): NewMail {
  return {
    organisationId: alert.org,
    workspaceId: alert.workspace,
    event: `alert:${alert.id}`,
    resourceId: alert.id,
    recipients: addressees.recipients,
    ...(alert.event === 'anomaly' ? ofAnomaly(alert, addressees) : ofBudget(alert, addressees)),
  };
}

function ofAnomaly(
  { workspace, metric, value, expected, from }: AnomalyAlert,
  { name }: AlertAddressees,
): Pick<NewMail, 'kind' | 'content'> {
  const what = `the workspace ${name ?? workspace}`;
  return {
    kind: 'anomaly',
    content: {
      subject: `Unusual ${metric}: ${name ?? workspace}`,
      paragraphs: [`${anomalies[metric]} of ${what} differs from the same hours of past weeks.`],
      facts: [
        ['Now', figures[metric](value)],
        ['Usual', figures[metric](expected)],
        ['Since', timeText(from)],
      ],
    },
  };
}

function ofBudget(alert: BudgetAlert, { name }: AlertAddressees): Pick<NewMail, 'kind' | 'content'> {
  const { event, measure, holder, holderId, threshold, endsAt, valueKey } = alert;
  const what = `${holders[holder]} ${name ?? holderId}`;
  return {
    kind: kinds[event],
    content: {
      subject: `${subjects[event]}: ${what}`,
      paragraphs: [`The budget of the ${what} ${sentences[event]}.`],
      facts: [
        ['Used', amountOf(alert.used, measure)],
        ['Limit', amountOf(alert.limit, measure)],
        ...(threshold === null ? [] : [['Threshold', amountOf(threshold, measure)] as const]),
        ...(valueKey === null ? [] : [['Group', valueKey] as const]),
        ['Period', `${timeText(alert.startsAt)} to ${endsAt === null ? 'open end' : timeText(endsAt)}`],
        ['Time', timeText(alert.at)],
      ],
    },
  };
}
