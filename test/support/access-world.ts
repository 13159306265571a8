import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode, type Message } from '../../proto/codec.js';
import { type AdminMethod, adminMethod, adminTree } from '../../proto/tree.js';
import { makeGatewayKey } from '../../src/common/access/gateway-key.js';
import type { KeyType } from '../../src/common/access/principal.js';
import { scopesOf } from '../../src/common/access/scopes.js';
import { Calls } from '../../src/control-plane/administration/access/call.js';
import { oneKey } from '../../src/control-plane/administration/access/caller.js';
import { AdminError, adminErrors } from '../../src/control-plane/administration/admin-error.js';
import { readRequest } from '../../src/control-plane/administration/grpc/grpc.js';
import { RestBridge } from '../../src/control-plane/administration/rest/bridge.js';
import { implement } from '../../src/control-plane/administration/services.js';
import { readMessage } from '../../src/control-plane/administration/shape/json.js';
import type { Analytics, AnalyticsQuestion, AnswerTo } from '../../src/control-plane/analytics/question.js';
import { openOutbox } from '../../src/control-plane/mail/outbox.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import {
  insertOrganisation,
  type OrganisationParts,
} from '../../src/control-plane/store/sql/records/organisations.js';
import { openStore, type Store } from '../../src/control-plane/store/store.js';
import { type Place, requests } from './access-requests.js';
import { noBudgets, noFeedback } from './no-budgets.js';
import { logRow, RowsLedger } from './rows-ledger.js';

/** What a call came to: `ok`, or the code of its refusal, with the HTTP status. */
export interface Outcome {
  readonly code: string;
  readonly status: number;
  readonly message: string;
}

export type ProtocolCall = (method: AdminMethod, request: Message, key: string | null) => Promise<Outcome>;

/** Two organisations with everything in them, every kind of caller, and both protocols; all in this process. */
export interface World {
  readonly places: Readonly<Record<'own' | 'sibling' | 'foreign' | 'missing', Place>>;
  /** By name; null calls without a key. */
  readonly actors: Readonly<Record<string, string | null>>;
  /** Tokens of people who are signed in, by name. */
  readonly sessions: Readonly<Record<string, string>>;
  readonly store: Store;
  /** Of `own`. */
  readonly organisation: string;
  readonly protocols: Readonly<Record<'grpc' | 'rest', ProtocolCall>>;
  /** Runs `work`, and then nothing of it has happened. */
  undone<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const silent = { info: () => {}, warn: () => {}, error: () => {} };

function here<T>(answer: T | string): T {
  if (typeof answer === 'string') throw new Error(answer);
  return answer;
}

const refusalOf = (thrown: unknown): Outcome => {
  const { code, answered, message } = AdminError.from(thrown);
  return { code, status: answered.http, message };
};
const ok: Outcome = { code: 'ok', status: 200, message: '' };

/** Failed keys are counted by address: each call comes from another one. */
let calls = 0;
const nextAddress = (): string => {
  calls++;
  return `10.${calls >> 16}.${(calls >> 8) & 255}.${calls & 255}`;
};

/** As the gRPC server does it: the request crosses as bytes. */
function grpcCall(through: Calls) {
  return async (method: AdminMethod, request: Message, key: string | null): Promise<Message> => {
    const bytes = encode(method.request, request);
    const gone = new AbortController();
    const call = {
      method,
      requestId: randomUUID(),
      key: () => oneKey(key === null ? [] : [key], []),
      read: () => readRequest(method, bytes),
      address: nextAddress(),
      userAgent: null,
      rest: null,
      deadline: Date.now() + 10_000,
      gone: gone.signal,
    };
    if (!method.streams) return through.unary(call);
    const responses = through.stream(call);
    const first = responses.next();
    try {
      if (!watches(method)) return (await first).value ?? {};
      const quiet = new Promise<null>((done) => setTimeout(() => done(null), quietMs));
      return (await Promise.race([first, quiet]))?.value ?? {};
    } finally {
      gone.abort();
      await first.catch(() => {});
      await responses.return(undefined);
    }
  };
}

/** One that watches says nothing while nothing happens; a refusal has come by then, on a busy machine too. */
const quietMs = 100;
const watches = ({ name }: AdminMethod): boolean => name === 'Watch.WatchConfig';

/** The request as an HTTP client writes it. */
function written({ bindings }: AdminMethod, request: Message) {
  const { verb, path, body } = bindings[0]!;
  const whole = request[body];
  const rest: Record<string, unknown> = { ...request };
  const filled = path.replace(/\{([^}]*)\}/g, (_, name: string) => {
    delete rest[name];
    return encodeURIComponent(String(request[name]));
  });
  const query = new URLSearchParams();
  if (body === '')
    for (const [name, value] of Object.entries(rest)) query.append(name, [value].flat().join(','));
  const json = body === '' ? null : Array.isArray(whole) ? rest : (whole ?? rest);
  return { verb, path: filled, query: query.toString(), json };
}

/** Bytes, as JSON has them; `JSON.stringify` has made an object of a buffer already. */
const asBase64 = (_name: string, value: unknown): unknown => {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: unknown };
  return type === 'Buffer' ? Buffer.from(data as number[]).toString('base64') : value;
};

/** Errors of SCIM have a status and a sentence: the code that gRPC has besides. */
function scimCode(status: number, detail: string): string {
  if (status === 404) return /^\w+: there is no such/.test(detail) ? 'AB02' : 'AB08';
  return { 400: 'AB01', 401: 'AB05', 403: 'AB03', 409: 'AB07' }[status] ?? String(status);
}

function restCall(bridge: RestBridge): ProtocolCall {
  return async (method, request, key) => {
    const { verb, path, query, json } = written(method, request);
    const headers = key === null ? [] : ['x-gateway-api-key', key];
    const gone = new AbortController();
    if (watches(method)) setTimeout(() => gone.abort(), quietMs).unref();
    const answer = await bridge.answer({
      verb,
      path,
      query,
      headers: json === null ? headers : [...headers, 'content-type', 'application/json'],
      address: nextAddress(),
      body: Buffer.from(json === null ? '' : JSON.stringify(json, asBase64)),
      gone: gone.signal,
    });
    if (answer.status < 300) {
      if (typeof answer.body !== 'string' && !Buffer.isBuffer(answer.body))
        for await (const _ of answer.body) gone.abort();
      return ok;
    }
    const { data, detail, code, message } = JSON.parse(String(answer.body));
    if (data !== undefined) return { code: data.errorCode, status: answer.status, message: data.message };
    if (detail !== undefined)
      return { code: scimCode(answer.status, detail), status: answer.status, message: detail };
    // In the form of google.rpc.Status.
    const named = Object.entries(adminErrors).find(([, { grpc }]) => grpc === code);
    return { code: named?.[0] ?? String(code), status: answer.status, message };
  };
}

/** Analytics of a ledger without requests. */
const noRequests: Analytics = {
  async ask<Q extends AnalyticsQuestion>(question: Q): Promise<AnswerTo<Q>> {
    const answers = {
      graph: { summary: {}, points: [], series: null },
      cache: {},
      groups: { total: 0, rows: [] },
      values: { total: 0, values: [] },
      usage: { groups: [] },
      slots: [],
    };
    return answers[question.kind] as unknown as AnswerTo<Q>;
  },
};

class Undone extends Error {}

/** Makes the world. */
export async function makeWorld(): Promise<World> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-access-'));
  const store = await openStore({ dataDir, masterKey: new MasterKey(randomBytes(32)) });
  const ledger = new RowsLedger();
  const parts = {
    store,
    ledger,
    analytics: noRequests,
    budgets: noBudgets,
    ...noFeedback,
    changed: async () => {},
    validateConfig: () => {},
    // There is no data worker: nothing is known of any request.
    explain: async () => ({
      refused: null,
      config: null,
      configVersion: 'none',
      cache: null,
      limits: [],
      nodes: [],
      judged: [],
    }),
    providers: { has: () => true, names: () => [], needsAddress: () => false },
    outbox: openOutbox(store),
    log: silent,
  };
  const methods = [...adminTree().methods.values()];
  const through = new Calls(parts, implement(parts, methods));
  const bridge = new RestBridge({
    calls: through,
    methods,
    pages: new Map(),
    keyHeaders: ['x-gateway-api-key'],
    longestOf: () => 10_000,
  });
  const grpc = grpcCall(through);

  const home = here((await store.establish(() => {})) ?? 'not new').organisation_id;
  const away = await organisation(store);
  const builder = new Builder(store, ledger, grpc);
  const own = await builder.place(home, 'Home');
  const sibling = await builder.place(home, 'Sibling');
  const foreign = await builder.place(away, 'Away');
  const gone = here(await store.workspaces.create(home, { name: 'Gone', slug: 'gone' })).id;

  const key = (
    organisationId: string,
    type: KeyType,
    workspaceId: string | null,
    more: { readonly userId?: string; readonly expiresAt?: number; readonly scopes?: string[] } = {},
  ) => builder.key(organisationId, type, workspaceId, more);
  const actors: Record<string, string | null> = {
    nobody: null,
    unknown: makeGatewayKey('workspace-service'),
    expired: await key(home, 'organisation-service', null, { expiresAt: Date.now() - 1 }),
    archived: await key(home, 'workspace-service', gone),
    admin: await key(home, 'organisation-service', null),
    // Manages people, and may do nothing else.
    'admin of users': await key(home, 'organisation-service', null, {
      scopes: scopesOf('organisation-service').filter((scope) => scope.startsWith('organisation_users.')),
    }),
    service: await key(home, 'workspace-service', own.workspace),
  };
  // Owners and admins of the organisation are in every workspace without being its members.
  const people = [
    ['owner'],
    ['admin'],
    ['member', 'admin'],
    ['member', 'manager'],
    ['member', 'member'],
  ] as const;
  const sessions: Record<string, string> = {};
  for (const [role, place] of people) {
    const workspaces = place === undefined ? [] : [{ workspaceId: own.workspace, role: place }];
    const name = place === undefined ? role : `${role}/${place}`;
    const email = `${name.replace('/', '-')}@example.com`;
    const { id: userId } = here(await store.users.create(home, { email, role, workspaces }));
    actors[`user ${name}`] = await key(home, 'workspace-user', own.workspace, { userId });
    const made = here(await store.sessions.create(home, { userId, ...somewhere }));
    sessions[`session ${name}`] = made.token.reveal();
  }
  actors['foreign'] = await key(away, 'organisation-service', null);
  here(await store.workspaces.archive(home, gone));

  const missing = Object.fromEntries(Object.keys(own).map((field) => [field, randomUUID()]));
  return {
    places: { own, sibling, foreign, missing: missing as unknown as Place },
    actors,
    sessions,
    store,
    organisation: home,
    protocols: {
      grpc: (method, request, text) => grpc(method, request, text).then(() => ok, refusalOf),
      rest: restCall(bridge),
    },
    async undone(work) {
      const done: Awaited<ReturnType<typeof work>>[] = [];
      try {
        await store.unit(home, async () => {
          done.push(await work());
          throw new Undone();
        });
      } catch (thrown) {
        if (!(thrown instanceof Undone)) throw thrown;
      }
      return done[0]!;
    },
    async close() {
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A second organisation beside the first: no method makes one. */
async function organisation(store: Store): Promise<string> {
  const { parts } = store as unknown as { parts: OrganisationParts & { readonly database: Database } };
  const row = { id: randomUUID(), name: 'Away', created_at: Date.now() };
  await parts.database.write((sql) => insertOrganisation(sql, parts, row));
  return row.id;
}

const somewhere = { address: '192.0.2.1', userAgent: 'test' };

/** Fills workspaces, by the methods themselves. */
class Builder {
  /** An organisation has one plugin of each. */
  readonly #partners = ['mistral', 'pillar', 'qualifire', 'lasso'];

  constructor(
    readonly store: Store,
    readonly ledger: RowsLedger,
    readonly call: (method: AdminMethod, request: Message, key: string) => Promise<Message>,
  ) {}

  /** A key with every scope of its type. */
  async key(
    organisationId: string,
    type: KeyType,
    workspaceId: string | null,
    more: object,
  ): Promise<string> {
    const input = { type, workspaceId, name: type, scopes: scopesOf(type), ...more };
    return here(await this.store.keys.create(organisationId, input)).text.reveal();
  }

  /** The id of a key that was rotated by schedule. */
  async rotated(
    organisationId: string,
    type: KeyType,
    workspaceId: string | null,
    userId?: string,
  ): Promise<string> {
    const rotationPolicy = {
      ...({ period: 'weekly', periodDays: null } as const),
      ...{ transitionMs: 1_800_000, nextRotationAt: Date.now() - 1 },
    };
    const input = { type, workspaceId, name: type, scopes: ['configs.list'], rotationPolicy };
    const { key } = here(
      await this.store.keys.create(organisationId, { ...input, ...(userId && { userId }) }),
    );
    await this.store.keyRotation.rotate({ organisationId, id: key.id });
    return key.id;
  }

  /** The id of a mail that has failed. */
  async failedMail(organisationId: string, name: string): Promise<string> {
    const { mails } = this.store;
    await mails.add({
      ...{ organisationId, workspaceId: null, kind: 'test', event: `test:${name}`, resourceId: name },
      ...{ recipients: [`${name}@example.com`], content: { subject: name, paragraphs: [], facts: [] } },
    });
    const [mail] = (await mails.list(organisationId, { kind: 'test' }, { offset: 0, limit: 1 })).rows;
    await mails.settle(mail!, { is: 'failed', error: 'refused' });
    return mail!.id;
  }

  async place(organisationId: string, name: string): Promise<Place> {
    const workspace = here(await this.store.workspaces.create(organisationId, { name })).id;
    const admin = await this.key(organisationId, 'organisation-service', null, {});
    const person = async (email: string, workspaces: readonly { workspaceId: string; role: 'member' }[]) =>
      here(await this.store.users.create(organisationId, { email, role: 'member', workspaces })).id;
    const user = await person(`${name}@example.com`, [{ workspaceId: workspace, role: 'member' }]);
    const stranger = await person(`not-${name}@example.com`, []);
    const log = `log-${name}`;
    this.ledger.rows.push(logRow(organisationId, workspace, log, 'trace'));
    const at = {
      organisation: organisationId,
      workspace,
      user,
      email: `invited-${name}@example.com`,
    } as unknown as Place;
    const make = async (row: string, more: Message = {}): Promise<Record<string, string>> => {
      const method = adminMethod(row.split(' ')[0]!);
      const request = readMessage(method.request, { ...requests[row]?.(at), ...more });
      const { data, ...plain } = await this.call(method, request, admin);
      return { ...plain, ...(data as object) } as Record<string, string>;
    };
    const config = await make('Configs.CreateConfig');
    const virtualKey = await make('VirtualKeys.CreateVirtualKey');
    const { data: rows } = (await this.call(
      adminMethod('VirtualKeys.ListVirtualKeys'),
      { workspace_id: workspace },
      admin,
    )) as { data: readonly { id: string; slug: string }[] };
    const group = await make('Scim.CreateScimGroup', { resource: { displayName: name } });
    const scimGroup = (group['resource'] as unknown as { readonly id: string }).id;
    const invite = await make('Invites.CreateInvite', { email: `invited-${name}@example.com` });
    return {
      organisation: organisationId,
      workspace,
      workspaceName: name,
      user,
      stranger,
      config: config['slug']!,
      configVersion: config['version_id']!,
      provider: (await make('Providers.CreateProvider'))['slug']!,
      virtualKey: virtualKey['slug']!,
      virtualKeyId: rows.find(({ slug }) => slug === virtualKey['slug'])!.id,
      serviceKey: (await make('ApiKeys.CreateApiKey of a workspace'))['id']!,
      userKey: (await make('ApiKeys.CreateApiKey of a user'))['id']!,
      adminKey: (await make('ApiKeys.CreateApiKey of the organisation'))['id']!,
      rotatedServiceKey: await this.rotated(organisationId, 'workspace-service', workspace),
      rotatedUserKey: await this.rotated(organisationId, 'workspace-user', workspace, user),
      rotatedAdminKey: await this.rotated(organisationId, 'organisation-service', null),
      mail: await this.failedMail(organisationId, name),
      guardrail: (await make('Guardrails.CreateGuardrail'))['id']!,
      label: (await make('Labels.CreateLabel', { name }))['id']!,
      collection: (await make('Collections.CreateCollection'))['id']!,
      savedFilter: (await make('SavedFilters.CreateSavedFilter'))['id']!,
      logExport: (await make('LogExports.CreateLogExport'))['id']!,
      integration: (await make('Integrations.CreateIntegration of a workspace'))['slug']!,
      organisationIntegration: (await make('Integrations.CreateIntegration of the organisation'))['slug']!,
      ratePolicy: (await make('RateLimitsPolicies.CreateRateLimitsPolicy'))['id']!,
      usagePolicy: (await make('UsageLimitsPolicies.CreateUsageLimitsPolicy'))['id']!,
      invite: invite['id']!,
      session: here(await this.store.sessions.create(organisationId, { userId: user, ...somewhere })).session
        .id,
      inviteToken: invite['invite_link']!.split(/[/=]/).at(-1)!,
      deployment: (await make('Deployments.CreateDeployment', { name }))['id']!,
      secretReference: (await make('SecretReferences.CreateSecretReference', { name }))['id']!,
      plugin: (await make('Plugins.CreatePlugin', { plugin_provider_id: this.#partners.shift() }))['id']!,
      log,
      scimGroup,
      scimMapping: (await make('ScimMappings.CreateScimMapping', { scim_group_id: scimGroup }))['id']!,
    };
  }
}
