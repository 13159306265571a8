import { type AdminClient, connectAdmin } from '../../src/client/index.js';
import { scopesOf } from '../../src/common/access/scopes.js';
import { type SimulatedOptions, type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { cleanUpLater } from './clean-up.js';
import { type RunningGateway, startGateway } from './gateway.js';

/** A workspace in a gateway that other tests use too. */
export interface SharedGateway
  extends Pick<
    RunningGateway,
    'url' | 'port' | 'grpcPort' | 'opsUrl' | 'dataDir' | 'env' | 'organisationId' | 'output'
  > {
  readonly workspaceId: string;
  /** May do everything in the workspace. */
  readonly workspaceKey: string;
  /** The organisation's. */
  readonly adminKey: string;
  /** Administers the workspace, and sees nothing else. */
  admin(): AdminClient;
  /** Administers the organisation, in which others are at work as well. */
  organisation(): AdminClient;
  /** Leaves; the gateway goes on. */
  stop(): Promise<void>;
}

/** For tests of what every data worker must know, and of clients that use another prefix for the same headers. */
export const twoWorkers = {
  HEADGATE_WORKERS: '2',
  HEADGATE_HEADER_PREFIXES: 'x-gateway-,x-portkey-',
} as const;

/** By their settings: a start takes longer than most of the tests do that ask for one. */
const running = new Map<object, Promise<RunningGateway>>();
const usual = {};
let workspaces = 0;

/**
 * A workspace of its own in a gateway with those settings. For tests of requests, and of what these are answered by;
 * whoever stops, kills or counts processes starts a gateway for that.
 */
export async function shareGateway(env: typeof usual | typeof twoWorkers = usual): Promise<SharedGateway> {
  const starting = running.get(env) ?? start(env);
  running.set(env, starting);
  const gateway = await starting;
  const number = ++workspaces;
  const organisation = connectAdmin({
    address: `127.0.0.1:${gateway.grpcPort}`,
    key: gateway.adminKey,
  });
  const { id: workspaceId } = await organisation.api.workspaces.createWorkspace({ name: `Test ${number}` });
  const { key: workspaceKey } = await organisation.api.apiKeys.createApiKey({
    type: 'workspace',
    sub_type: 'service',
    name: `Test ${number}`,
    workspace_id: workspaceId,
    scopes: scopesOf('workspace-service'),
  });
  const admin = connectAdmin({ address: `127.0.0.1:${gateway.grpcPort}`, key: workspaceKey });
  return {
    url: gateway.url,
    port: gateway.port,
    grpcPort: gateway.grpcPort,
    opsUrl: gateway.opsUrl,
    dataDir: gateway.dataDir,
    env: gateway.env,
    organisationId: gateway.organisationId,
    adminKey: gateway.adminKey,
    workspaceId,
    workspaceKey,
    output: () => gateway.output(),
    admin: () => admin,
    organisation: () => organisation,
    async stop() {
      admin.close();
      organisation.close();
    },
  };
}

/** A simulated provider, which the workspace's requests reach as `@simulated`. */
export async function addSimulated(
  gateway: SharedGateway,
  options: SimulatedOptions = {},
): Promise<SimulatedProvider> {
  const provider = await startSimulated(options);
  await gateway.admin().providers.create({
    slug: 'simulated',
    provider: 'openai',
    key: 'sk-sim',
    base_url: `${provider.url}/v1`,
  });
  return provider;
}

async function start(env: Readonly<Record<string, string>>): Promise<RunningGateway> {
  const gateway = await startGateway({ env });
  cleanUpLater(() => {
    running.delete(env);
    return gateway.stop();
  });
  return gateway;
}
