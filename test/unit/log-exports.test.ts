import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { SetFlags } from '../../src/common/access/security-settings.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { exportForm } from '../../src/control-plane/administration/usage/export-form.js';
import type { ExportDestination } from '../../src/control-plane/exports/destination.js';
import { LogExporter } from '../../src/control-plane/exports/exporter.js';
import { fileDestination } from '../../src/control-plane/exports/file-destination.js';
import { s3Destination } from '../../src/control-plane/exports/s3-destination.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';
import { eventually } from '../support/gateway.js';
import { logRow, RowsLedger } from '../support/rows-ledger.js';

const log = { info() {}, warn() {}, error() {} };
const dayMs = 86_400_000;
const columns = ['id', 'request', 'metadata'];

async function textOf(file: AsyncIterable<Buffer> | null): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of file ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

describe('exports of logs, by what may be seen and what goes wrong', () => {
  const ledger = new RowsLedger();
  let plane: AdminPlane;
  let folder: string;
  let member: string;
  let memberKey: string;
  /** Called when an export is started. */
  let wake = (): void => {};

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-exports-'));
    plane = await startPlane({
      ledger,
      logExporter: { wake: () => wake(), destination: fileDestination(folder) },
    });
    const { organisation_id: organisation, workspace_id: workspaceId } = plane.first;
    const user = await plane.store.users.create(organisation, {
      email: 'member@example.com',
      role: 'member',
      workspaces: [{ workspaceId, role: 'member' }],
    });
    if (typeof user === 'string') throw new Error(user);
    const made = await plane.store.keys.create(organisation, {
      ...{ type: 'workspace-user', workspaceId, userId: user.id, name: 'member' },
      scopes: ['logs.export'],
    });
    if (made === 'missing') throw new Error(made);
    [member, memberKey] = [made.text.reveal(), made.key.id];
    const row = (id: string, more: Partial<LedgerRow> = {}): LedgerRow => ({
      ...logRow(organisation, workspaceId, id, id),
      at: Date.now(),
      ...more,
    });
    ledger.rows.push(row('own', { key: memberKey }), row('other'), row('third', { workspace: plane.other }));
  });
  after(async () => {
    await plane.close();
    rmSync(folder, { recursive: true });
  });

  const ask = (verb: string, path: string, body?: unknown, key = member) =>
    plane.rest(verb, `/v1/logs/exports${path}`, body, { key });
  const started = async (key = member): Promise<string> => {
    const { json } = await ask('POST', '', { filters: {}, requested_data: columns }, key);
    expect((await ask('POST', `/${json.id}/start`, {}, key)).status).to.equal(200);
    return json.id;
  };
  const exporter = (destination: ExportDestination, more: object = {}): LogExporter =>
    new LogExporter({
      exports: plane.store.logExports,
      ...{ ledger, destination, nodeId: 'node', keepMs: 7 * dayMs, isShared: false },
      ...{ formOf: exportForm, log, ...more },
    });
  const write = (): Promise<void> => exporter(fileDestination(folder)).look();
  const rowsOf = async (id: string, key = member) => {
    const { json } = await ask('GET', `/${id}/download`, undefined, key);
    expect(json.signed_url, JSON.stringify(json)).to.be.a('string');
    const file = await plane.rest('GET', json.signed_url.replace(/^.*?(?=\/v1)/, ''), undefined, {
      key: null,
    });
    expect(file.status).to.equal(200);
    const text = typeof file.json === 'string' ? file.json : JSON.stringify(file.json);
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  };
  async function under(securitySettings: SetFlags, work: () => Promise<void>): Promise<void> {
    const { organisation_id: organisation, workspace_id: workspace } = plane.first;
    await plane.store.workspaces.update(organisation, workspace, { securitySettings });
    try {
      await work();
    } finally {
      await plane.store.workspaces.update(organisation, workspace, { securitySettings: {} });
    }
  }

  it('have the rows of the workspace alone', async () => {
    const id = await started();
    await write();
    expect((await rowsOf(id)).map((row) => row.id)).to.deep.equal(['own', 'other']);
  });

  it('are written right after their start, in a unit of work of their own', async () => {
    const warnings: unknown[] = [];
    const waking = exporter(fileDestination(folder), {
      log: { ...log, warn: (one: unknown) => warnings.push(one) },
    });
    wake = () => waking.wake();
    try {
      const id = await started();
      await eventually(
        'it is written',
        async () => (await ask('GET', `/${id}`)).json.status === 'success',
        3000,
      );
    } finally {
      wake = () => {};
      await waking.stop();
    }
    expect(warnings).to.deep.equal([]);
  });

  it('have the rows of own keys alone where members do not see all data, and hide those of others', async () => {
    const wide = await started(plane.first.workspace_key);
    await write();
    await under({ members_view_all_data: false }, async () => {
      const id = await started();
      await write();
      expect((await rowsOf(id)).map((row) => row.id)).to.deep.equal(['own']);
      for (const path of [`/${wide}`, `/${wide}/download`])
        expect((await ask('GET', path)).status, path).to.equal(404);
      const { json } = await ask('GET', '');
      expect(json.data.map((one: { id: string }) => one.id)).to.not.include(wide);
    });
  });

  it('hide what was exported while more was in sight', async () => {
    const id = await started();
    await write();
    for (const flags of [{ members_view_all_data: false }, { members_view_log_metadata: false }])
      await under(flags, async () => {
        expect((await ask('GET', `/${id}/download`)).json.data.errorCode).to.equal('AB03');
      });
    expect(await rowsOf(id)).to.have.length(2);
  });

  it('leave metadata out where members do not see it, and list that', () =>
    under({ members_view_log_metadata: false }, async () => {
      const restricted_fields = ['metadata'];
      expect((await ask('GET', '/field-restrictions')).json).to.deep.equal({ restricted_fields });
      const id = await started();
      await write();
      expect((await ask('GET', `/${id}`)).json.restricted_fields).to.deep.equal(restricted_fields);
      for (const row of await rowsOf(id)) expect(row).to.have.all.keys('id', 'request');
      const filters = { metadata: { team: 'a' } };
      const { json } = await ask('POST', '', { filters, requested_data: columns });
      expect(json.data.errorCode).to.equal('AB03');
    }));

  it('are refused where members do not see logs', () =>
    under({ members_view_logs: false }, async () => {
      for (const path of ['', '/field-restrictions']) expect((await ask('GET', path)).status).to.equal(403);
    }));

  it('are begun again by another node once the first gives no sign of life, and then only that one ends them', async () => {
    const id = await started();
    const { logExports } = plane.store;
    const first = (await logExports.claim('gone', 0))!;
    expect(first).to.include({ id, runs: 1 });
    writeFileSync(join(folder, first.organisationId, `${id}.jsonl.1.part`), 'half of');
    await write();
    expect(await logExports.finish(first, 1, null)).to.equal(false);
    expect(await rowsOf(id)).to.have.length(2);
    expect(readdirSync(join(folder, first.organisationId)).filter((name) => name.endsWith('.part'))).to.be
      .empty;
  });

  it('are left alone while another node writes them, and by one that stops', async () => {
    const id = await started();
    const { logExports } = plane.store;
    const claimed = (await logExports.claim('other', 60_000))!;
    await write();
    expect((await ask('GET', `/${id}`)).json.status).to.equal('in_progress');
    await logExports.release(claimed);
    const stopping: LogExporter = exporter(fileDestination(folder), {
      ledger: {
        bodies: async () => null,
        async follow() {
          void stopping.stop();
          return { rows: [], cursor: '0', isCut: true };
        },
      },
    });
    await stopping.look();
    expect((await ask('GET', `/${id}`)).json.status).to.equal('in_progress');
    await write();
    expect(await rowsOf(id)).to.have.length(2);
  });

  it('fail with a reason that names no place where the file cannot be written', async () => {
    const id = await started();
    const broken = Object.assign(new Error(`ENOSPC: ${folder}`), { code: 'ENOSPC' });
    const destination: ExportDestination = {
      open: () => Promise.reject(broken),
      remove: async () => {},
      read: async () => null,
    };
    await exporter(destination).look();
    const { json } = await ask('GET', `/${id}`);
    expect(json).to.include({ status: 'failed', error: 'The file could not be written (ENOSPC).' });
  });

  it('end when they are stopped in the middle, and remove what was written', async () => {
    const id = await started();
    let abandoned = false;
    const destination: ExportDestination = {
      read: async () => null,
      remove: async () => {},
      open: async () => ({
        write: async () => void (await ask('POST', `/${id}/cancel`, {})),
        finish: () => Promise.reject(new Error('It was stopped.')),
        abandon: async () => {
          abandoned = true;
        },
      }),
    };
    await exporter(destination).look();
    expect(abandoned).to.equal(true);
    expect((await ask('GET', `/${id}`)).json.status).to.equal('stopped');
  });

  it('lose their file when its time is over, and what is left of those that failed after an hour', async () => {
    const id = await started();
    await write();
    const organisation = plane.first.organisation_id;
    const cut = await started();
    const claimed = (await plane.store.logExports.claim('node', 60_000))!;
    writeFileSync(join(folder, organisation, `${cut}.jsonl.1.part`), 'half of');
    await plane.store.logExports.finish(claimed, 0, 'It was cut off too often.');
    const files = (): string[] =>
      readdirSync(join(folder, organisation)).filter((name) => name.includes(id) || name.includes(cut));
    const expiring = exporter(fileDestination(folder));
    await exporter(fileDestination(folder), { nodeId: 'other' }).expire(Date.now() + 8 * dayMs);
    await expiring.expire(Date.now() + 600_000);
    expect(files()).to.have.length(2);
    await expiring.expire(Date.now() + 2 * 3_600_000);
    expect(files()).to.deep.equal([`${id}.jsonl`]);
    await expiring.expire(Date.now() + 8 * dayMs);
    expect(files()).to.be.empty;
    const { status, json } = await ask('GET', `/${id}/download`);
    expect([status, json.data.errorCode]).to.deep.equal([400, 'AB01']);
    expect((await ask('GET', `/${id}`)).json.status).to.equal('success');
  });

  it('are written five at a time in a workspace', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await started());
    const { json } = await ask('POST', '', { filters: {}, requested_data: columns });
    expect((await ask('POST', `/${json.id}/start`, {})).json.data.errorCode).to.equal('AB06');
    await write();
    expect((await ask('POST', `/${json.id}/start`, {})).status).to.equal(200);
    await write();
  });
});

describe('exports in S3', () => {
  let server: Server;
  let address: string;
  let destination: ExportDestination;
  const objects = new Map<string, Buffer>();
  const uploads = new Map<string, Buffer[]>();
  const calls: string[] = [];
  const env = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'eu-west-1' };
  const earlier = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));

  before(async () => {
    Object.assign(process.env, env);
    server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://s3');
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const id = searchParams.get('uploadId');
        calls.push(`${request.method} ${pathname} ${searchParams.has('uploads') ? 'begin' : (id ?? '')}`);
        if (request.headers.authorization?.startsWith('AWS4-HMAC-SHA256 ') !== true)
          response.statusCode = 403;
        else if (request.method === 'GET' && searchParams.has('uploads')) {
          const open = [...uploads.keys()].map(
            (one) => `<Upload><Key>some/prefix/org/cut.jsonl</Key><UploadId>${one}</UploadId></Upload>`,
          );
          return void response.end(
            `<ListMultipartUploadsResult>${open.join('')}</ListMultipartUploadsResult>`,
          );
        } else if (request.method === 'GET') {
          const found = objects.get(pathname);
          if (found !== undefined) {
            if (!pathname.endsWith('slow.jsonl')) return void response.end(found);
            response.write(found.subarray(0, 1));
            setTimeout(() => response.end(found.subarray(1)), 400);
            return;
          }
          response.statusCode = 404;
          return void response.end('<Error><Code>NoSuchKey</Code></Error>');
        } else if (searchParams.has('uploads')) {
          uploads.set('u-1', []);
          return void response.end(
            '<InitiateMultipartUploadResult><UploadId>u-1</UploadId></InitiateMultipartUploadResult>',
          );
        } else if (request.method === 'PUT') {
          uploads.get(id ?? '')?.push(Buffer.concat(pieces));
          response.setHeader('etag', `"${searchParams.get('partNumber')}"`);
        } else if (request.method === 'POST') {
          objects.set(pathname, Buffer.concat(uploads.get(id ?? '') ?? []));
          return void response.end(
            '<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>',
          );
        } else {
          response.statusCode = 204;
          if (id === null) objects.delete(pathname);
          else uploads.delete(id);
        }
        response.end();
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    address = endpoint;
    destination = await s3Destination('s3://bucket/some/prefix', endpoint);
  });
  after(() => {
    for (const [name, value] of Object.entries(earlier))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    server.closeAllConnections();
    server.close();
  });

  it('are uploaded in parts, and read back', async () => {
    const writer = await destination.open('org/one.jsonl', 1, 'application/x-ndjson');
    const line = `${JSON.stringify({ text: 'é'.repeat(300_000) })}\n`;
    for (let i = 0; i < 20; i++) await writer.write(line);
    await writer.finish();
    expect(uploads.get('u-1')?.map((part) => part.length > 5 * 1024 ** 2)).to.deep.equal([true, false]);
    expect(calls.at(-1)).to.equal('POST /bucket/some/prefix/org/one.jsonl u-1');
    expect(await textOf(await destination.read('org/one.jsonl'))).to.equal(line.repeat(20));
  });

  it('are read to their end, however long their reader takes', async () => {
    const writer = await destination.open('org/slow.jsonl', 1, 'application/x-ndjson');
    await writer.write('slow');
    await writer.finish();
    const hasty = await s3Destination('s3://bucket/some/prefix', address, 200);
    expect(await textOf(await hasty.read('org/slow.jsonl'))).to.equal('slow');
  });

  it('are removed with the uploads that were begun and not ended', async () => {
    uploads.clear();
    await (await destination.open('org/cut.jsonl', 1, 'text/csv')).write('half of');
    expect(uploads.size).to.equal(1);
    // A later run of the same export ends what the run before it left.
    const again = await destination.open('org/cut.jsonl', 2, 'text/csv');
    expect(calls).to.include('DELETE /bucket/some/prefix/org/cut.jsonl u-1');
    await again.finish();
    expect(await destination.read('org/cut.jsonl')).to.not.equal(null);
    await destination.remove('org/cut.jsonl');
    expect(uploads.size).to.equal(0);
    expect(await destination.read('org/cut.jsonl')).to.equal(null);
  });

  it('are there when they have no rows, and gone when they were given up', async () => {
    await (await destination.open('org/none.csv', 1, 'text/csv')).finish();
    expect(await textOf(await destination.read('org/none.csv'))).to.equal('');
    await (await destination.open('org/two.jsonl', 1, 'text/csv')).abandon();
    expect(calls.at(-1)).to.equal('DELETE /bucket/some/prefix/org/two.jsonl u-1');
    expect(await destination.read('org/two.jsonl')).to.equal(null);
  });
});
