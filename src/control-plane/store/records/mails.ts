import type { Secret } from '../../../common/access/secret.js';
import type { Listed, Page } from './place.js';

/** What mails report. */
export const mailKinds = [
  'budget_threshold',
  'budget_exhausted',
  'budget_reset',
  'anomaly',
  'key_rotated',
  'rotation_ahead',
  'old_secret_ending',
  'key_expiring',
  'key_expired',
  'invite',
  'test',
] as const;
export type MailKind = (typeof mailKinds)[number];

/** `failed`: the server refused the recipient, or accepted nothing for a day. */
export const mailStatuses = ['pending', 'sent', 'failed'] as const;
export type MailStatus = (typeof mailStatuses)[number];

/** The text of a mail, of which its plain and its HTML form are made when it is sent. Holds no secret. */
export interface MailContent {
  readonly subject: string;
  /** Sentences before the table. */
  readonly paragraphs: readonly string[];
  /** A table of names and values. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** Commands to type, a line each. */
  readonly commands?: readonly string[];
  /** What the link of the mail is called. */
  readonly linkLabel?: string;
}

export interface NewMail {
  readonly organisationId: string;
  /** null: the organisation's own. */
  readonly workspaceId: string | null;
  readonly kind: MailKind;
  /** Identifies what is reported: for one event, each recipient gets one mail, however often it is added. */
  readonly event: string;
  /** Id of the key, invitation or alert that it is about. */
  readonly resourceId: string;
  /** E-mail addresses; those that are invalid are left out. */
  readonly recipients: readonly string[];
  readonly content: MailContent;
  /** A link with a token in it. Encrypted until the mail is sent, then deleted. */
  readonly link?: Secret;
}

/** A mail to one recipient. Times are Unix milliseconds. */
export interface Mail extends Omit<NewMail, 'recipients' | 'link'> {
  readonly id: string;
  readonly recipient: string;
  readonly status: MailStatus;
  /** Number of attempts since the last manual retry. */
  readonly tries: number;
  /** When it is sent, or tried again; null: it is not. */
  readonly dueAt: number | null;
  /** Why the last try failed, in the server's words or ours. */
  readonly error: string | null;
  readonly createdAt: number;
  readonly sentAt: number | null;
  /** Has it a link that was not sent yet? */
  readonly hasLink: boolean;
}

/** A mail that this node is to send now. */
export interface ClaimedMail extends Mail {
  readonly link: Secret | null;
  /** Time after which it fails permanently. Milliseconds from the claim. */
  readonly leftMs: number;
}

export type MailOutcome =
  | { readonly is: 'sent' }
  | { readonly is: 'retry'; readonly afterMs: number; readonly error: string }
  | { readonly is: 'failed'; readonly error: string };

export interface MailFilter {
  readonly status?: MailStatus;
  readonly kind?: MailKind;
  /** In any case. */
  readonly recipient?: string;
}

/** Mails that are waiting to be sent, and those that were, for 30 days. With PostgreSQL all times are by its clock, not by that of a node. */
export interface MailStore {
  /** Joins the unit of work of what is reported. A recipient that has a mail of this event gets no second one. */
  add(mail: NewMail): Promise<void>;
  get(organisationId: string, id: string): Promise<Mail | null>;
  /** Newest first. */
  list(organisationId: string, filter: MailFilter, page: Page): Promise<Listed<Mail>>;
  /** Deletes those about this record that were not sent: what they report is no longer true. */
  withdraw(organisationId: string, kind: MailKind, resourceId: string): Promise<void>;
  /**
   * The mail of all organisations that is due for longest; no other caller gets it for so many milliseconds, and what
   * it has done then counts no longer. null: none is due.
   */
  claim(holdMs: number): Promise<ClaimedMail | null>;
  /** false: it was claimed by another node since. */
  settle(claimed: Pick<Mail, 'id' | 'tries'>, outcome: MailOutcome): Promise<boolean>;
  /** Sends one that has failed again, for another day. `spent`: its link is gone. */
  retry(organisationId: string, id: string): Promise<Mail | 'missing' | 'not-failed' | 'spent'>;
  prune(): Promise<void>;
}
