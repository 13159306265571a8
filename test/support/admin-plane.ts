import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { AdminCallError, type AdminClient, connectAdmin } from '../../src/client/index.js';
import { clouds, OwnIdentities } from '../../src/common/access/own-identity.js';
import { type BudgetRule, periodAt } from '../../src/common/core/budget-rules.js';
import type { Forget } from '../../src/common/ipc/messages.js';
import { uuidv7 } from '../../src/common/text/id.js';
import {
  type AdminServer,
  type AdminServerOptions,
  startAdminServer,
} from '../../src/control-plane/administration/server.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { FirstKeys, Store } from '../../src/control-plane/store/store.js';
import { providerRows } from '../../src/data-plane/providers/rows.js';
import { logRow } from './rows-ledger.js';
import { openSqliteStore } from './stores.js';

export interface RestOptions {
  /** The first admin key, unless given; null sends none. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RestResult {
  readonly status: number;
  /** Several values of one name are lines. */
  readonly headers: ReadonlyMap<string, string>;
  /** The body: parsed where it is JSON, else its text. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked into by the tests.
  readonly json: any;
}

/** An administration plane over a store of its own, over gRPC and REST; no data workers. */
export interface AdminPlane {
  readonly store: Store;
  readonly server: AdminServer;
  /** What the server was started with, to start another. */
  readonly options: AdminServerOptions;
  readonly first: FirstKeys;
  /** Id of a second workspace, slug `other`. The first one's slug is `default`. */
  readonly other: string;
  /** Over gRPC: with the first admin key, and with the first workspace key. */
  readonly admin: AdminClient;
  readonly workspace: AdminClient;
  client(key: string): AdminClient;
  /** Over REST. A body that is no string is sent as JSON. */
  rest(verb: string, path: string, body?: unknown, options?: RestOptions): Promise<RestResult>;
  /** A request has used so much of a budget, in its unit, in the period of now. */
  spend(rule: BudgetRule, amount: number): Promise<void>;
  /** What data workers were told to forget. */
  readonly forgotten: Forget[];
  /** Lines of the process log. */
  readonly logged: string[];
  close(): Promise<void>;
}

const ofNoNode = '0190a1b2-0000-7000-8000-000000000000';

/** Starts one. `options` stand over what it would have. */
export async function startPlane(options: Partial<AdminServerOptions> = {}): Promise<AdminPlane> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-plane-'));
  const store = options.store ?? (await openSqliteStore(dataDir));
  const first = (await bootstrap(store, { dataDir, simulated: false }))!;
  const made = await store.workspaces.create(first.organisation_id, { name: 'Other', slug: 'other' });
  const ledger = await openLedger({ dataDir });
  const forgotten: Forget[] = [];
  const logged: string[] = [];
  const log = (fields: object, message: string): void =>
    void logged.push(`${message} ${JSON.stringify(fields)}`);
  const parts: AdminServerOptions = {
    host: '127.0.0.1',
    port: 0,
    store,
    ledger,
    feedbacks: ledger.feedbacks,
    logWriter: ledger,
    budgets: ledger.budgets,
    changed: async (what) => void forgotten.push(...what),
    validateConfig: (text) => void JSON.parse(text),
    providers: providerRows,
    ownIdentities: new OwnIdentities(clouds),
    log: { info: log, warn: log, error: log },
    ...options,
  };
  const server = await startAdminServer(parts);
  const clients: AdminClient[] = [];
  const client = (key: string): AdminClient => {
    const one = connectAdmin({ address: `127.0.0.1:${server.port}`, key });
    clients.push(one);
    return one;
  };
  return {
    store,
    server,
    options: parts,
    first,
    other: made === 'taken' ? '' : made.id,
    admin: client(first.admin_key),
    workspace: client(first.workspace_key),
    client,
    rest: (verb, path, body, how) => overRest(server, first.admin_key, verb, path, body, how),
    spend: async (rule, amount) => {
      const { startsAt, endsAt } = periodAt(rule, Date.now());
      const { budget, limit, threshold } = rule;
      const row = logRow(first.organisation_id, first.workspace_id, uuidv7(), 't');
      const charges = [[budget, startsAt, endsAt, limit, threshold, amount]] as const;
      await ledger.apply({
        settled: { packed: null, rows: [{ ...row, at: Date.now(), node: ofNoNode, charges }] },
        unknown: [],
        positions: new Map(),
        opened: [],
        closed: [],
      });
    },
    forgotten,
    logged,
    async close() {
      for (const one of clients) one.close();
      await server.close(1000);
      await store.close();
      await ledger.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function overRest(
  server: AdminServer,
  adminKey: string,
  verb: string,
  address: string,
  body: unknown,
  { key = adminKey, headers = {} }: RestOptions = {},
): Promise<RestResult> {
  const [path = '', query = ''] = address.split(/\?(.*)/s);
  const sent = Object.entries({
    ...(key !== null && { 'x-gateway-api-key': key }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  });
  const bytes =
    body instanceof Uint8Array ? body : typeof body === 'string' ? body : JSON.stringify(body ?? '');
  const answer = await server.rest({
    verb,
    path,
    query,
    headers: sent.flat(),
    address: '127.0.0.1',
    gone: AbortSignal.timeout(60_000),
    body: body === undefined ? Buffer.alloc(0) : Buffer.from(bytes),
  });
  const pieces: Buffer[] = [];
  if (typeof answer.body === 'string' || answer.body instanceof Uint8Array)
    pieces.push(Buffer.from(answer.body));
  else for await (const piece of answer.body) pieces.push(Buffer.from(piece));
  const text = Buffer.concat(pieces).toString();
  const names = new Map<string, string>();
  for (let i = 0; i < answer.headers.length; i += 2) {
    const [name, value] = [answer.headers[i]!, answer.headers[i + 1]!];
    const before = names.get(name);
    names.set(name, before === undefined ? value : `${before}\n${value}`);
  }
  const isJson =
    names.get('content-type')?.endsWith('json') === true && !names.get('content-type')?.includes('nd');
  return { status: answer.status, headers: names, json: isJson ? JSON.parse(text) : text };
}

/** Awaits the refusal of a call over gRPC; gives its message. */
export async function refused(work: Promise<unknown>, status: string, code: string | null): Promise<string> {
  const error = await work.then(
    (value) => expect.fail(`must be refused, gave ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AdminCallError)) throw error;
  expect({ status: error.status, code: error.code }, error.message).to.deep.equal({ status, code });
  return error.message;
}
