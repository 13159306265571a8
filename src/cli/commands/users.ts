import type { Command } from 'commander';
import { type Manners, registerResource } from '../resource.js';
import type { SessionContext } from '../session.js';

const manners: Manners = {
  LinkUser: {
    argument: {
      name: 'user-id',
      description: 'id or e-mail address of the user who sets a new password; the first owner, unless given',
      fields: (text) => ({ user_id: text }),
    },
    show: ({ link }) => String(link),
  },
};

/** `headgate users`. */
export const register = (program: Command, context: SessionContext): Command =>
  registerResource(program, context, 'Users', manners);
