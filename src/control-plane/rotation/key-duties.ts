import type { Forget } from '../../common/ipc/messages.js';
import type { ScheduledRun } from '../../common/plugin-host/control.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { noticeMail, rotatedMail } from '../mail/key-mail.js';
import type { Outbox } from '../mail/outbox.js';
import {
  type ApiKey,
  type DueKey,
  type KeyDuty,
  type KeyNotice,
  keyDuties,
  type Store,
} from '../store/store.js';

export interface KeyDutiesParts {
  readonly store: Store;
  readonly outbox: Outbox;
  /** Resolves when every worker of this node has forgotten it. */
  forget(what: readonly Forget[]): Promise<void>;
  readonly log: Logger;
}

/** Name of the schedule. */
export const keySchedule = 'key-rotation';

/** Keys that are read at a time. */
const batch = 100;
/** A run gives up after this many failures: something other than a single key must be wrong. */
const mostFailures = 5;

/**
 * What the schedule does with keys, in this order: removes old secrets whose time is over, rotates keys that are due, warns
 * people of what is ahead, reports keys that have expired. Each step of each key is a unit of work of its own, with its
 * mails and its row in the audit log: if a run is interrupted, the next one continues where it ended.
 */
export async function runKeyDuties(parts: KeyDutiesParts, run: ScheduledRun): Promise<void> {
  let failures = 0;
  for (const duty of keyDuties) {
    let after = '';
    for (;;) {
      const due = await parts.store.keyRotation.due(duty, after, batch);
      for (const key of due) {
        if (run.signal.aborted) return;
        after = key.id;
        try {
          await performDuty(parts, run, duty, key);
        } catch (error) {
          failures += 1;
          if (failures === mostFailures || run.signal.aborted) throw error;
          parts.log.error(
            { err: error, key: key.id, duty },
            'A key could not be looked after; the next run tries again.',
          );
        }
      }
      if (due.length < batch) break;
    }
  }
}

async function performDuty(
  { store, outbox, forget, log }: KeyDutiesParts,
  run: ScheduledRun,
  duty: KeyDuty,
  due: DueKey,
): Promise<void> {
  const hashes = await store.unit(due.organisationId, async () => {
    await run.confirm();
    if (duty === 'end_transition') return endTransition(store, due);
    if (duty === 'rotate') return rotate(store, outbox, due);
    await notify(store, outbox, duty, due);
    return [];
  });
  if (hashes.length === 0) return;
  try {
    await forget(forgets(hashes));
  } catch (error) {
    log.error({ err: error, key: due.id }, 'Not every data worker has confirmed the rotation of a key.');
  }
}

const forgets = (hashes: readonly string[]): Forget[] =>
  hashes.map((name) => ({ kind: 'key', workspace: null, name }));

const report = (store: Store, key: ApiKey, hashes: readonly string[]): Promise<void> =>
  store.changes.append({
    organisationId: key.organisationId,
    workspaceId: key.workspaceId,
    kind: 'api_key',
    id: key.id,
    slug: null,
    action: 'update',
    forget: forgets(hashes),
  });

async function endTransition(store: Store, due: DueKey): Promise<readonly string[]> {
  const ended = await store.keyRotation.endTransition(due);
  if (ended === null) return [];
  await report(store, ended.key, ended.hashes);
  return ended.hashes;
}

async function rotate(store: Store, outbox: Outbox, due: DueKey): Promise<readonly string[]> {
  const rotated = await store.keyRotation.rotate(due);
  if (rotated === null) return [];
  const { key, hashes, oldMasked, transitionExpiresAt } = rotated;
  await report(store, key, hashes);
  await store.audit.append({
    organisationId: key.organisationId,
    workspaceId: key.workspaceId,
    method: 'POST',
    uri: `/v1/api-keys/${key.id}/rotate`,
    requestId: `${keySchedule}-${key.id}-${key.lastRotatedAt}`,
    requestBody: JSON.stringify(rotationDetails(key, 'auto', oldMasked, transitionExpiresAt)),
    queryParams: '',
    requestHeaders: '{}',
    userId: keySchedule,
    userType: 'schedule',
    actorName: keySchedule,
    responseStatusCode: 200,
    resourceType: 'api_key',
    resourceId: key.id,
    action: 'rotate',
    clientIp: null,
    country: null,
    allowed: true,
  });
  if (outbox.isOpen)
    await outbox.add(await rotatedMail(store, key, { mode: 'auto', oldMasked, transitionExpiresAt }));
  return hashes;
}

async function notify(store: Store, outbox: Outbox, notice: KeyNotice, due: DueKey): Promise<void> {
  const at = await store.keyRotation.notify(due, notice);
  if (at === null || !outbox.isOpen) return;
  const key = await store.keys.get(due.organisationId, due.id);
  // No notices about keys that no request can use.
  const isUsable = (await store.keys.record(due.organisationId, due.id)) !== null;
  if (key !== null && isUsable) await outbox.add(await noticeMail(store, key, notice, at));
}

/** What the audit log records of a rotation. */
export const rotationDetails = (
  key: Pick<ApiKey, 'id'>,
  mode: 'manual' | 'auto',
  oldMasked: string,
  transitionExpiresAt: number,
): Record<string, string> => ({
  api_key_id: key.id,
  rotation_mode: mode,
  old_key_masked: oldMasked,
  transition_expires_at: new Date(transitionExpiresAt).toISOString(),
});
