import type { AdminMethod } from '../../../../proto/tree.js';

/** Names and values of a request: reading and checking them takes the control process at worst a few microseconds each. */
const mostValues = 30_000;
/** Of requests that have thousands of records in them. */
const mostInBulk = 400_000;

/** Services and methods with such requests. */
const bulk: readonly string[] = [
  'Documents.',
  'Feedback.CreateFeedback',
  'Integrations.UpdateIntegrationModels',
  'Integrations.UpdateIntegrationWorkspaces',
  'Logs.',
  'Reconciliations.ReconcileUsage',
  'Requests.',
  'Scim',
];

/** How many names and values a request of the method may have. */
export const mostValuesOf = ({ name }: AdminMethod): number =>
  bulk.some((start) => name.startsWith(start)) ? mostInBulk : mostValues;
