import { join } from 'node:path';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { Client, credentials, loadPackageDefinition, Metadata, type MethodDefinition } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromObject, loadSync } from '@grpc/proto-loader';
import descriptor from 'protobufjs/ext/descriptor/index.js';

/**
 * As much of grpcurl as the docs type: `-plaintext`, `-H`, `-d`, `list`, a method. What it knows of the server, the
 * server's reflection has told it.
 */

interface Answer {
  listServicesResponse?: { service: { name: string }[] };
  fileDescriptorResponse?: { fileDescriptorProto: Buffer[] };
}

interface Reflection {
  grpc: {
    reflection: {
      v1: {
        ServerReflection: new (address: string, how: object) => Client & { ServerReflectionInfo(): unknown };
      };
    };
  };
}

const root = join(import.meta.dirname, '../../node_modules/@grpc/reflection/build/proto');

function ask(address: string, question: object): Promise<Answer> {
  const file = join(root, 'grpc/reflection/v1/reflection.proto');
  const { grpc } = loadPackageDefinition(loadSync(file)) as unknown as Reflection;
  const client = new grpc.reflection.v1.ServerReflection(address, credentials.createInsecure());
  const stream = client.ServerReflectionInfo() as ClientDuplexStream<object, Answer>;
  return new Promise<Answer>((done, failed) => {
    stream.on('data', done).on('error', failed);
    stream.write(question);
  }).finally(() => {
    stream.end();
    client.close();
  });
}

async function call(address: string, name: string, data: string, headers: readonly string[]): Promise<void> {
  const [service = '', method = ''] = name.split('/');
  const { fileDescriptorResponse } = await ask(address, { fileContainingSymbol: service });
  const file = (fileDescriptorResponse?.fileDescriptorProto ?? []).map((bytes) =>
    descriptor.FileDescriptorProto.decode(bytes).toJSON(),
  );
  const services = loadFileDescriptorSetFromObject({ file }, { keepCase: true });
  const { path, requestSerialize, responseDeserialize } = (
    services[service] as unknown as Record<string, MethodDefinition<object, object>>
  )[method]!;
  const metadata = new Metadata();
  for (const header of headers) {
    const [key = '', value = ''] = header.split(/: (.*)/s);
    metadata.set(key, value);
  }
  const client = new Client(address, credentials.createInsecure());
  await new Promise<void>((done, failed) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      JSON.parse(data),
      metadata,
      (error, answer) => {
        if (error !== null) return failed(error);
        console.log(JSON.stringify(answer, null, 2));
        done();
      },
    );
  }).finally(() => client.close());
}

const [headers, plain]: [string[], string[]] = [[], []];
let data = '{}';
const words = process.argv.slice(2);
for (let word = words.shift(); word !== undefined; word = words.shift()) {
  if (word === '-H') headers.push(words.shift() ?? '');
  else if (word === '-d') data = words.shift() ?? '';
  else if (word !== '-plaintext') plain.push(word);
}
const [address = '', what = ''] = plain;
if (what === 'list') {
  const { listServicesResponse } = await ask(address, { listServices: '' });
  for (const { name } of listServicesResponse?.service ?? []) console.log(name);
} else await call(address, what, data, headers);
