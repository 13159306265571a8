import { expect } from 'chai';
import { Portkey } from 'portkey-ai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { folder, forEachStore } from '../support/stores.js';

interface Exported {
  readonly status: string;
  readonly total_records: number;
}

describe('exports of logs', () => {
  forEachStore(({ options }) => {
    let gateway: RunningGateway;
    const requested_data = ['id', 'created_at', 'request', 'response', 'ai_model', 'total_units', 'metadata'];

    before(async function () {
      this.timeout(20_000);
      const { databaseUrl } = await options(folder());
      gateway = await startGateway({
        env: {
          ...(databaseUrl && { DATABASE_URL: databaseUrl.reveal() }),
          HEADGATE_HEADER_PREFIXES: 'x-gateway-,x-portkey-',
          HEADGATE_SCHEDULES: 'log-exports=1',
        },
      });
      const logs = [1, 2, 3].map((number) => ({
        request: {
          url: 'https://api.openai.com/v1/chat/completions',
          body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: `=SUM(${number})` }] },
        },
        response: {
          status: number === 3 ? 500 : 200,
          body: { model: 'gpt-4o-mini', usage: { prompt_tokens: number, completion_tokens: 1 } },
          response_time: 33.75,
        },
        metadata: { team: `=team ${number}` },
      }));
      expect((await call('POST', '/logs', logs)).text).to.equal('ok');
    });
    after(() => gateway?.stop());

    async function call(method: string, path: string, body?: unknown) {
      const answer = await fetch(`${gateway.url}/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${gateway.workspaceKey}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
      const json: any = text.startsWith('{') ? JSON.parse(text) : null;
      return { status: answer.status, text, json };
    }
    const draft = async (more: object = {}): Promise<string> =>
      (await call('POST', '/logs/exports', { filters: {}, requested_data, ...more })).json.id;
    const written = (id: string): Promise<Exported> =>
      eventually('the export has ended', async () => {
        const { json } = await call('GET', `/logs/exports/${id}`);
        return ['success', 'failed'].includes(json.status) && json;
      });
    const fileOf = async (id: string): Promise<Response> => {
      const { json } = await call('GET', `/logs/exports/${id}/download`);
      return fetch(json.signed_url);
    };
    const exported = async (more: object = {}): Promise<string> => {
      const id = await draft(more);
      expect((await call('POST', `/logs/exports/${id}/start`)).json).to.include({ object: 'export' });
      expect((await written(id)).status).to.equal('success');
      return id;
    };

    it('go from a draft to a file of JSON lines, which is read without a key', async () => {
      const made = await call('POST', '/logs/exports', {
        filters: { status_code: '200' },
        requested_data: ['id'],
        description: 'of May',
      });
      const { id, total, object } = made.json;
      expect({ total, object }).to.deep.equal({ total: 2, object: 'export' });
      expect((await call('GET', `/logs/exports/${id}/download`)).status).to.equal(400);
      const changed = await call('PUT', `/logs/exports/${id}`, { filters: {}, requested_data });
      expect(changed.json).to.deep.equal({ id, total: 3, object: 'export' });
      await call('POST', `/logs/exports/${id}/start`);
      const done = await written(id);
      expect(done).to.include({
        ...{
          id,
          status: 'success',
          total_records: 3,
          description: 'of May',
          format: 'jsonl',
          object: 'export',
        },
        ...{ workspace_id: gateway.workspaceId, organisation_id: gateway.organisationId },
      });
      expect(done).to.deep.include({ filters: {}, requested_data, restricted_fields: [] });
      const file = await fileOf(id);
      expect(file.headers.get('content-type')).to.equal('application/x-ndjson');
      const lines = (await file.text()).trimEnd().split('\n');
      const rows = lines.map((line) => JSON.parse(line));
      expect(rows.map((row) => row.metadata.team)).to.have.members(['=team 1', '=team 2', '=team 3']);
      for (const row of rows) {
        expect(Object.keys(row)).to.deep.equal(requested_data);
        const log = (await call('GET', `/logs/${row.id}`)).json;
        expect(row.request).to.deep.equal(log.request);
        expect(row.total_units).to.equal(log.metrics.total_units);
        expect(row.created_at).to.equal(log.created_at);
        expect(row.response.body).to.equal(log.response.body);
        expect(row.response.responseTime).to.equal(34);
      }
      for (const [deed, path, method] of [
        ['changed', '', 'PUT'],
        ['started', '/start', 'POST'],
        ['cancelled', '/cancel', 'POST'],
      ] as const) {
        const { status, text } = await call(method, `/logs/exports/${id}${path}`, {});
        expect(status, deed).to.equal(400);
        expect(text).to.include(`cannot be ${deed}`);
      }
      expect((await call('GET', '/logs/exports')).json).to.deep.include({ object: 'list', total: 1 });
    });

    it('take the values of a saved filter, unless their own filters replace them', async () => {
      const saved = await call('POST', '/analytics/filters', {
        name: 'Refused',
        filters: { status_code: '500', total_units_max: 100 },
      });
      const filter_id: string = saved.json.id;
      const make = (filters: object) => call('POST', '/logs/exports', { filters, requested_data: ['id'] });
      const made = await make({ filter_id });
      expect(made.json, made.text).to.include({ total: 1 });
      const { id } = made.json;
      const kept = async () => (await call('GET', `/logs/exports/${id}`)).json.filters;
      expect(await kept()).to.deep.equal({
        ...{ status_code: '500', total_units_max: 100 },
        workspace_id: gateway.workspaceId,
      });
      const filters = { filter_id, status_code: '200', page_size: 1 };
      const changed = await call('PUT', `/logs/exports/${id}`, { filters });
      expect(changed.json, changed.text).to.include({ total: 1 });
      expect(await kept()).to.include({ status_code: '200', total_units_max: 100, page_size: 1 });
      // It has the values of then.
      await call('DELETE', `/analytics/filters/${filter_id}`);
      expect((await call('POST', `/logs/exports/${id}/start`)).status).to.equal(200);
      expect(await written(id)).to.include({ status: 'success', total_records: 1 });
      const gone = await make({ filter_id });
      expect([gone.status, gone.json.data.errorCode]).to.deep.equal([404, 'AB08']);
      const wrong = await make({ filter_id: 7 });
      expect(wrong.json.data.message).to.include('filters.filter_id must be text.');
    });

    it('refuse an address that was changed, or whose time is over', async () => {
      const id = await exported();
      const address = new URL((await call('GET', `/logs/exports/${id}/download`)).json.signed_url);
      const life = Number(address.searchParams.get('expires')) - Date.now() / 1000;
      expect(life).to.be.within(3500, 3600);
      const other = await exported();
      const changes: ((url: URL) => void)[] = [
        (url) => url.searchParams.set('expires', '4102444800'),
        (url) => url.searchParams.set('signature', 'x'.repeat(43)),
        (url) => url.searchParams.delete('signature'),
        (url) => url.searchParams.set('organisation_id', crypto.randomUUID()),
        (url) => {
          url.pathname = url.pathname.replace(id, other);
        },
      ];
      for (const change of changes) {
        const url = new URL(address);
        change(url);
        expect((await fetch(url)).status, url.search).to.be.oneOf([400, 403]);
      }
      expect((await fetch(address)).status).to.equal(200);
    });

    it('write tables whose cells no spreadsheet runs', async () => {
      const id = await exported({ format: 'csv', requested_data: ['ai_model', 'metadata', 'request'] });
      const file = await fileOf(id);
      expect(file.headers.get('content-type')).to.match(/^text\/csv/);
      const [heading, ...lines] = (await file.text()).trimEnd().split('\r\n');
      expect(heading).to.equal('ai_model,metadata,request');
      expect(lines).to.have.length(3);
      expect(lines.join('\n')).to.include('gpt-4o-mini,"{""team"":""=team 1""}","{');
    });

    it('take a part where page_size is given, and refuse what is no filter and no field', async () => {
      const id = await exported({ filters: { page_size: 2, current_page: 1 } });
      expect((await (await fileOf(id)).text()).trimEnd().split('\n')).to.have.length(1);
      const refused = async (body: object, path: string): Promise<void> => {
        const { status, text } = await call('POST', '/logs/exports', {
          filters: {},
          requested_data,
          ...body,
        });
        expect(status).to.equal(400);
        expect(text).to.include(path);
      };
      await refused({ filters: { page_size: 50_001 } }, 'filters.page_size');
      await refused({ filters: { model: 'x' } }, 'filters.\\"model\\"');
      await refused({ requested_data: ['id', 'key'] }, 'requested_data');
      await refused({ requested_data: [] }, 'requested_data');
      await refused({ format: 'xml' }, 'format');
    });

    it('are stopped, and then cannot be started', async () => {
      const id = await draft();
      expect((await call('POST', `/logs/exports/${id}/cancel`)).json.object).to.equal('export');
      expect((await call('GET', `/logs/exports/${id}`)).json.status).to.equal('stopped');
      expect((await call('POST', `/logs/exports/${id}/start`)).status).to.equal(400);
    });

    it('serve the public Node client', async () => {
      const client = new Portkey({ apiKey: gateway.workspaceKey, baseURL: `${gateway.url}/v1` });
      const { exports } = client.logs;
      // biome-ignore lint/suspicious/noExplicitAny: the client types its answers loosely.
      const made: any = await exports.create({
        filters: { page_size: 2 },
        requestedData: ['id', 'metadata'],
        workspaceId: gateway.workspaceId,
      } as never);
      const exportId: string = made.id;
      expect(exportId).to.be.a('string');
      const id = { exportId };
      await exports.update({
        ...id,
        filters: {},
        requestedData: ['id'],
        workspaceId: gateway.workspaceId,
      } as never);
      expect(JSON.stringify(await exports.list({ workspaceId: gateway.workspaceId }))).to.include(exportId);
      await exports.start(id as never);
      expect((await written(exportId)).total_records).to.equal(3);
      expect(await exports.retrieve(id as never)).to.include({ status: 'success' });
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      const { signed_url }: any = await exports.download(id as never);
      expect((await (await fetch(signed_url)).text()).split('\n')).to.have.length(4);
    });

    it('go on after a restart', async function () {
      this.timeout(20_000);
      const ids = [await draft(), await draft()];
      for (const id of ids) await call('POST', `/logs/exports/${id}/start`);
      const ended = new Promise((done) => gateway.process.once('exit', done));
      gateway.process.kill('SIGKILL');
      await ended;
      gateway = await gateway.restart();
      for (const id of ids) expect((await written(id)).status).to.equal('success');
    });
  });
});
