import { createClient, createCluster } from 'redis';
import type { RedisAddress, RedisHost } from '../../common/settings/redis-address.js';
import { guardReplies } from './reply-guard.js';

export interface LinkOptions {
  readonly address: RedisAddress;
  /** Before every key: `headgate:<deployment>:`. */
  readonly prefix: string;
  /** Milliseconds to open everything. */
  readonly openMs: number;
  /** Of one answer: a longer one ends the link. */
  readonly maxReplyBytes: number;
  /** Called once, when a connection is lost for good. */
  readonly onLost: (error: unknown) => void;
}

/** Open connections to one Redis, of whichever kind. They never reconnect: one that is lost is the end of the link. */
export interface RedisLink {
  readonly commands: RedisCommands;
  /** `channel` with its prefix. Resolves when Redis has taken the subscription. */
  subscribe(channel: string, listener: (text: string) => void): Promise<void>;
  /** Resolves when every server has answered and takes writes. */
  probe(): Promise<void>;
  close(): void;
}

/** Commands that wait to be written or answered; more are refused. */
const maxQueue = 10_000;

const optionsOf = (address: RedisAddress, host: RedisHost) => ({
  ...(address.username !== null && { username: address.username }),
  ...(address.password !== null && { password: address.password }),
  disableOfflineQueue: true,
  commandsQueueMaxLength: maxQueue,
  maintNotifications: 'disabled' as const,
  socket: socketOf(address, host, 1000),
});

const plainClient = (address: RedisAddress, host: RedisHost, keyPrefix: string) =>
  createClient({ ...optionsOf(address, host), database: address.database, keyPrefix });

type PlainClient = ReturnType<typeof plainClient>;

/** The commands that are used. Clients of clusters have the same, with types of their own. */
export type RedisCommands = Pick<
  PlainClient,
  'get' | 'set' | 'del' | 'hGet' | 'hSet' | 'hDel' | 'hGetAll' | 'keys' | 'publish' | 'eval' | 'evalSha'
>;

/** Rejects where any part cannot be opened within `openMs`; nothing is left open then. */
export async function openLink(options: LinkOptions): Promise<RedisLink> {
  const opened: { destroy(): void }[] = [];
  const close = (): void => {
    for (const client of opened.splice(0)) client.destroy();
  };
  guardReplies(options.maxReplyBytes);
  let late: NodeJS.Timeout | undefined;
  try {
    return await new Promise<RedisLink>((resolve, reject) => {
      const onLost = (error: unknown): void => {
        options.onLost(error);
        reject(error);
      };
      open({ ...options, onLost }, opened, close).then(resolve, reject);
      late = setTimeout(
        () => reject(new Error(`Redis did not accept a connection within ${options.openMs} ms`)),
        options.openMs,
      );
    });
  } catch (error) {
    close();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

async function open(
  options: LinkOptions,
  opened: { destroy(): void }[],
  close: () => void,
): Promise<RedisLink> {
  const { address, prefix } = options;
  const link = address.kind === 'cluster' ? cluster(options, opened) : single(options, opened);
  const { commands, host, probe } = await link;
  const subscriber = connect(options, host, opened, '');
  await subscriber.connect();
  await commands.set('probe', '', { expiration: { type: 'EX', value: 60 } });
  return {
    commands,
    subscribe: (channel, listener) => subscriber.subscribe(prefix + channel, listener),
    async probe() {
      await Promise.all([probe(), subscriber.ping(), writes(commands)]);
    },
    close,
  };
}

interface Opened {
  readonly commands: RedisCommands;
  /** Where to subscribe. */
  readonly host: RedisHost;
  probe(): Promise<unknown>;
}

function connect(
  { address, onLost }: LinkOptions,
  host: RedisHost,
  opened: { destroy(): void }[],
  keyPrefix: string,
): PlainClient {
  const client = plainClient(address, host, keyPrefix);
  client.on('error', onLost);
  opened.push(client);
  return client;
}

async function single(options: LinkOptions, opened: { destroy(): void }[]): Promise<Opened> {
  const { address, prefix } = options;
  const host = address.kind === 'sentinel' ? await findMaster(address) : address.hosts[0]!;
  const commands = connect(options, host, opened, prefix);
  await commands.connect();
  return { commands, host, probe: async () => {} };
}

async function cluster(
  { address, prefix, onLost }: LinkOptions,
  opened: { destroy(): void }[],
): Promise<Opened> {
  const client = createCluster({
    rootNodes: address.hosts.map(({ host, port }) => ({ socket: { host, port } })),
    defaults: optionsOf(address, address.hosts[0]!),
    keyPrefix: prefix,
    maxCommandRedirections: 3,
  });
  // A root node that does not answer; the next one is asked.
  client.on('error', () => {});
  client.on('node-error', onLost);
  opened.push(client);
  await client.connect();
  const { host, port } = client.masters[Math.floor(Math.random() * client.masters.length)]!;
  return {
    commands: client as unknown as RedisCommands,
    host: { host, port },
    probe: () => Promise.all(client.masters.map(async (node) => (await client.nodeClient(node)).ping())),
  };
}

/** A server that is full, or cannot save, answers what it has and passes news on; a replica is of no use. */
async function writes(commands: RedisCommands): Promise<void> {
  try {
    await commands.set('probe', '', { expiration: { type: 'EX', value: 60 } });
  } catch (error) {
    if (!/^(OOM|MISCONF) /.test((error as Error).message)) throw error;
  }
}

/** Milliseconds for all Sentinels to answer; they are asked at once. */
const askMs = 700;

/**
 * The server that most of the Sentinels that answer take for the master: one that was cut off from the others may still
 * name the one before. Rejects where none answers, or none monitors the name.
 */
async function findMaster(address: RedisAddress): Promise<RedisHost> {
  const votes = new Map<string, { readonly host: RedisHost; count: number }>();
  let unknown = 0;
  await Promise.all(
    address.hosts.map(async (sentinel) => {
      const host = await ask(address, sentinel).catch(() => undefined);
      if (host === null) unknown++;
      if (host === null || host === undefined) return;
      const key = `${host.host} ${host.port}`;
      const vote = votes.get(key) ?? { host, count: 0 };
      vote.count++;
      votes.set(key, vote);
    }),
  );
  const [first] = [...votes.values()].sort((a, b) => b.count - a.count);
  if (first !== undefined) return first.host;
  throw new Error(
    unknown > 0
      ? 'the Sentinels monitor no server of the name at the end of redis_url'
      : `no Sentinel answered within ${askMs} ms`,
  );
}

/** Of connections that end where they break: the link that they belong to is replaced. */
function socketOf({ tls }: RedisAddress, { host, port }: RedisHost, connectTimeout: number) {
  const options = { host, port, connectTimeout, reconnectStrategy: false as const };
  return tls ? { ...options, tls: true as const } : options;
}

/** null: it monitors no server of that name. */
async function ask(address: RedisAddress, { host, port }: RedisHost): Promise<RedisHost | null> {
  const client = createClient({
    ...(address.sentinelUsername !== null && { username: address.sentinelUsername }),
    ...(address.sentinelPassword !== null && { password: address.sentinelPassword }),
    maintNotifications: 'disabled',
    disableClientInfo: true,
    socket: socketOf(address, { host, port }, askMs),
  });
  client.on('error', () => {});
  let late: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      client
        .connect()
        .then(() =>
          client.sendCommand<[string, string] | null>(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', address.name!]),
        )
        .then((found) => found && { host: found[0], port: Number(found[1]) }),
      new Promise<never>((_, reject) => {
        late = setTimeout(() => reject(new Error('late')), askMs);
      }),
    ]);
  } finally {
    clearTimeout(late);
    client.destroy();
  }
}
