import type { Secret } from '../../../../common/access/secret.js';

const mark = '#token=';

/** The token in a link. */
export const tokenOf = (link: string): string => link.split(mark)[1] ?? '';

/** The link of an invitation, or of a new password. The token follows the #: no server, and no log of one, is sent that part. */
export const linkOf = (publicUrl: string | undefined, token: Secret): string =>
  `${publicUrl ?? 'http://localhost:8787'}/v1/admin/users/invites/accept${mark}${token.reveal()}`;
