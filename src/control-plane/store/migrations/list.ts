import { up as keysProvidersConfigs } from './0001-keys-providers-configs.js';
import { up as unitsOfWork } from './0002-units-of-work.js';
import { up as apiKeys } from './0003-api-keys.js';
import { up as peopleAndPlaces } from './0004-people-and-places.js';
import { up as policiesGuardrailsLabels } from './0005-policies-guardrails-labels.js';
import { up as integrations } from './0006-integrations.js';
import { up as secretsOfConfigs } from './0007-secrets-of-configs.js';
import { up as secretsOfGuardrails } from './0008-secrets-of-guardrails.js';
import { up as emailKeys } from './0009-email-keys.js';
import { up as compatibleVersions } from './0010-compatible-versions.js';
import { up as nodes } from './0011-nodes.js';
import { up as schedules } from './0012-schedules.js';
import { up as shadowLimits } from './0013-shadow-limits.js';
import { up as shadowBudgets } from './0014-shadow-budgets.js';
import { up as modelPrices } from './0015-model-prices.js';
import { up as resetTimes } from './0016-reset-times.js';
import { up as partnerPlugins } from './0017-partner-plugins.js';
import { up as savedFilters } from './0018-saved-filters.js';
import { up as logExports } from './0019-log-exports.js';
import { up as authSettings } from './0020-auth-settings.js';
import { up as sessions } from './0021-sessions.js';
import { up as scim } from './0022-scim.js';
import { up as mails } from './0023-mails.js';
import { up as secretReferences } from './0024-secret-references.js';
import { up as appliedFiles } from './0025-applied-files.js';
import { up as exportFiles } from './0027-export-files.js';
import { up as keySets } from './0028-key-sets.js';
import { up as keyCreators } from './0030-key-creators.js';
import type { Migration } from './migration.js';

/**
 * Every step from an empty store to today's, in order. Only ever added to. Programs that know less than version 10 refuse
 * every newer store.
 */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'keys, providers, configs', kind: 'contract', up: keysProvidersConfigs },
  { version: 2, name: 'units of work', kind: 'contract', up: unitsOfWork },
  { version: 3, name: 'api keys', kind: 'contract', up: apiKeys },
  { version: 4, name: 'people and places', kind: 'contract', up: peopleAndPlaces },
  { version: 5, name: 'policies, guardrails, labels', kind: 'contract', up: policiesGuardrailsLabels },
  { version: 6, name: 'integrations', kind: 'contract', up: integrations },
  { version: 7, name: 'secrets of configs', kind: 'contract', up: secretsOfConfigs },
  { version: 8, name: 'secrets of guardrails', kind: 'contract', up: secretsOfGuardrails },
  { version: 9, name: 'e-mail keys', kind: 'contract', up: emailKeys },
  { version: 10, name: 'compatible versions', kind: 'expand', up: compatibleVersions },
  { version: 11, name: 'nodes', kind: 'expand', up: nodes },
  { version: 12, name: 'schedules', kind: 'expand', up: schedules },
  { version: 13, name: 'limits in shadow', kind: 'expand', up: shadowLimits },
  { version: 14, name: 'budgets in shadow', kind: 'expand', up: shadowBudgets },
  { version: 15, name: 'prices of models', kind: 'expand', up: modelPrices },
  { version: 16, name: 'times of resets', kind: 'expand', up: resetTimes },
  { version: 17, name: 'credentials of partners, unredacted texts', kind: 'expand', up: partnerPlugins },
  { version: 18, name: 'saved filters', kind: 'expand', up: savedFilters },
  { version: 19, name: 'exports of logs', kind: 'expand', up: logExports },
  { version: 20, name: 'settings of signing in', kind: 'expand', up: authSettings },
  { version: 21, name: 'sessions', kind: 'expand', up: sessions },
  { version: 22, name: 'scim', kind: 'expand', up: scim },
  { version: 23, name: 'mails, rotation of keys', kind: 'expand', up: mails },
  { version: 24, name: 'secret references', kind: 'expand', up: secretReferences },
  { version: 25, name: 'applied files', kind: 'expand', up: appliedFiles },
  { version: 27, name: 'files of exports', kind: 'expand', up: exportFiles },
  { version: 28, name: 'key sets, failed sign-ins', kind: 'expand', up: keySets },
  { version: 30, name: 'creators of keys', kind: 'expand', up: keyCreators },
];
