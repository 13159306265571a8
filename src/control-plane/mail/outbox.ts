import type { NewMail, Store } from '../store/store.js';

/** Accepts mails in the unit of work of the event that they report. */
export interface Outbox {
  /** false: there is no mail server, and what is added is dropped. */
  readonly isOpen: boolean;
  add(mail: NewMail): Promise<void>;
}

export const closedOutbox: Outbox = { isOpen: false, add: async () => {} };

export const openOutbox = ({ mails }: Pick<Store, 'mails'>): Outbox => ({
  isOpen: true,
  add: (mail) => mails.add(mail),
});
