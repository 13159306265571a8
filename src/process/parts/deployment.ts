import { DeploymentReports } from '../node/deployment-reports.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';

export interface DeploymentGiven {
  /** The deployment whose gateway this node is; null: of none. */
  readonly deployment: DeploymentReports | null;
}

export const deploymentPart: ProcessPart<Base & Records, DeploymentGiven> = {
  name: 'deployment of this gateway',
  async start({ settings: { dataDir, deploymentSecret: secret }, store, log }) {
    if (secret === null) return { deployment: null };
    return { deployment: await DeploymentReports.begin({ store, dataDir, secret, log }) };
  },
  stop: ({ deployment }) => deployment?.stop(),
};
