import { expect } from 'chai';
import { adminTree } from '../../proto/tree.js';
import type { AuditLog } from '../../src/client/index.js';
import { scopesOf } from '../../src/common/access/scopes.js';
import { openSqlite } from '../../src/control-plane/store/sql/connection/sqlite.js';
import { openStore } from '../../src/control-plane/store/store.js';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';
import { folder, masterKey } from '../support/stores.js';

const always = { start_time: '2000-01-01T00:00:00Z', end_time: '2100-01-01T00:00:00Z' };
const window = new URLSearchParams(always).toString();
const canary = 'sk-canary-0123456789abcdef';

describe('the audit log over the administration plane', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane?.close());

  const listed = async (more: object = {}): Promise<readonly AuditLog[]> =>
    (await plane.admin.api.auditLogs.listAuditLogs({ ...always, page_size: 100, ...more })).records;
  const count = async (): Promise<number> =>
    (await plane.admin.api.auditLogs.listAuditLogs({ ...always, page_size: 1 })).total;

  /** The rows that an action has left. */
  async function rowsOf(action: () => Promise<unknown>): Promise<readonly AuditLog[]> {
    const before = await count();
    await action().catch(() => {});
    const found = await plane.admin.api.auditLogs.listAuditLogs({ ...always, page_size: 10 });
    const made = found.total - before;
    return made > 10 ? (await listed()).slice(0, made) : found.records.slice(0, made);
  }

  it('has one row of each action: who, what, on what, when, from where, and the request without its secrets', async () => {
    const began = Date.now();
    const [row, ...others] = await rowsOf(() =>
      plane.admin.providers.create({
        slug: 'main',
        name: 'Main',
        provider: 'openai',
        key: canary,
        workspace_id: 'default',
      }),
    );
    expect(others).to.deep.equal([]);
    const key = (await plane.admin.keys.list()).data.find(({ type }) => type === 'organisation-service');
    expect(row).to.include({
      method: 'POST',
      uri: '/v1/providers',
      user_id: key?.id,
      user_type: 'api_key',
      actor_name: key?.name,
      organisation_id: plane.first.organisation_id,
      workspace_id: plane.first.workspace_id,
      response_status_code: 200,
      resource_type: 'provider',
      action: 'create',
      client_ip: '127.0.0.1',
      allowed: true,
    });
    expect(Date.parse(row?.timestamp ?? '')).to.be.within(began, Date.now());
    expect(JSON.parse(row?.request_body ?? ''))
      .to.have.property('key')
      .that.matches(/^hmac:/);
    expect(JSON.stringify(await listed())).to.not.include('canary');
  });

  it('has the same row over gRPC and over REST, and names the record that was made, changed and deleted', async () => {
    const made = await plane.rest('POST', '/v1/configs', {
      name: 'one',
      config: { retry: { attempts: 1 } },
      workspace_id: 'default',
    });
    const { slug } = made.json.data;
    const rows = [
      ...(await rowsOf(() => plane.admin.configs.update(slug, { name: 'two', workspace_id: 'default' }))),
      ...(await rowsOf(() =>
        plane.rest('PUT', `/v1/configs/${slug}`, { name: 'three', workspace_id: 'default' }),
      )),
      ...(await rowsOf(() => plane.rest('DELETE', `/v1/configs/${slug}?workspace_id=default`))),
    ];
    expect(rows.map((row) => `${row.method} ${row.uri} ${row.action} ${row.resource_type}`)).to.deep.equal([
      `PUT /v1/configs/${slug} update config`,
      `PUT /v1/configs/${slug} update config`,
      `DELETE /v1/configs/${slug} delete config`,
    ]);
    expect(new Set(rows.map((row) => row.resource_id)).size).to.equal(1);
  });

  it('has one row of each method that changes something, where it was refused too', async function () {
    this.timeout(30_000);
    const { key } = await plane.admin.keys.create({
      type: 'workspace',
      sub_type: 'service',
      name: 'No administrator',
      workspace_id: plane.first.workspace_id,
      scopes: ['completions.write'],
    });
    const powerless = plane.client(key);
    const methods = [...adminTree().methods.values()].filter(
      ({ access }) => access.audited && access.scopes.length > 0,
    );
    expect(methods.length).to.be.greaterThan(5);
    const called = (client: typeof powerless, service: string, method: string) => {
      const lowered = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);
      const api = client.api as unknown as Record<string, Record<string, () => Promise<unknown>>>;
      return api[lowered(service)]![lowered(method)]!();
    };
    for (const { name, service, method, access } of methods) {
      const what = { resource_type: access.resource, action: access.action };
      const [forbidden, ...more] = await rowsOf(() => called(powerless, service, method));
      expect(more, name).to.deep.equal([]);
      expect(forbidden, name).to.include({ ...what, response_status_code: 403, allowed: false });
      expect(forbidden?.actor_name, name).to.equal('No administrator');
      // Of an empty request: most are refused for it, and some may be what they do.
      const rows = await rowsOf(() => called(plane.admin, service, method));
      expect(rows, name).to.have.length(1);
      expect(rows[0], name).to.include(what);
    }
    expect(await plane.store.audit.verify(plane.first.organisation_id)).to.include({ ok: true });
  });

  it('has no row of read calls, nor of an unidentified caller', async () => {
    expect(await rowsOf(() => plane.admin.configs.list())).to.deep.equal([]);
    expect(
      await rowsOf(() => plane.client('gw_wrong').configs.create({ name: 'x', config: {} })),
    ).to.deep.equal([]);
  });

  it('is listed newest first, in pages, by each filter', async () => {
    await plane.rest(
      'POST',
      '/v1/configs',
      { name: 'filter', config: {}, workspace_id: 'default' },
      { headers: { 'user-agent': 'filters' } },
    );
    const [newest] = await listed();
    const { json } = await plane.rest('GET', `/v1/audit-logs?${window}&page_size=2`);
    expect(json).to.have.keys('records', 'total', 'object');
    expect(json).to.include({ object: 'analytics-graph', total: await count() });
    expect(json.records.map(({ seq }: AuditLog) => seq)).to.deep.equal([json.total, json.total - 1]);
    expect(json.records[0].country).to.equal(null);
    const second = await plane.rest('GET', `/v1/audit-logs?${window}&page_size=2&current_page=1`);
    expect(second.json.records[0].seq).to.equal(json.total - 2);

    const own = [
      'method',
      'uri',
      'request_id',
      'user_id',
      'user_type',
      'workspace_id',
      'response_status_code',
      'resource_type',
      'action',
      'client_ip',
    ] as const;
    for (const name of own) {
      const found = await listed({ [name]: newest?.[name] });
      expect(found[0], name).to.deep.equal(newest);
      expect(new Set(found.map((row) => row[name])), name).to.deep.equal(new Set([newest?.[name]]));
    }
    expect(await listed({ country: 'NO' })).to.deep.equal([]);
    expect(await listed({ workspace_id: 'default', request_id: newest?.request_id })).to.have.length(1);
    expect(await listed({ workspace_id: 'other' })).to.deep.equal([]);
    const at = newest?.timestamp ?? '';
    expect(await listed({ start_time: at, request_id: newest?.request_id })).to.have.length(1);
    expect(await listed({ end_time: at, request_id: newest?.request_id })).to.deep.equal([]);
  });

  it('is for keys of the whole organisation, within a span of time', async () => {
    const { key } = await plane.admin.keys.create({
      type: 'workspace',
      sub_type: 'service',
      name: 'All of a workspace',
      workspace_id: plane.first.workspace_id,
      scopes: scopesOf('workspace-service'),
    });
    await refused(plane.client(key).api.auditLogs.listAuditLogs(always), 'PERMISSION_DENIED', 'AB03');
    const none = await plane.rest('GET', '/v1/audit-logs');
    expect(none.status).to.equal(400);
    expect(none.json.data.message).to.equal('start_time is required. end_time is required.');
    const back = await plane.rest('GET', '/v1/audit-logs?start_time=2030-01-02&end_time=2030-01-01');
    expect(back.status).to.equal(400);
    const foreign = await plane.rest('GET', `/v1/audit-logs?${window}&organisation_id=another`);
    expect(foreign.status).to.equal(404);
  });

  it('comes as a file, in pieces, oldest row first', async () => {
    const total = await count();
    const lines = await plane.rest('GET', `/v1/audit-logs/export?${window}`);
    expect(lines.headers.get('content-type')).to.equal('application/x-ndjson');
    const rows = String(lines.json)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.map(({ seq }) => seq)).to.deep.equal(Array.from({ length: total }, (_, i) => i + 1));
    const table = await plane.rest(
      'GET',
      `/v1/audit-logs/export?${window}&format=csv&resource_type=provider`,
    );
    expect(table.headers.get('content-type')).to.match(/^text\/csv/);
    expect(table.json)
      .to.match(/^seq,timestamp,/)
      .and.not.include('canary');

    let text = '';
    for await (const piece of plane.admin.api.auditLogs.exportAuditLogs({ ...always, format: 'csv' }))
      text += Buffer.from(piece.data).toString();
    expect(text.split('\r\n').length).to.be.greaterThan(total);
  });

  it('is what a change cannot be made without', async () => {
    const dataDir = folder();
    const store = await openStore({ dataDir, masterKey });
    const own = await startPlane({ store });
    const bare = await openSqlite(dataDir);
    try {
      const create = () =>
        own.workspace.configs.create({ name: 'unseen', config: { retry: { attempts: 1 } } });
      await bare.write((sql) => sql('audit_heads').update({ hash: 'f'.repeat(64) }));
      expect(await refused(create(), 'UNAVAILABLE', 'unavailable')).to.match(
        /^The audit log cannot be written/,
      );
      expect((await own.workspace.configs.list()).total).to.equal(0);
    } finally {
      await bare.close();
      await own.close();
    }
  });

  it('is not filled by a caller who goes on being refused: one row, and one with the count', async () => {
    const plane = await startPlane();
    try {
      const { organisation_id: organisation, workspace_key: key } = plane.first;
      const { api } = plane.workspace;
      const body = { name: 'mine' };
      for (let i = 0; i < 30; i++) {
        await refused(api.organisations.updateOrganisation(body), 'PERMISSION_DENIED', 'AB03');
        const answer = await plane.rest('PUT', '/v1/admin/organisation', body, { key });
        expect(answer.status).to.equal(403);
      }
      const rows = async () =>
        (await plane.store.audit.list(organisation, {}, { offset: 0, limit: 100 })).rows;
      expect(await rows()).to.have.length(1);
      await plane.server.close(1000);
      const [counted, first] = await rows();
      expect(first).to.include({ allowed: false, responseStatusCode: 403, seq: 1 });
      expect(counted).to.include({ allowed: false, responseStatusCode: 403, seq: 2, userId: first?.userId });
      expect(JSON.parse(counted?.requestBody ?? '')).to.include({ repeated: 59 });
      expect(await plane.store.audit.verify(organisation)).to.deep.equal({ ok: true, rows: 2 });
    } finally {
      await plane.close();
    }
  });
});
