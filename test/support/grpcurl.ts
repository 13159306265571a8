import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  Client,
  type ClientDuplexStream,
  credentials,
  loadPackageDefinition,
  Metadata,
  type MethodDefinition,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** As much of grpcurl as the docs type: the services that a server tells of, and a unary call by a .proto file. */

interface Reflection {
  readonly ServerReflection: new (
    address: string,
    how: object,
  ) => Client & {
    ServerReflectionInfo(): ClientDuplexStream<
      object,
      { listServicesResponse: { service: { name: string }[] } }
    >;
  };
}

async function list(address: string): Promise<void> {
  const folder = join(fileURLToPath(import.meta.resolve('@grpc/reflection')), '../../proto');
  const loaded = loadPackageDefinition(loadSync(join(folder, 'grpc/reflection/v1/reflection.proto')));
  const { ServerReflection } = (loaded as never as { grpc: { reflection: { v1: Reflection } } }).grpc
    .reflection.v1;
  const client = new ServerReflection(address, credentials.createInsecure());
  const stream = client.ServerReflectionInfo();
  stream.end({ listServices: '' });
  for await (const { listServicesResponse } of stream) {
    for (const { name } of listServicesResponse.service) console.log(name);
  }
  client.close();
}

async function call(address: string, name: string): Promise<void> {
  const [service = '', method = ''] = name.split('/');
  const services = loadSync(given.proto ?? '', { includeDirs: [given['import-path'] ?? ''], keepCase: true });
  const definition = (services[service] as Record<string, MethodDefinition<object, object>>)[method]!;
  const metadata = new Metadata();
  for (const header of given.H ?? []) {
    const [key = '', value = ''] = header.split(/: (.*)/s);
    metadata.set(key, value);
  }
  const client = new Client(address, credentials.createInsecure());
  const answer = await new Promise((done, failed) => {
    const { path, requestSerialize, responseDeserialize } = definition;
    const request = JSON.parse(given.d ?? '{}');
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      metadata,
      (error, response) => (error === null ? done(response) : failed(error)),
    );
  });
  console.log(JSON.stringify(answer, null, 2));
  client.close();
}

// grpcurl's words begin with one dash, whatever their length.
const { values: given, positionals } = parseArgs({
  args: process.argv.slice(2).map((word) => word.replace(/^-(?=[a-z-]{2,}$)/, '--')),
  allowPositionals: true,
  options: {
    plaintext: { type: 'boolean' },
    'import-path': { type: 'string' },
    proto: { type: 'string' },
    H: { type: 'string', short: 'H', multiple: true },
    d: { type: 'string', short: 'd' },
  },
});
const [address = '', what = ''] = positionals;
await (what === 'list' ? list(address) : call(address, what));
