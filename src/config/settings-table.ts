import { availableParallelism } from 'node:os';
import { clouds } from '../core/own-identity.js';
import {
  choice,
  type Kind,
  list,
  milliseconds,
  numbers,
  type PluginSettings,
  path,
  plugins,
  port,
  secret,
  text,
  toggle,
  whole,
} from './settings-kinds.js';

/** One row of the table. Flag, variable and YAML key follow from its name. */
export interface Setting<T, D extends T | null> {
  readonly kind: Kind<T>;
  readonly fallback: D;
  /** What stands in the reference where the default is not a plain value. */
  readonly fallbackText: string;
  readonly doc: string;
  /** Variable of a name of its own, where the ecosystem has one. */
  readonly env: string | null;
}

function setting<T, D extends T | null>(
  kind: Kind<T>,
  fallback: D,
  doc: string,
  more: { fallbackText?: string; env?: string } = {},
): Setting<T, D> {
  return {
    kind,
    fallback,
    fallbackText: more.fallbackText ?? plain(fallback),
    doc,
    env: more.env ?? null,
  };
}

function plain(value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  return Array.isArray(value) ? value.join(',') : String(value);
}

const noPlugins: PluginSettings = { directory: null, insert: [] };
const noText: readonly string[] = [];
const noNumbers: Readonly<Record<string, number>> = {};

/**
 * Every setting, once. `grpcPort` is the flag `--grpc-port`, the variable `HEADGATE_GRPC_PORT` and the YAML key
 * `grpc_port`. A secret has `HEADGATE_X` and `HEADGATE_X_FILE`, but no flag `--x`, only `--x-file`: other users of a
 * machine can read a command line.
 */
export const table = {
  host: setting(
    text('host', '^[A-Za-z0-9.:_-]{1,253}$', 'must be a host name or an IP address'),
    '127.0.0.1',
    'Address that every port is bound to. The default is reachable from this machine alone.',
  ),
  port: setting(port, 8787, 'Data plane (/v1/...).'),
  grpcPort: setting(port, 50051, 'Admin gRPC.'),
  grpcTlsCert: setting<string | null, null>(
    path,
    null,
    'File with the certificate chain (PEM) of the admin gRPC port; without it, no TLS there.',
  ),
  grpcTlsKey: setting<string | null, null>(path, null, 'File with the private key (PEM) to it.'),
  grpcReflection: setting(
    toggle,
    false,
    'Tell clients of the admin gRPC port which methods there are (gRPC server reflection).',
  ),
  dataGrpcPort: setting(
    port,
    8789,
    'Kept for the data plane over gRPC; nothing listens there in this version.',
  ),
  publicUrl: setting<string | null, null>(
    text('URL', '^https?://[^\\s?#]*[^\\s?#/]$', 'must be an http or https URL without a slash at its end'),
    null,
    'URL under which clients reach the gateway: links of invitations begin with it.',
    { fallbackText: 'http://localhost and the port' },
  ),
  opsPort: setting(port, 9464, '/livez, /readyz and /metrics.'),
  dataDir: setting(
    path,
    './data',
    'Folder of the SQLite files, the journals, the generated master key and first-keys.json.',
  ),
  workers: setting(
    whole('count', 1, 256),
    Math.max(1, availableParallelism() - 1),
    'Data worker processes.',
    { fallbackText: 'cores - 1, at least 1' },
  ),
  controlNice: setting(
    whole('nice', 0, 19),
    5,
    'How far the control process (administration, ledger) steps back behind the data workers where processors are scarce, as nice has it; 0: not at all.',
  ),
  transport: setting(
    choice('uws', 'node'),
    'uws',
    'HTTP server of the data plane: uWebSockets.js, or node:http where that has no binary.',
  ),
  headerPrefixes: setting<readonly string[], readonly string[]>(
    list(
      'list of prefixes',
      '^[a-z][a-z0-9-]*-$',
      'must be a lower-case header prefix that ends with a dash, as in x-gateway-',
      1,
    ),
    ['x-gateway-'],
    'Prefixes of the headers the gateway reads; the first is the one that answers carry.',
  ),
  egressAllow: setting<readonly string[], readonly string[]>(
    list(
      'list of hosts',
      '^(?!.*://)[^\\s/@]+(/\\d{1,3})?$',
      'must be a host, host:port or CIDR, as in 10.0.0.0/8',
      0,
    ),
    noText,
    'Reserved addresses that connections chosen by a caller may reach all the same: hosts, host:port or CIDRs.',
  ),
  workspaceWeights: setting<Readonly<Record<string, number>>, Readonly<Record<string, number>>>(
    numbers('weights'),
    noNumbers,
    'Shares of workspaces, by id, where several wait for one upstream with adaptive concurrency; others weigh 1.',
    { fallbackText: 'none' },
  ),
  ownIdentity: setting<readonly string[], readonly string[]>(
    list(
      'list of clouds',
      `^(${clouds.join('|')})(:[A-Za-z0-9-]{1,64})?$`,
      'must be aws, azure or google, or one of them for a single workspace or organisation, as in aws:<id>',
      0,
    ),
    noText,
    "Clouds at which stored providers may sign in as the gateway itself (its machine, pod or environment) and spend in its name: aws, azure, google; with an id behind it (aws:<id>), that workspace or organisation's alone.",
  ),
  masterKey: setting(
    secret('^\\S.{14,}\\S$', 'must be at least 16 characters'),
    null,
    'Seals stored provider credentials. Losing it loses them. Its file must be closed to other users (chmod 600).',
    { fallbackText: 'generated into the data directory' },
  ),
  adminKey: setting(
    secret('^\\S+$', 'must be one word'),
    null,
    'Key that the commands of administration sign in with.',
    { fallbackText: 'that of first-keys.json, where it exists' },
  ),
  simulated: setting(
    toggle,
    // npm names its script: `npm start` of this package is for trying things out.
    process.env['npm_lifecycle_event'] === 'start' && process.env['npm_package_name'] === 'headgate',
    'Offer the stored provider @simulated: OpenAI wire format, no network; its prices are those of the models it plays.',
    { fallbackText: 'false; true under npm start' },
  ),
  logBodies: setting(toggle, true, 'Keep request and response bodies in logs.'),
  logLevel: setting(
    choice('debug', 'info', 'warn', 'error', 'silent'),
    'info',
    'Least severe line of the process log.',
  ),
  bodyLimitBytes: setting(
    whole('bytes', 1024, 1_073_741_824),
    10 * 1024 * 1024,
    'Largest JSON body a client may send; more is answered with 413.',
  ),
  upstreamConnections: setting(
    whole('count', 1, 65_535),
    256,
    'Connections a data worker keeps to one provider origin at most.',
  ),
  connectTimeoutMs: setting(milliseconds, 5000, 'Wait for TCP and TLS to a provider; 0 turns it off.'),
  headersTimeoutMs: setting(
    milliseconds,
    600_000,
    'Wait from the request sent to the head of the answer, which a provider that does not stream gives last; 0 turns it off.',
  ),
  firstTokenTimeoutMs: setting(
    milliseconds,
    120_000,
    'Wait from the head of an answer to its first byte; 0 turns it off.',
  ),
  idleTimeoutMs: setting(milliseconds, 120_000, 'Wait between two chunks of an answer; 0 turns it off.'),
  writeTimeoutMs: setting(milliseconds, 30_000, 'A client that takes no byte for this long is cut.'),
  drainTimeoutMs: setting(
    milliseconds,
    30_000,
    'How long calls in flight may go on after SIGTERM before they are cut.',
  ),
  cacheMemoryBytes: setting(
    whole('bytes', 0, 68_719_476_736),
    64 * 1024 * 1024,
    'Cached answers that each data worker keeps in memory.',
  ),
  cacheStoreBytes: setting(
    whole('bytes', 0, 1_099_511_627_776),
    1024 * 1024 * 1024,
    'Cached answers kept on disk for all data workers; 0: none.',
  ),
  cacheEntryBytes: setting(whole('bytes', 0, 67_108_864), 1024 * 1024, 'Longest answer that is cached.'),
  cacheMaxAge: setting(
    whole('seconds', 1, 7_776_000),
    7_776_000,
    'No answer is cached for longer, whatever configs and headers say.',
  ),
  cacheWaitMs: setting(
    milliseconds,
    50,
    'How long a call waits for an answer that other data workers or nodes may know; past that it is asked anew.',
  ),
  cacheEmbedding: setting<string | null, null>(
    text(
      'provider/model',
      '^@?[A-Za-z0-9][A-Za-z0-9._-]{0,127}/\\S{1,256}$',
      'must be a provider and an embedding model, as in @openai-prod/text-embedding-3-small',
    ),
    null,
    "Who embeds questions for the semantic cache where a config does not say: a provider's name, or the @slug of one stored in the caller's workspace, a slash, and the model.",
  ),
  cacheVectorBytes: setting(
    whole('bytes', 0, 1_099_511_627_776),
    256 * 1024 * 1024,
    'Vectors of questions kept for the semantic cache; 0: none, and nothing is found by its meaning.',
  ),
  cacheCheckPercent: setting(
    whole('percent', 0, 100),
    1,
    "Share of the semantic cache's hits that are checked against a fresh answer, at the price of that answer.",
  ),
  plugins: setting<PluginSettings, PluginSettings>(
    plugins,
    noPlugins,
    'Custom plugins: {directory, insert: [{name, before or after: a stage, options}]}.',
    { fallbackText: 'none' },
  ),
  databaseUrl: setting(
    secret('^postgres(ql)?://', 'must be a postgres:// URL'),
    null,
    'PostgreSQL for records, in place of SQLite in the data directory.',
    { env: 'DATABASE_URL' },
  ),
  redisUrl: setting(
    secret('^rediss?://', 'must be a redis:// or rediss:// URL'),
    null,
    'Redis (6 or later) for what nodes share: circuit breakers, cache. A node goes on by itself while it is away.',
    { env: 'REDIS_URL' },
  ),
  smtpUrl: setting(
    secret('^smtps?://', 'must be an smtp:// or smtps:// URL'),
    null,
    'Mail server; nothing is mailed by this version.',
    { env: 'SMTP_URL' },
  ),
} as const;

export type SettingKey = keyof typeof table;

type ValueOf<S> = S extends Setting<infer T, infer D> ? (null extends D ? T | null : T) : never;

/** What the process runs with, checked and frozen. Secrets are `Secret`s; paths are absolute. */
export type Settings = { readonly [K in SettingKey]: ValueOf<(typeof table)[K]> };
