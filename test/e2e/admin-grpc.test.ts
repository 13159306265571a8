import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { expect } from 'chai';
import { service as healthService } from 'grpc-health-check';
import { encode, type Message } from '../../proto/codec.js';
import { adminMethod } from '../../proto/tree.js';
import { connectAdmin } from '../../src/client/index.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';
import { root } from '../support/root.js';

const bytes = (value: Buffer): Buffer => value;

function raw(
  plane: AdminPlane,
  name: string,
  body: Buffer,
  metadata: Metadata,
  deadline?: number,
): Promise<ServiceError | null> {
  const client = new Client(`127.0.0.1:${plane.server.port}`, credentials.createInsecure());
  return new Promise((done) => {
    const { path } = adminMethod(name);
    client.makeUnaryRequest(
      path,
      bytes,
      bytes,
      body,
      metadata,
      deadline === undefined ? {} : { deadline },
      (error) => {
        client.close();
        done(error);
      },
    );
  });
}

describe('admin gRPC', () => {
  let plane: AdminPlane;
  let metadata: Metadata;

  before(async () => {
    plane = await startPlane({ reflection: true });
    metadata = new Metadata();
    metadata.set('x-gateway-api-key', plane.first.workspace_key);
  });
  after(() => plane.close());

  describe('reports its health by the standard gRPC service:', () => {
    const configs = 'headgate.admin.v1.Configs';
    let client: Client;

    before(() => {
      client = new Client(`127.0.0.1:${plane.server.port}`, credentials.createInsecure());
    });
    after(() => client.close());

    function ask(method: 'Check' | 'List', request: object): Promise<Message> {
      const { path, requestSerialize, responseDeserialize } = healthService[method]!;
      return new Promise((done, failed) => {
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, response) =>
          error === null ? done(response as Message) : failed(error),
        );
      });
    }

    async function watched(service: string): Promise<unknown> {
      const { path, requestSerialize, responseDeserialize } = healthService['Watch']!;
      const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service });
      call.on('error', () => {});
      const [first] = await once(call, 'data');
      call.cancel();
      return first;
    }

    it('of the server, and of a service', async () => {
      for (const service of ['', configs])
        expect(await ask('Check', { service })).to.deep.equal({ status: 'SERVING' });
    });

    it('of no service that there is not', async () => {
      const error = await ask('Check', { service: 'nothing' }).catch((thrown: ServiceError) => thrown);
      expect(error).to.include({ code: status.NOT_FOUND });
    });

    it('to one who watches', async () => {
      expect(await watched(configs)).to.deep.equal({ status: 'SERVING' });
      expect(await watched('nothing')).to.deep.equal({ status: 'SERVICE_UNKNOWN' });
    });

    it('as a list', async () => {
      const { statuses } = (await ask('List', {})) as { statuses: Record<string, Message> };
      expect(Object.keys(statuses)).to.include.members(['', configs]);
      for (const each of Object.values(statuses)) expect(each).to.deep.equal({ status: 'SERVING' });
    });
  });

  it('lists all faults of a request as google.rpc.BadRequest', async () => {
    const { parse } = await import('protobufjs').then((module) => module.default);
    const { root } = parse(`syntax = "proto3"; package google.rpc;
      message Any { string type_url = 1; bytes value = 2; }
      message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
      message FieldViolation { string field = 1; string description = 2; }
      message BadRequest { repeated FieldViolation field_violations = 1; }`);
    const decoded = (name: string, from: Uint8Array): Message =>
      root.lookupType(`google.rpc.${name}`).decode(from).toJSON();
    const { request } = adminMethod('ApiKeys.CreateApiKey');
    const admin = new Metadata();
    admin.set('x-gateway-api-key', plane.first.admin_key);
    const wrong = {
      type: 'workspace',
      sub_type: 'service',
      name: '',
      scopes: [],
      description: 'x'.repeat(5000),
    };
    const error = await raw(plane, 'ApiKeys.CreateApiKey', encode(request, wrong), admin);
    expect(error?.code).to.equal(status.INVALID_ARGUMENT);
    const [trailer] = error!.metadata.get('grpc-status-details-bin');
    const details = decoded('Status', trailer as Buffer) as {
      code: number;
      details: { typeUrl: string; value: string }[];
    };
    expect(details.code).to.equal(status.INVALID_ARGUMENT);
    expect(details.details).to.have.length(1);
    expect(details.details[0]!.typeUrl).to.equal('type.googleapis.com/google.rpc.BadRequest');
    const { fieldViolations } = decoded('BadRequest', Buffer.from(details.details[0]!.value, 'base64')) as {
      fieldViolations: { field: string; description: string }[];
    };
    expect(fieldViolations.length).to.be.greaterThan(1);
    for (const { field, description } of fieldViolations)
      expect(error!.details).to.include(`${field} ${description}`);
    expect(fieldViolations.map(({ field }) => field)).to.include.members(['name', 'description']);
  });

  it('names the field of a fault that only the handler of a call finds', async () => {
    const admin = new Metadata();
    admin.set('x-gateway-api-key', plane.first.admin_key);
    for (const [method, message, field] of [
      ['Providers.CreateProvider', {}, 'workspace_id'],
      ['Providers.CreateProvider', { workspace_id: plane.first.workspace_id }, 'name'],
      ['ApiKeys.CreateApiKey', { type: 'no', sub_type: 'such', name: 'n', scopes: ['logs.list'] }, 'type'],
      ['Logs.ListLogs', { after: 'no cursor' }, 'after'],
    ] as const) {
      const error = await raw(plane, method, encode(adminMethod(method).request, message), admin);
      expect(error?.code, method).to.equal(status.INVALID_ARGUMENT);
      const [trailer] = error!.metadata.get('grpc-status-details-bin');
      expect(trailer, method).to.be.instanceOf(Buffer);
      expect((trailer as Buffer).toString('latin1'), method).to.match(
        new RegExp(`google\\.rpc\\.BadRequest[^]*${field}`),
      );
    }
  });

  it('refuses bytes that are no message, metadata without end, and a body beyond the cap', async () => {
    const garbage = await raw(plane, 'Configs.CreateConfig', Buffer.from([0x0a, 0xff, 0xff]), metadata);
    expect(garbage?.code).to.equal(status.INVALID_ARGUMENT);
    expect(garbage?.metadata.get('x-gateway-error-code')).to.deep.equal(['AB01']);
    const long = metadata.clone();
    long.set('x-more', 'x'.repeat(20_000));
    expect((await raw(plane, 'Configs.ListConfigs', Buffer.alloc(0), long))?.details).to.include(
      '16384 bytes',
    );
    const huge = Buffer.alloc(4 * 1024 * 1024 + 1);
    expect((await raw(plane, 'Configs.CreateConfig', huge, metadata))?.code).to.equal(
      status.RESOURCE_EXHAUSTED,
    );
  });

  it('refuses text that is not UTF-8, in any field, and accepts U+FFFD itself', async () => {
    const spoilt = (name: string, message: Message): Buffer => {
      const wire = encode(adminMethod(name).request, message);
      wire.write('\xc3\x28', wire.indexOf('mark'), 'latin1');
      return wire;
    };
    for (const [name, message] of [
      ['Labels.CreateLabel', { name: 'x', description: 'mark' }],
      ['Configs.CreateConfig', { name: 'x', config: { targets: [{ name: 'mark' }] } }],
      ['Configs.CreateConfig', { name: 'x', config: { mark: 1 } }],
      ['ApiKeys.CreateApiKey', { name: 'x', defaults: { metadata: { mark: 'x' } } }],
    ] as const) {
      const error = await raw(plane, name, spoilt(name, message), metadata);
      expect([error?.code, error?.details]).to.deep.equal([
        status.INVALID_ARGUMENT,
        'Text in the request is not valid UTF-8.',
      ]);
    }
    const { id } = await plane.workspace.api.labels.createLabel({ name: 'x', description: 'a\ufffd(é😀' });
    const label = await plane.workspace.api.labels.getLabel({ id });
    expect(label.description).to.equal('a\ufffd(é😀');
  });

  it('gives up at the deadline of the client', async () => {
    for (const left of [-1, 0, 0.001]) {
      const error = await raw(plane, 'Configs.ListConfigs', Buffer.alloc(0), metadata, Date.now() + left);
      expect(error?.code).to.equal(status.DEADLINE_EXCEEDED);
    }
  });

  it('answers a client that gives no deadline, or one a century off', async () => {
    for (const deadline of [undefined, Number.POSITIVE_INFINITY, Date.now() + 3.6e12]) {
      expect(await raw(plane, 'Configs.ListConfigs', Buffer.alloc(0), metadata, deadline)).to.equal(null);
    }
  });

  it('takes metadata up to its cap, and requests up to theirs', async () => {
    const long = metadata.clone();
    long.set('x-more', 'x'.repeat(15_000));
    expect(await raw(plane, 'Configs.ListConfigs', Buffer.alloc(0), long)).to.equal(null);
    const name = 'x'.repeat(4 * 1024 * 1024 - 100);
    const body = encode(adminMethod('Configs.CreateConfig').request, { name, config: {} });
    const error = await raw(plane, 'Configs.CreateConfig', body, metadata);
    expect([error?.code, error?.details]).to.deep.equal([
      status.INVALID_ARGUMENT,
      'name must be at most 255 characters long.',
    ]);
  });

  it('lists its services by reflection only where that is switched on', async () => {
    const ask = async (port: number): Promise<string[] | number> => {
      const file = join(
        root,
        'node_modules/@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto',
      );
      const { grpc } = loadPackageDefinition(loadSync(file)) as never as {
        grpc: {
          reflection: {
            v1: {
              ServerReflection: new (
                address: string,
                how: object,
              ) => Client & { ServerReflectionInfo(): never };
            };
          };
        };
      };
      const client = new grpc.reflection.v1.ServerReflection(
        `127.0.0.1:${port}`,
        credentials.createInsecure(),
      );
      const stream = client.ServerReflectionInfo() as import('@grpc/grpc-js').ClientDuplexStream<
        object,
        never
      >;
      stream.write({ listServices: '' });
      const answer = await new Promise<string[] | number>((done) => {
        stream.on('data', (data: { listServicesResponse: { service: { name: string }[] } }) =>
          done(data.listServicesResponse.service.map(({ name }) => name)),
        );
        stream.on('error', (error: ServiceError) => done(error.code));
      });
      stream.end();
      client.close();
      return answer;
    };
    expect(await ask(plane.server.port)).to.include('headgate.admin.v1.Configs');
    const silent = await startPlane();
    expect(await ask(silent.server.port)).to.equal(status.UNIMPLEMENTED);
    await silent.close();
  });

  it('speaks TLS with a certificate of its own, and then nothing else', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-tls-'));
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:prime256v1',
          '-nodes',
          '-days',
          '1',
        ],
        ...[
          '-subj',
          '/CN=localhost',
          '-addext',
          'subjectAltName=DNS:localhost,IP:127.0.0.1',
          '-keyout',
          key,
          '-out',
          cert,
        ],
      ],
      { stdio: 'ignore' },
    );
    const secret = await startPlane({ tls: { cert: readFileSync(cert), key: readFileSync(key) } });
    const address = `localhost:${secret.server.port}`;
    const client = connectAdmin({
      address,
      key: secret.first.workspace_key,
      tls: { ca: readFileSync(cert) },
    });
    expect((await client.configs.list()).object).to.equal('list');
    client.close();
    const plain = connectAdmin({ address, key: secret.first.workspace_key, timeoutMs: 1000 });
    const error = await plain.configs.list().catch((thrown: unknown) => thrown);
    expect(error).to.have.property('isUnreachable', true);
    plain.close();
    await secret.close();
    rmSync(folder, { recursive: true });
  });
});
