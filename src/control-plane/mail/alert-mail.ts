import { type BudgetMeasure, nanosPerDollar } from '../../common/core/budget-rules.js';
import type { AlertAddressees, AlertEvent, BudgetAlert } from '../../common/ledger/alerts.js';
import type { MailKind, NewMail } from '../store/store.js';
import { timeText } from './mail-values.js';

const kinds: Readonly<Record<AlertEvent, MailKind>> = {
  threshold: 'budget_threshold',
  exhausted: 'budget_exhausted',
  reset: 'budget_reset',
};

const sentences: Readonly<Record<AlertEvent, string>> = {
  threshold: 'has reached its alert threshold',
  exhausted: 'is used up: further requests are refused until it is reset or raised',
  reset: 'starts again at 0',
};

const subjects: Readonly<Record<AlertEvent, string>> = {
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

/** What happened to a budget, to its addressees. */
export function alertMail(alert: BudgetAlert, { name, recipients }: AlertAddressees): NewMail {
  const { event, measure, holder, holderId, threshold, endsAt, valueKey } = alert;
  const what = `${holders[holder]} ${name ?? holderId}`;
  return {
    organisationId: alert.org,
    workspaceId: alert.workspace,
    kind: kinds[event],
    event: `alert:${alert.id}`,
    resourceId: alert.id,
    recipients,
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
