import { EgressAllow } from '../../common/http/egress-allow.js';
import { TokenChecker } from '../../control-plane/tokens/token-checker.js';
import { createEgress } from '../../data-plane/upstream/address/egress.js';
import { createResolver } from '../../data-plane/upstream/address/resolver.js';
import { KeyServers } from '../node/outgoing/key-server.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { DeploymentGiven } from './deployment.js';
import type { ChangesGiven } from './other-nodes.js';
import type { Records } from './store.js';
import type { WorkerProcesses } from './worker-processes.js';

export interface TokensGiven {
  readonly tokens: TokenChecker;
  readonly keyServers: KeyServers;
  readonly tokenTimer: NodeJS.Timeout;
}

const tickMs = 5000;

/** Checks JSON web tokens, and keeps the key sets of organisations up to date. */
export const tokensPart: ProcessPart<
  Base & Records & DeploymentGiven & WorkerProcesses & ChangesGiven,
  TokensGiven
> = {
  name: 'checking of tokens',
  async start({ settings: { egressAllow }, store, deployment, workers, onForget, log }) {
    const egress = createEgress({ allow: egressAllow, resolve: createResolver() });
    const keyServers = new KeyServers(egress, new EgressAllow(egressAllow));
    const tokens = new TokenChecker({
      store,
      fetch: (url) => keyServers.fetch(url),
      deployment: deployment?.id ?? null,
      // Every node fetches key sets itself: other nodes need no notice.
      removed: (what) => {
        workers.forget(what).catch((error) => log.error({ err: error }, 'tokens of a removed key'));
      },
      log,
    });
    onForget((what) => tokens.forget(what));
    const tokenTimer = setInterval(() => tokens.tick(), tickMs).unref();
    return { tokens, keyServers, tokenTimer };
  },
  stop: ({ tokenTimer }) => clearInterval(tokenTimer),
};
