import type { Command } from 'commander';
import { registerResource } from '../resource.js';
import type { SessionContext } from '../session.js';

/** `headgate workspaces`. */
export const register = (program: Command, context: SessionContext): Command =>
  registerResource(program, context, 'Workspaces', { DeleteWorkspace: { alias: 'archive' } });
