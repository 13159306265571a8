import { WorkerDirectory } from '../../../data-plane/directory/directory.js';
import { ProviderTable } from '../../../data-plane/providers/provider-table.js';
import { compileConfig } from '../../../data-plane/routing/compile.js';
import type { ProcessPart } from '../../part-list.js';
import type { WorkerBase } from './base.js';

export interface DirectoryGiven {
  readonly directory: WorkerDirectory;
  readonly providerTable: ProviderTable;
  /** Is there a provider row of that name? */
  readonly isProvider: (name: string) => boolean;
}

/** What this worker remembers of keys, configs and providers. */
export const directoryPart: ProcessPart<WorkerBase, DirectoryGiven> = {
  name: 'directory',
  start({ init: { headerPrefixes, deployment }, channel }) {
    const providerTable = new ProviderTable();
    const isProvider = (name: string): boolean => providerTable.rows.has(name);
    const directory = new WorkerDirectory({
      channel,
      deployment,
      compile: ({ text, slug, version }) =>
        compileConfig(text, { slug, version, isProvider, headerPrefixes }),
    });
    return { directory, providerTable, isProvider };
  },
};
