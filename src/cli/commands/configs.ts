import { basename } from 'node:path';
import type { Command } from 'commander';
import { readInput } from '../input/file-input.js';
import { type Manners, registerResource } from '../resource.js';
import type { SessionContext } from '../session.js';

const manners: Manners = {
  CreateConfig: {
    argument: {
      name: 'file',
      description: 'JSON file; - is standard input. Names the config, unless --name or --slug does',
      fields: (file, { slug }) => ({
        config: readInput(file),
        name: slug ?? (file === '-' ? 'config' : basename(file, '.json')),
      }),
    },
    show: ({ slug }) => String(slug),
  },
  GetConfig: {
    show: ({ config }) => (typeof config === 'string' ? config : JSON.stringify(config, null, 2)),
  },
};

/** `headgate configs`. */
export const register = (program: Command, context: SessionContext): Command =>
  registerResource(program, context, 'Configs', manners);
