import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkPrivacy } from '../../control-plane/store/files/private-files.js';
import { holdDataDir } from '../data-lock.js';
import { nodeIdOf } from '../node/node-id.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';

export interface DataDirectory {
  readonly journalDir: string;
  readonly nodeId: string;
  readonly releaseDataDir: () => void;
}

/** The data directory, for this process alone. */
export const dataDirectory: ProcessPart<Base, DataDirectory> = {
  name: 'data directory',
  async start({ settings: { dataDir }, log }) {
    checkPrivacy(dataDir, (message) => log.warn({}, message));
    const journalDir = join(dataDir, 'journal');
    mkdirSync(journalDir, { recursive: true, mode: 0o700 });
    const releaseDataDir = await holdDataDir(dataDir);
    return { journalDir, nodeId: nodeIdOf(dataDir), releaseDataDir };
  },
  stop: ({ releaseDataDir }) => releaseDataDir(),
};
