import type { GuardrailCheck } from '../guardrails/guardrail-checks.js';
import type { InsertedPlugin, InsertedPlugins } from '../plugin-host/files/inserted.js';
import type { Metric } from '../plugin-host/metrics.js';
import type { OwnPrices } from '../prices/pricing.js';
import type { Explained, ToExplain } from './explained.js';
import type {
  ConfigRecord,
  DeploymentRecord,
  GuardrailRecord,
  KeyRecord,
  PartnerRecord,
  PoliciesRecord,
  ProviderRecord,
  TokenRecord,
} from './records.js';
import type { NewsKind, QuestionKind } from './shared.js';

/** The messages between the control process and a data worker, over Node's IPC channel. Plain JSON, and bytes. */

export type LookupKind =
  | 'key'
  | 'token'
  | 'config'
  | 'provider'
  | 'slugs'
  | 'policies'
  | 'guardrail'
  | 'partner'
  | 'deployment';

/** What the store has records of; a token is checked instead, and slugs are of providers. */
export type StoredKind = Exclude<LookupKind, 'token' | 'slugs'>;

export interface LookupRecords {
  key: KeyRecord;
  /** By the token's own text. */
  token: TokenRecord;
  config: ConfigRecord;
  provider: ProviderRecord;
  /** Of the providers that calls of the workspace can use. */
  slugs: readonly string[];
  policies: PoliciesRecord;
  guardrail: GuardrailRecord;
  partner: PartnerRecord;
  deployment: DeploymentRecord;
}

/**
 * What to forget. `name`: key hash, config slug or id, provider slug, deployment id, `*` for all (policies,
 * guardrails and partners have no other).
 * `workspace` is null for a deployment, and for a key by its hash; with `*` for keys it narrows them to those of a
 * workspace, `user` to those of a user, and `tokensOf` to the JSON web tokens of an organisation. Tokens are forgotten
 * as keys are.
 */
export interface Forget {
  kind: StoredKind;
  workspace: string | null;
  name: string;
  user?: string;
  /**
   * Id of the organisation. Its key set is fetched again before another of its tokens is accepted, unless `strangers` is
   * given.
   */
  tokensOf?: string;
  /** With `tokensOf`: only tokens that name no one whom the organisation had as a user. */
  strangers?: true;
}

/** All JSON web tokens of an organisation. */
export const tokensOf = (organisationId: string): Forget => ({
  kind: 'key',
  workspace: null,
  name: '*',
  tokensOf: organisationId,
});

/** Tokens of an organisation whose user it did not have: by a new user or address, they may be that user's. */
export const tokensOfStrangers = (organisationId: string): Forget => ({
  ...tokensOf(organisationId),
  strangers: true,
});

/** All cached records. */
export const forgetEverything: readonly Forget[] = [
  { kind: 'key', workspace: null, name: '*' },
  { kind: 'config', workspace: null, name: '*' },
  { kind: 'provider', workspace: null, name: '*' },
  { kind: 'policies', workspace: null, name: '*' },
  { kind: 'guardrail', workspace: null, name: '*' },
  { kind: 'partner', workspace: null, name: '*' },
  { kind: 'deployment', workspace: null, name: '*' },
];

/** Does a change with the name `*` apply to the keys of that workspace and user? */
export function concernsKey(
  { kind, workspace, user, tokensOf, strangers }: Forget,
  key: {
    readonly organisationId?: string;
    readonly workspaceId: string | null;
    readonly userId: string | null;
    readonly isToken?: boolean;
  },
): boolean {
  return (
    kind === 'key' &&
    (workspace === null || workspace === key.workspaceId) &&
    (user === undefined || user === key.userId) &&
    (tokensOf === undefined || (key.isToken === true && tokensOf === key.organisationId)) &&
    (strangers === undefined || key.userId === null)
  );
}

/** The memory that a data worker uses. */
export interface WorkerMemory {
  /** Of its heap, and outside of it. */
  readonly bytes: number;
  /** With more it is replaced. */
  readonly boundBytes: number;
  /** Has it used more for some seconds? */
  readonly isOver: boolean;
}

/** The part of a data worker's memory that the code of a plugin has allocated. */
export interface MemoryOwner {
  readonly plugin: string;
  readonly bytes: number;
}

/** The settings of a data worker at its start; without the master key. */
export interface WorkerInit {
  worker: number;
  /** HMAC key of gateway-key hashes, hex. */
  pepper: string;
  host: string;
  port: number;
  /** Data workers of this node. */
  workers: number;
  /** false: this node has no administration plane. */
  administration: boolean;
  /** Id of the deployment that this node reports as; null: none. */
  deployment: string | null;
  /** By workspace id; others weigh 1. */
  workspaceWeights: Record<string, number>;
  /** An operator's own prices, by provider and model. */
  prices: OwnPrices;
  /** Their number: it grows when they change. */
  pricesRevision: number;
  /** Can several workers listen on the port at the same time? */
  shared: boolean;
  /** Is it the first to listen on the port? Then a port in use is an error, even if the other program shares it. */
  isFirst: boolean;
  /** Bytes of memory above which it is replaced; null: computed from V8's limit. */
  memoryBytes: number | null;
  transport: 'uws' | 'node';
  headerPrefixes: string[];
  egressAllow: string[];
  /** Grants, as `OwnIdentities` takes them. */
  ownIdentity: string[];
  journalDir: string;
  nodeId: string;
  logBodies: boolean;
  /** Are spans exported? */
  sendsTraces: boolean;
  log: { level: string; format: 'auto' | 'json' | 'pretty' };
  bodyLimitBytes: number;
  upstreamConnections: number;
  upstreamClient: 'own' | 'undici';
  /** URL of a forward proxy; null: none. */
  upstreamProxy: string | null;
  timeouts: { connectMs: number; headersMs: number; firstTokenMs: number; idleMs: number };
  writeTimeoutMs: number;
  /** Is an answer read to its end after its client has disconnected? */
  whenClientLeaves: 'cancel' | 'finish';
  /** Settings of the stages, by stage. */
  stages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Milliseconds that the promise of a custom plugin's hook may take. */
  hookTimeoutMs: number;
  plugins: InsertedPlugins;
}

/** Counts of what a worker's journal and log have dropped since the worker started. */
export interface Dropped {
  /** Intents and settlements that could not be written or buffered. */
  records: number;
  /** Bodies that could not be written. */
  bodies: number;
  /** Lines of the process log that could not be written. */
  lines: number;
}

/** A part of a body. `broken`: the rest will not arrive. */
export interface AdminPiece {
  piece: Buffer;
  last: boolean;
  broken: boolean;
}

export type FromControl =
  | { t: 'init'; init: WorkerInit }
  | { t: 'answer'; id: number; value: LookupRecords[LookupKind] | null }
  /** The lookup itself failed (the store is unavailable): the worker answers 503. */
  | { t: 'failed'; id: number }
  | { t: 'forget'; id: number; what: Forget[] }
  | { t: 'explain'; id: number; asked: ToExplain }
  /** The node will drain soon: answers have `Connection: close` from now on. */
  | { t: 'announce-drain' }
  /** Another worker has replaced it: it accepts no new connections, and ends when the open ones have ended. */
  | { t: 'retire' }
  | { t: 'drain'; deadlineMs: number }
  /** Sets these custom plugins up; the worker answers with `plugins-ready`, and keeps using the present ones. */
  | { t: 'plugins'; id: number; insert: readonly InsertedPlugin[] }
  /** Every worker has answered: new requests get them, or they are dropped. */
  | { t: 'plugins-go'; commit: boolean }
  | { t: 'shared-answer'; id: number; value: unknown }
  | { t: 'shared-failed'; id: number }
  | { t: 'shared-news'; kind: NewsKind; news: unknown }
  /** Answer to an administration request: its head with the first piece, then piece by piece, on request. */
  | ({ t: 'admin-head'; id: number; status: number; headers: string[] } & AdminPiece)
  | ({ t: 'admin-piece'; id: number } & AdminPiece);

export type FromWorker =
  | { t: 'lookup'; id: number; kind: LookupKind; workspace: string | null; name: string }
  | { t: 'forgot'; id: number }
  /** null: it failed; the worker's log has the reason. */
  | { t: 'explained'; id: number; value: Explained | null }
  | { t: 'shared-question'; id: number; kind: QuestionKind; question: unknown }
  | { t: 'shared-news'; kind: NewsKind; news: unknown }
  /** An administration request that arrived over REST; its body follows. */
  | {
      t: 'admin';
      id: number;
      verb: string;
      path: string;
      query: string;
      headers: string[];
      address: string;
    }
  | { t: 'admin-body'; id: number; piece: Buffer; last: boolean }
  /** The previous piece was accepted. */
  | { t: 'admin-more'; id: number }
  /** The client has disconnected. */
  | { t: 'admin-gone'; id: number }
  /** `failure`: what is wrong with which plugin; null: nothing. */
  | { t: 'plugins-ready'; id: number; failure: string | null }
  /** Names of the providers that its plugins bring, and rows of their checks by id: before it serves and whenever its plugins change. */
  | {
      t: 'plugins-bring';
      providers: readonly string[];
      checks: readonly (readonly [id: string, GuardrailCheck])[];
    }
  | { t: 'up' }
  | { t: 'ready'; port: number }
  | { t: 'failed'; message: string }
  | {
      t: 'beat';
      inFlight: number;
      loopDelayMs: number;
      dropped: Dropped;
      metrics: Metric[];
      memory: WorkerMemory;
    }
  /** Sent by a worker that was replaced because of its memory, before it ends; largest first. */
  | { t: 'memory-owners'; owners: readonly MemoryOwner[] }
  | { t: 'drained' };
