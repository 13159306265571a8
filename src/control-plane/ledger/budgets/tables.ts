import type { Language } from './language.js';

/**
 * Tables of budgets. A counter is a budget in one period; `id` is made of the budget's name, which begins with the organisation
 * and may be longer than an index takes. Amounts are in the unit of the budget.
 *
 * `budget_node_usage`: a counter by node. `budget_course`: by hour or day. `budget_alerts`: what is to be sent; at most one
 * for an event, a limit (or threshold) and a period, or what is left of that after a reset.
 */
export const budgetTables = ({ text, integer, changing }: Language): string => `
  CREATE TABLE budget_counters (
    id ${text} NOT NULL,
    starts_at ${integer} NOT NULL,
    org ${text} NOT NULL,
    workspace ${text},
    budget ${text} NOT NULL,
    holder ${text} NOT NULL,
    holder_id ${text} NOT NULL,
    value_key ${text},
    measure ${text} NOT NULL,
    ends_at ${integer},
    "limit" ${integer} NOT NULL,
    threshold ${integer},
    used ${integer} NOT NULL,
    resets ${integer} NOT NULL,
    reset_at ${integer},
    closed_at ${integer},
    threshold_alert_at ${integer},
    threshold_alert_of ${integer},
    exhausted_alert_at ${integer},
    exhausted_alert_of ${integer},
    first_charge_at ${integer} NOT NULL,
    updated_at ${integer} NOT NULL,
    PRIMARY KEY (id, starts_at)
  ) ${changing};
  CREATE INDEX budget_counters_holder ON budget_counters (org, holder_id, starts_at);
  CREATE INDEX budget_counters_ends ON budget_counters (ends_at) WHERE closed_at IS NULL;
  CREATE INDEX budget_counters_closed ON budget_counters (closed_at) WHERE closed_at IS NOT NULL;
  CREATE TABLE budget_node_usage (
    id ${text} NOT NULL,
    starts_at ${integer} NOT NULL,
    node ${text} NOT NULL,
    used ${integer} NOT NULL,
    PRIMARY KEY (id, starts_at, node)
  ) ${changing};
  CREATE TABLE budget_course (
    id ${text} NOT NULL,
    starts_at ${integer} NOT NULL,
    at ${integer} NOT NULL,
    used ${integer} NOT NULL,
    PRIMARY KEY (id, starts_at, at)
  ) ${changing};
  CREATE INDEX budget_course_at ON budget_course (at);
  CREATE TABLE budget_alerts (
    id ${text} NOT NULL PRIMARY KEY,
    at ${integer} NOT NULL,
    org ${text} NOT NULL,
    event ${text} NOT NULL,
    value ${integer} NOT NULL,
    budget_id ${text} NOT NULL,
    starts_at ${integer} NOT NULL,
    resets ${integer} NOT NULL,
    budget ${text} NOT NULL,
    holder ${text} NOT NULL,
    holder_id ${text} NOT NULL,
    value_key ${text},
    measure ${text} NOT NULL,
    ends_at ${integer},
    "limit" ${integer} NOT NULL,
    threshold ${integer},
    used ${integer} NOT NULL,
    workspace ${text},
    name ${text},
    recipients ${text},
    delivery ${text} NOT NULL,
    tries ${integer} NOT NULL,
    due_at ${integer},
    sent_at ${integer},
    UNIQUE (budget_id, starts_at, resets, event, value)
  );
  CREATE INDEX budget_alerts_org ON budget_alerts (org, at, id);
  CREATE INDEX budget_alerts_unaddressed ON budget_alerts (id) WHERE recipients IS NULL;
  CREATE INDEX budget_alerts_due ON budget_alerts (due_at) WHERE delivery = 'pending';`;

/** Names of the tables, in the order in which they are copied. */
export const budgetTableNames = [
  'budget_counters',
  'budget_node_usage',
  'budget_course',
  'budget_alerts',
] as const;
