import { keyResource, scopesOf } from '../../../common/access/scopes.js';
import { dayMs } from '../../../common/text/calendar.js';
import type { ApiKey, Store } from '../../store/store.js';
import { AdminError } from '../admin-error.js';

type Rights = Pick<ApiKey, 'scopes' | 'expiresAt'>;

/** Abilities of which an organisation keeps at least one key. */
const abilities: readonly { readonly description: string; isIn(scopes: readonly string[]): boolean }[] = [
  {
    description: 'holds every scope of the organisation',
    isIn: (scopes) => scopesOf('organisation-service').every((scope) => scopes.includes(scope)),
  },
  {
    description: 'can make keys of the organisation',
    isIn: (scopes) => scopes.includes(`${keyResource['organisation-service']}.create`),
  },
];

const isValidAt = ({ expiresAt }: Rights, time: number): boolean => expiresAt === null || expiresAt > time;
const isNotShortened = (after: Rights, before: Rights): boolean =>
  after.expiresAt === null || (before.expiresAt !== null && after.expiresAt >= before.expiresAt);

const pageOf = 1000;

async function* otherAdminKeys(store: Store, key: ApiKey): AsyncGenerator<ApiKey> {
  const filter = { types: ['organisation-service'], status: ['active', 'exhausted'] } as const;
  for (let offset = 0; ; offset += pageOf) {
    const { rows } = await store.keys.list(key.organisationId, filter, { offset, limit: pageOf });
    for (const row of rows) if (row.id !== key.id) yield row;
    if (rows.length < pageOf) return;
  }
}

/**
 * Throws AB07 where a change of the key would leave the organisation without a key that administers it, and so without
 * any way to create one over the API. Other keys that expire within a day do not count. `after`: the key's scopes and
 * expiry afterwards; null: it is deleted. `now`: Unix milliseconds.
 */
export async function checkAdministered(
  store: Store,
  key: ApiKey,
  after: Rights | null,
  now: number,
): Promise<void> {
  if (key.type !== 'organisation-service' || !isValidAt(key, now)) return;
  const remains = after !== null && isNotShortened(after, key);
  const lost = new Set(abilities.filter(({ isIn }) => isIn(key.scopes) && !(remains && isIn(after.scopes))));
  if (lost.size === 0) return;
  for await (const other of otherAdminKeys(store, key)) {
    if (!isValidAt(other, now + dayMs)) continue;
    for (const ability of lost) if (ability.isIn(other.scopes)) lost.delete(ability);
    if (lost.size === 0) return;
  }
  const [first] = lost;
  throw new AdminError(
    'AB07',
    `This is the last key that ${first?.description}: create another one first, valid for more than a day. If the text of the last one is lost, run headgate keys recover on the gateway's machine.`,
  );
}
