import type { ApiKey, KeyNotice, MailContent, NewMail, Store } from '../store/store.js';
import { timeText } from './mail-values.js';
import { organisationAdmins } from './recipients.js';

/** Owners and admins of the organisation, the user of the key, and its `alert_emails`. */
async function recipientsOf(
  store: Store,
  { organisationId, userId, alertEmails }: ApiKey,
): Promise<string[]> {
  const emails = await organisationAdmins(store, organisationId);
  const user = userId === null ? null : await store.users.get(organisationId, userId);
  if (user?.isActive === true) emails.push(user.email);
  return [...emails, ...alertEmails];
}

async function keyMail(
  store: Store,
  key: ApiKey,
  kind: NewMail['kind'],
  at: number,
  content: MailContent,
): Promise<NewMail> {
  const { organisationId, workspaceId, id } = key;
  const workspace = workspaceId === null ? null : await store.workspaces.get(organisationId, workspaceId);
  return {
    ...{ organisationId, workspaceId, kind, resourceId: id },
    event: `${kind}:${id}:${at}`,
    recipients: await recipientsOf(store, key),
    content: {
      ...content,
      facts: [
        ['Key', key.name],
        ['Id', id],
        ['Secret', key.masked],
        ...(workspace === null ? [] : [['Workspace', workspace.name ?? workspace.slug] as const]),
        ...content.facts,
      ],
    },
  };
}

export interface Rotation {
  readonly mode: 'manual' | 'auto';
  /** Until when the old secret is valid. Unix milliseconds. */
  readonly transitionExpiresAt: number;
  readonly oldMasked: string;
}

/** A key has a new secret. */
export function rotatedMail(store: Store, key: ApiKey, rotation: Rotation): Promise<NewMail> {
  const { mode, transitionExpiresAt: until, oldMasked } = rotation;
  const isAuto = mode === 'auto';
  return keyMail(store, key, 'key_rotated', until, {
    subject: `Key rotated: ${key.name}`,
    paragraphs: [
      `The key ${key.name} has a new secret, ${isAuto ? 'by its schedule' : 'rotated by hand'}. The old secret works until ${timeText(until)}: replace it before then.`,
      ...(isAuto ? ['Who may rotate the key can read the new secret, once:'] : []),
    ],
    facts: [
      ['Old secret', oldMasked],
      ['Old secret valid until', timeText(until)],
      ...(key.rotationPolicy === null
        ? []
        : [['Next rotation', timeText(key.rotationPolicy.nextRotationAt)] as const]),
    ],
    ...(isAuto && { commands: [`headgate keys reveal-rotated ${key.id}`] }),
  });
}

type Words = (key: ApiKey, time: string) => Pick<MailContent, 'subject' | 'paragraphs'> & { fact: string };

const notices: Readonly<Record<KeyNotice, Words>> = {
  old_secret_ending: ({ name }, time) => ({
    subject: `Old secret ends soon: ${name}`,
    paragraphs: [
      `The key ${name} was rotated. Its old secret is refused from ${time} on: replace it by the new one before then.`,
    ],
    fact: 'Old secret valid until',
  }),
  rotation_ahead: ({ name }, time) => ({
    subject: `Key will be rotated: ${name}`,
    paragraphs: [
      `The key ${name} gets a new secret at ${time}, by its schedule. The old one works on for the transition period.`,
    ],
    fact: 'Rotation',
  }),
  key_expiring: ({ name }, time) => ({
    subject: `Key expires soon: ${name}`,
    paragraphs: [`The key ${name} is refused from ${time} on. To keep it, give it a later expiry.`],
    fact: 'Expires',
  }),
  key_expired: ({ name }, time) => ({
    subject: `Key expired: ${name}`,
    paragraphs: [`The key ${name} is refused since ${time}. A later expiry makes it active again.`],
    fact: 'Expired',
  }),
};

/** What happens to a key at the time `at`, or has happened. */
export function noticeMail(store: Store, key: ApiKey, notice: KeyNotice, at: number): Promise<NewMail> {
  const { fact, ...words } = notices[notice](key, timeText(at));
  return keyMail(store, key, notice, at, { ...words, facts: [[fact, timeText(at)]] });
}
