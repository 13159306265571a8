import type { Explained, ToExplain } from './explained.js';
import type { Metric } from './metrics.js';
import type { KeyType } from './principal.js';
import type { NewsKind, QuestionKind } from './shared.js';

/** What crosses between the control process and a data worker, over Node's IPC channel. Plain JSON, and bytes. */

export type LookupKind = 'key' | 'config' | 'provider';

/** Wire form of a Principal. */
export interface KeyRecord {
  organisationId: string;
  workspaceId: string | null;
  keyId: string;
  keyName: string;
  keyType: KeyType;
  userId: string | null;
  scopes: string[];
  expiresAt: number | null;
  /** May its calls use saved configs and providers alone? */
  blockInline: boolean;
  defaults: { configId: string | null; allowConfigOverride: boolean; metadata: Record<string, string> };
}

export interface ConfigRecord {
  slug: string;
  version: string;
  /** JSON text of the routing config. */
  text: string;
}

export interface ProviderRecord {
  id: string;
  slug: string;
  workspaceId: string;
  provider: string;
  /** Opened credential: the channel is a private socket pair between parent and child. */
  credential: string | null;
  baseUrl: string | null;
  /** Is that address the organisation's word? Else calls to it pass the rules for hosts that callers choose. */
  hostTrusted: boolean;
  /** Sent with every call: names in lower case, each with its value behind it. */
  headers: string[];
  /** Fields of the provider's own in snake case: `openai_organization`. */
  fields: Record<string, string>;
  /** Fields that are credentials or hold one, opened. */
  secrets: Record<string, string>;
  /** Unix milliseconds. */
  expiresAt: number | null;
  /** Whose budget is used up. */
  exhausted: 'virtual_key' | 'integration' | null;
  /** null: every model. */
  models: ModelRules | null;
}

/** Which models a stored provider may be asked for. */
export interface ModelRules {
  /** Do models pass that are not named? */
  others: boolean;
  /** `baseUrl`: where this model alone is reached, version segment included. */
  named: { model: string; enabled: boolean; baseUrl: string | null }[];
}

export interface LookupRecords {
  key: KeyRecord;
  config: ConfigRecord;
  provider: ProviderRecord;
}

/** What to forget. `name`: key hash, config slug or id, provider slug, `*` for all; `workspace` null for keys. */
export interface Forget {
  kind: LookupKind;
  workspace: string | null;
  name: string;
}

/** What a data worker is given when it starts; the master key is not among it. */
export interface WorkerInit {
  worker: number;
  /** HMAC key of gateway-key hashes, hex. */
  pepper: string;
  host: string;
  port: number;
  /** Data workers of this node. */
  workers: number;
  /** By workspace id; others weigh 1. */
  workspaceWeights: Record<string, number>;
  /** Do several workers share the port? */
  shared: boolean;
  transport: 'uws' | 'node';
  headerPrefixes: string[];
  egressAllow: string[];
  /** Grants, as `OwnIdentities` takes them. */
  ownIdentity: string[];
  journalDir: string;
  logBodies: boolean;
  logLevel: string;
  bodyLimitBytes: number;
  upstreamConnections: number;
  timeouts: { connectMs: number; headersMs: number; firstTokenMs: number; idleMs: number };
  writeTimeoutMs: number;
  /** Options of the stage of that name. */
  cache: {
    memoryBytes: number;
    entryBytes: number;
    maxAge: number;
    waitMs: number;
    embedding: string | null;
    checkPercent: number;
  };
  plugins: {
    directory: string | null;
    insert: { name: string; before?: string; after?: string; options?: unknown }[];
  };
}

/** What a worker's journal has given up since the worker started. */
export interface Dropped {
  /** Intents and settlements that could not be written, nor wait any longer. */
  records: number;
  /** Bodies that the disk did not take. */
  bodies: number;
}

/** A part of a body. `broken`: the rest will not come. */
export interface AdminPiece {
  piece: Buffer;
  last: boolean;
  broken: boolean;
}

export type FromControl =
  | { t: 'init'; init: WorkerInit }
  | { t: 'answer'; id: number; value: LookupRecords[LookupKind] | null }
  /** The lookup itself failed (store away): the worker answers 503. */
  | { t: 'failed'; id: number }
  | { t: 'forget'; id: number; what: Forget[] }
  | { t: 'explain'; id: number; asked: ToExplain }
  | { t: 'drain'; deadlineMs: number }
  | { t: 'shared-answer'; id: number; value: unknown }
  | { t: 'shared-failed'; id: number }
  | { t: 'shared-news'; kind: NewsKind; news: unknown }
  /** Answer to an administration request: its head with the first piece, then piece by piece, as asked for. */
  | ({ t: 'admin-head'; id: number; status: number; headers: string[] } & AdminPiece)
  | ({ t: 'admin-piece'; id: number } & AdminPiece);

export type FromWorker =
  | { t: 'lookup'; id: number; kind: LookupKind; workspace: string | null; name: string }
  | { t: 'forgot'; id: number }
  /** null: it could not be found out; the worker's log says why. */
  | { t: 'explained'; id: number; value: Explained | null }
  | { t: 'shared-question'; id: number; kind: QuestionKind; question: unknown }
  | { t: 'shared-news'; kind: NewsKind; news: unknown }
  /** An administration request that came in over REST; its body follows. */
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
  /** The piece before was taken. */
  | { t: 'admin-more'; id: number }
  /** The client has gone. */
  | { t: 'admin-gone'; id: number }
  | { t: 'up' }
  | { t: 'ready'; port: number }
  | { t: 'failed'; message: string }
  | { t: 'beat'; inFlight: number; loopDelayMs: number; dropped: Dropped; metrics: Metric[] }
  | { t: 'drained' };
