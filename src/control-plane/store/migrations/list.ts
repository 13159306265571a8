import { up as keysProvidersConfigs } from './0001-keys-providers-configs.js';
import { up as unitsOfWork } from './0002-units-of-work.js';
import { up as apiKeys } from './0003-api-keys.js';
import { up as peopleAndPlaces } from './0004-people-and-places.js';
import { up as policiesGuardrailsLabels } from './0005-policies-guardrails-labels.js';
import { up as integrations } from './0006-integrations.js';
import { up as secretsOfConfigs } from './0007-secrets-of-configs.js';
import { up as secretsOfGuardrails } from './0008-secrets-of-guardrails.js';
import { up as emailKeys } from './0009-email-keys.js';
import type { Migration } from './migration.js';

/** Every step from an empty store to today's, in order. Only ever added to. */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'keys, providers, configs', up: keysProvidersConfigs },
  { version: 2, name: 'units of work', up: unitsOfWork },
  { version: 3, name: 'api keys', up: apiKeys },
  { version: 4, name: 'people and places', up: peopleAndPlaces },
  { version: 5, name: 'policies, guardrails, labels', up: policiesGuardrailsLabels },
  { version: 6, name: 'integrations', up: integrations },
  { version: 7, name: 'secrets of configs', up: secretsOfConfigs },
  { version: 8, name: 'secrets of guardrails', up: secretsOfGuardrails },
  { version: 9, name: 'e-mail keys', up: emailKeys },
];
