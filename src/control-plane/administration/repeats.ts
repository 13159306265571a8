import type { Message } from '../../../proto/codec.js';
import type {
  CreatedApiKey,
  CreatedDeployment,
  CreatedInvite,
  RotatedApiKey,
} from '../../../proto/messages.js';
import type { AdminMethod } from '../../../proto/tree.js';
import { keyResource } from '../../common/access/scopes.js';
import type { Caller } from './access/caller.js';
import { tokenOf } from './access/people/links.js';
import { AdminError } from './admin-error.js';

/**
 * A repeated request gets the stored answer of the first one. An answer that contains a secret is returned only while
 * the secret is valid and current: the text of a revoked key is never returned again.
 */

type SecretCheck = (caller: Caller, answer: never) => Promise<boolean>;

/** Is this the newest text of a valid key? After a rotation the text before it stays valid for a while, but is not returned. */
async function isCurrentKey(caller: Caller, text: string, action: string): Promise<boolean> {
  const { keys } = caller.store;
  const hash = caller.store.hashKey(text);
  const key = await keys.findByHash(hash);
  if (key === null || (key.expiresAt !== null && key.expiresAt <= Date.now())) return false;
  caller.need(`${keyResource[key.keyType]}.${action}`);
  return keys.isNewest(hash);
}

const checks: Readonly<Record<string, SecretCheck>> = {
  'ApiKeys.CreateApiKey': (caller, { key }: CreatedApiKey) => isCurrentKey(caller, key, 'create'),
  'ApiKeys.RotateApiKey': (caller, { key }: RotatedApiKey) => isCurrentKey(caller, key, 'rotate'),
  'Deployments.CreateDeployment': ({ store, organisationId }, { id, auth_secret }: CreatedDeployment) =>
    store.deployments.signsIn(organisationId, id, store.hashKey(auth_secret)),
  'Invites.CreateInvite': async ({ store }, { id, invite_link }: CreatedInvite) =>
    (await store.invites.findByToken(tokenOf(invite_link)))?.id === id,
};

/** Methods whose stored answers are checked before they are returned again. */
export const repeatsChecked: ReadonlySet<string> = new Set(Object.keys(checks));

/** Throws AB07 for a stored answer whose secret is no longer valid or current. */
export async function checkRepeat(caller: Caller, method: AdminMethod, answer: Message): Promise<void> {
  const check = checks[method.name];
  if (check === undefined || (await check(caller, answer as never))) return;
  throw AdminError.lost(
    'This request was answered before, and the secret in the answer was deleted, replaced or has expired since: it is not shown again. Send the request with a new Idempotency-Key (request_id) to create another one.',
  );
}
