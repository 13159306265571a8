import type { Secret } from '../../common/access/secret.js';
import type { Invite, NewMail } from '../store/store.js';
import { timeText } from './mail-values.js';

/** The link of an invitation, to the one who is invited. `organisation`: its name. */
export const inviteMail = (invite: Invite, organisation: string | null, link: Secret): NewMail => ({
  organisationId: invite.organisationId,
  workspaceId: null,
  kind: 'invite',
  // Each link is an event of its own.
  event: `invite:${invite.id}:${invite.expiresAt}`,
  resourceId: invite.id,
  recipients: [invite.email],
  content: {
    subject: `Invitation to ${organisation ?? 'Headgate'}`,
    paragraphs: [
      `You are invited to the organisation ${organisation ?? 'of this gateway'} on Headgate. Open the link to accept; it works once.`,
      'If you did not expect this mail, ignore it: nothing happens unless the link is opened.',
    ],
    facts: [
      ['Invited', invite.email],
      ['Role', invite.role],
      ['Valid until', timeText(invite.expiresAt)],
    ],
    linkLabel: 'Accept the invitation',
  },
  link,
});
