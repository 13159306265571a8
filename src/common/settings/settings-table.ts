import { availableParallelism, hostname } from 'node:os';
import { stages } from '../../data-plane/pipeline/plugins/stages.js';
import { clouds } from '../access/own-identity.js';
import { allowProblem } from '../http/egress-allow.js';
import { webhookUrlProblems } from '../http/webhook-address.js';
import { logSinkProblems } from './log-sinks.js';
import { redisUrlProblems } from './redis-address.js';
import {
  checkedList,
  checkedSecret,
  choice,
  list,
  milliseconds,
  numbers,
  type PluginSettings,
  path,
  plugins,
  port,
  type SettingKind,
  secret,
  text,
  toggle,
  whole,
} from './settings-kinds.js';
import { type PriceSettings, prices } from './settings-prices.js';
import { declaredSchedules, defaultSeconds, schedulesKind } from './settings-schedules.js';
import type { Setting } from './settings-setting.js';
import { stageRows } from './settings-stages.js';

function setting<T, D extends T | null>(
  kind: SettingKind<T>,
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
const noPrices: PriceSettings = {};
const scheduleTable = declaredSchedules(stages);
const scheduleDocs = Object.entries(scheduleTable)
  .map(([name, { doc }]) => `${name} ${doc}`)
  .join('; ');
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
    'Let clients of the admin gRPC port list its methods (gRPC server reflection).',
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
  workerMemoryMegabytes: setting<number, null>(
    whole('megabytes', 64, 1_048_576),
    null,
    'Memory (heap and buffers) above which a data worker is replaced: after another one has started beside it, it accepts no more connections and finishes those that are open.',
    { fallbackText: 'three quarters of the heap that Node allows' },
  ),
  nodeName: setting(
    text('name', '^[A-Za-z0-9][A-Za-z0-9._:-]{0,252}$', 'must be letters, digits, dots, dashes and colons'),
    hostname().replace(/[^A-Za-z0-9._:-]/g, '-') || 'node',
    'Name of this node for people, if several share one PostgreSQL.',
    { fallbackText: "the machine's host name" },
  ),
  role: setting(
    choice('all', 'data'),
    'all',
    'What this node does: all, or data, which serves model calls alone: no administration (404, no gRPC port), no schedules, and nothing is made or migrated in the database. data needs DATABASE_URL.',
  ),
  schedules: setting<Readonly<Record<string, number>>, Readonly<Record<string, number>>>(
    schedulesKind(scheduleTable),
    defaultSeconds(scheduleTable),
    `Seconds between runs of what one node does for all (prune=600,…): ${scheduleDocs}.`,
    {
      fallbackText: Object.entries(defaultSeconds(scheduleTable))
        .map((pair) => pair.join('='))
        .join(','),
    },
  ),
  controlNice: setting(
    whole('nice', 0, 19),
    5,
    'Priority of the control process (administration, ledger) below the data workers where processors are scarce, as a nice value; 0: the same priority.',
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
    checkedList('list of hosts', allowProblem),
    noText,
    'Addresses that connections may reach although they are refused otherwise: reserved ones that a caller chooses, link-local and metadata ones that are stored. Hosts, host:port or CIDRs; bits after the prefix length are ignored.',
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
      'must be aws, azure, google or kubernetes, or one of them for a single workspace or organisation, as in aws:<id>',
      0,
    ),
    noText,
    "Clouds at which stored providers and secret references may sign in as the gateway itself (its machine, pod or environment) and act in its name: aws, azure, google; kubernetes: HashiCorp Vault may be sent the token of the gateway's pod. With an id after it (aws:<id>), that workspace or organisation's alone.",
  ),
  secretEnv: setting<readonly string[], readonly string[]>(
    list('list of variables', '^[A-Za-z_][A-Za-z0-9_]*$', 'must be the name of an environment variable', 0),
    noText,
    'Environment variables that secret references of the manager env may read (docs/secret-references.md).',
  ),
  secretDir: setting(
    path,
    null,
    'Folder that secret references of the manager file may read; links and .. that lead out of it are refused (docs/secret-references.md).',
  ),
  secretGraceS: setting(
    whole('seconds', 0, 31_536_000),
    3600,
    'How long after its five minutes the last value of a secret reference is still used while its manager returns no new one; 0: not at all. After that, calls that need it are answered 503.',
  ),
  masterKey: setting(
    secret('^\\S.{14,}\\S$', 'must be at least 16 characters'),
    null,
    'Seals stored provider credentials. Losing it loses them. Its file must be closed to other users (chmod 600).',
    { fallbackText: 'generated into the data directory' },
  ),
  deploymentSecret: setting(
    secret('^hgd_[A-Za-z0-9_-]{20,}$', 'must be the secret of a deployment (hgd_…)'),
    null,
    'Secret of the deployment that this gateway belongs to: the gateway reports as that deployment, and serves the callers that its record allows.',
  ),
  adminKey: setting(
    secret('^\\S+$', 'must be one word'),
    null,
    'Key that administration commands authenticate with.',
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
  logFormat: setting(
    choice('auto', 'json', 'pretty'),
    'auto',
    'Lines of the process log: json, or pretty for people; auto is pretty where standard output is a terminal. Anchors of the audit log are read back from json alone.',
  ),
  auditAnchors: setting<readonly string[], readonly string[]>(
    list('list of places', '^(file|log)$', 'must be file, log, or both', 0),
    ['file'],
    'Where the newest row of the audit log is recorded once a minute, signed, outside the database: file (audit_anchor_file), log (a line of the process log at level info).',
  ),
  auditAnchorFile: setting<string | null, null>(
    path,
    null,
    'File of those records, one a line; best kept on a disk that only grows.',
    { fallbackText: 'audit-anchors.jsonl in the data directory' },
  ),
  bodyLimitBytes: setting(
    whole('bytes', 1024, 1_073_741_824),
    10 * 1024 * 1024,
    'Largest JSON body a client may send; more is answered with 413.',
  ),
  upstreamConnections: setting(
    whole('count', 1, 65_535),
    256,
    'Connections a data worker opens at most to one provider origin for one workspace and credential. Connections are never shared between workspaces.',
  ),
  upstreamClient: setting(
    choice('own', 'undici'),
    'own',
    "The HTTP/1.1 client that calls providers: the gateway's own, or undici, which takes more CPU and can use a proxy.",
  ),
  upstreamProxy: setting(
    secret('^https?://[^/]+/?$', 'must be an http:// or https:// URL without a path'),
    null,
    'Forward proxy for calls of stored and named providers; needs `upstream_client: undici`. Never used for custom hosts. HTTP_PROXY and the like are ignored.',
  ),
  connectTimeoutMs: setting(milliseconds, 5000, 'Wait for TCP and TLS to a provider; 0 turns it off.'),
  headersTimeoutMs: setting(
    milliseconds,
    600_000,
    'Wait from the end of the request to the head of the answer, which a provider that does not stream sends only with the whole answer; 0 turns it off.',
  ),
  firstTokenTimeoutMs: setting(
    milliseconds,
    120_000,
    'Wait from the head of an answer to its first byte; 0 turns it off.',
  ),
  idleTimeoutMs: setting(milliseconds, 120_000, 'Wait between two chunks of an answer; 0 turns it off.'),
  writeTimeoutMs: setting(milliseconds, 30_000, 'A client that reads no byte for this long is disconnected.'),
  whenClientLeaves: setting(
    choice('cancel', 'finish'),
    'cancel',
    'If a client disconnects while a provider answers: `cancel` ends the call at once, and counts the text that has arrived or, if none has, the longest answer that `max_tokens` allows; `finish` reads the answer to its end, so that its cost is what the provider reports.',
  ),
  drainTimeoutMs: setting(
    milliseconds,
    30_000,
    'How long calls in flight may continue after SIGTERM, SIGINT or SIGHUP before they are cancelled.',
  ),
  drainDelayMs: setting(
    milliseconds,
    0,
    'How long after SIGTERM calls are still accepted, with Connection: close, while /readyz already answers 503: the time that a load balancer takes to notice. Then the drain begins.',
  ),
  hookTimeoutMs: setting(
    milliseconds,
    30_000,
    'How long a request waits for the promise that a hook of a custom plugin returns; then the hook counts as failed. The request hook of a plugin that makes attempts has no such limit.',
  ),
  plugins: setting<PluginSettings, PluginSettings>(
    plugins,
    noPlugins,
    'Custom plugins: {directory, insert: [{name, before or after: a stage, options, scope, required}]}.',
    { fallbackText: 'none' },
  ),
  prices: setting<PriceSettings, PriceSettings>(
    prices,
    noPrices,
    'Your own prices, which take precedence over the built-in ones, in dollars for a million tokens: {provider: {model: {input, output, cached, cache_write, above: {tokens, input, output, …}}}}.',
    { fallbackText: 'none' },
  ),
  databaseUrl: setting(
    secret('^postgres(ql)?://', 'must be a postgres:// URL'),
    null,
    'PostgreSQL for records, in place of SQLite in the data directory.',
    { env: 'DATABASE_URL' },
  ),
  databaseConnections: setting(
    whole('count', 2, 1000),
    10,
    'Connections to PostgreSQL that a node opens at most for records; one of them listens for changes of other nodes.',
  ),
  staleMaxS: setting(
    whole('seconds', 1, 31_536_000),
    86_400,
    'How long a node serves without PostgreSQL, with the keys, configs and providers that it has looked up before. Then it answers 503 until PostgreSQL is back.',
  ),
  ledgerDatabaseUrl: setting(
    secret('^postgres(ql)?://', 'must be a postgres:// URL'),
    null,
    'PostgreSQL for the ledger: rows of requests and their bodies, of all nodes.',
    { env: 'LEDGER_DATABASE_URL', fallbackText: 'that of DATABASE_URL; without either, SQLite' },
  ),
  ledgerDays: setting(
    whole('days', 0, 36_500),
    0,
    'Days for which a ledger in PostgreSQL keeps rows and bodies; 0: rows are never dropped.',
  ),
  logRetentionDays: setting(
    whole('days', 0, 36_500),
    0,
    'Days for which logs are kept; 0: forever. Workspaces may set fewer: docs/logs.md.',
  ),
  logBodyRetentionDays: setting(
    whole('days', 0, 36_500),
    0,
    'Days for which the bodies of requests and answers are kept; 0: as long as their logs.',
  ),
  ledgerBodiesBytes: setting(
    whole('bytes', 1024 ** 2, 2 ** 50),
    64 * 1024 ** 3,
    'Bodies that a ledger in PostgreSQL keeps; beyond, those of the oldest days are dropped, and while those of today alone are more, new ones.',
  ),
  redisUrl: setting(
    checkedSecret(redisUrlProblems),
    null,
    'Redis (6 or later) for what nodes share: circuit breakers, cache, shared state of plugins. Also redis-cluster:// and redis-sentinel://, and rediss… with TLS: docs/nodes.md. While it is unavailable, each node works by itself.',
    { env: 'REDIS_URL' },
  ),
  alertWebhook: setting(
    checkedSecret(webhookUrlProblems),
    null,
    'http or https URL to which alerts of budgets are sent: docs/alerts.md. Never printed, since it may contain a token.',
  ),
  alertWebhookSecret: setting(
    secret('^whsec_[A-Za-z0-9+/]{32,88}={0,2}$', 'must be whsec_ and the base64 text of 24 to 64 bytes'),
    null,
    'Secret that signs calls of alert_webhook, as defined by Standard Webhooks: whsec_ and the base64 text of 24 to 64 random bytes.',
  ),
  logSinks: setting(
    checkedSecret(logSinkProblems),
    null,
    'Where rows of requests are sent: a JSON array of {"type":"http|s3|clickhouse","url":…}, docs/telemetry.md. Never printed, since headers may contain credentials.',
  ),
  awsEndpointUrlS3: setting(
    text('URL', '^https?://[^\\s/@]+/?$', 'must be an http:// or https:// URL without a path'),
    null,
    "Another service than Amazon's that speaks S3, for log sinks and exports: buckets are then named in the path.",
    { env: 'AWS_ENDPOINT_URL_S3' },
  ),
  otelExporterOtlpEndpoint: setting(
    text('URL', '^https?://[^\\s@]+$', 'must be an http:// or https:// URL'),
    null,
    'OpenTelemetry collector that gets spans of requests, calls to providers, guardrails and cache lookups; docs/telemetry.md.',
    { env: 'OTEL_EXPORTER_OTLP_ENDPOINT' },
  ),
  otelExporterOtlpProtocol: setting(
    choice('http/protobuf', 'http/json'),
    'http/protobuf',
    'How spans are sent to otel_exporter_otlp_endpoint.',
    { env: 'OTEL_EXPORTER_OTLP_PROTOCOL' },
  ),
  otelExporterOtlpHeaders: setting(
    secret('^[\\t\\x20-\\x7e]+$', 'must be name=value pairs with commas between them'),
    null,
    'Headers of these calls: name=value pairs with commas between them, values percent-encoded.',
    { env: 'OTEL_EXPORTER_OTLP_HEADERS' },
  ),
  otelServiceName: setting(
    text('name', '^\\S.*$', 'must not be empty'),
    'headgate',
    'service.name of the spans.',
    { env: 'OTEL_SERVICE_NAME' },
  ),
  otelResourceAttributes: setting(
    text('pairs', '^[\\t\\x20-\\x7e]+$', 'must be name=value pairs with commas between them'),
    null,
    'Further attributes of all spans: name=value pairs with commas between them.',
    { env: 'OTEL_RESOURCE_ATTRIBUTES' },
  ),
  exportUrl: setting(
    text(
      'URL',
      '^(?:file:///|s3://[a-z0-9][a-z0-9.-]{1,62}(?:/|$))[^?#@\\s]*$',
      'must be file:///folder or s3://bucket/prefix',
    ),
    null,
    'Where exports of logs are written: file:///folder or s3://bucket/prefix; unless given, the folder exports of the data directory (docs/exports.md).',
  ),
  exportRetentionDays: setting(
    whole('days', 0, 36_500),
    7,
    'Days after which the file of an export of logs is removed; 0: never (docs/exports.md).',
  ),
  smtpUrl: setting(
    secret('^smtps?://', 'must be an smtp:// or smtps:// URL'),
    null,
    'Mail server: smtp://user:password@host:port, or smtps:// for TLS from the first byte on. Unless given, no mail is sent (docs/mail.md).',
    { env: 'SMTP_URL' },
  ),
  mailFrom: setting(
    text('address', '^[^\\r\\n]*@[^\\r\\n]+$', 'must be name@host or Name <name@host>'),
    null,
    'Sender of mails: name@host or Name <name@host>.',
    { fallbackText: 'headgate@ and the host of public_url' },
  ),
} as const;

export type SettingKey = keyof typeof table;

/** Every setting by its key: those of the table, and before `plugins` those that the stages bring. */
export const allSettings: ReadonlyMap<string, Setting<unknown, unknown>> = merged();

function merged(): Map<string, Setting<unknown, unknown>> {
  const all = new Map<string, Setting<unknown, unknown>>();
  for (const [key, one] of Object.entries(table)) {
    if (key === 'plugins') for (const [name, row] of stageRows) all.set(name, row.setting);
    all.set(key, one as Setting<unknown, unknown>);
  }
  for (const key of stageRows.keys())
    if (Object.hasOwn(table, key))
      throw new Error(`The setting ${key} of a stage has the name of another: rename it.`);
  return all;
}

type ValueOf<S> = S extends Setting<infer T, infer D> ? (null extends D ? T | null : T) : never;

/** Values of settings that stages bring, by stage and name. */
export type StageValues = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What the process runs with, checked and frozen. Secrets are `Secret`s; paths are absolute. */
export type Settings = { readonly [K in SettingKey]: ValueOf<(typeof table)[K]> } & {
  readonly stages: StageValues;
};
