import { join } from 'node:path';
import {
  type Client,
  type ClientDuplexStream,
  credentials,
  loadPackageDefinition,
  Metadata,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { expect } from 'chai';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor/index.js';
import { adminTree } from '../../proto/tree.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';
import { root } from '../support/root.js';

const reflection = 'node_modules/@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto';

interface Answer {
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] };
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Buffer[] };
}

interface File extends protobuf.Message {
  readonly name: string;
  readonly dependency: readonly string[];
  readonly messageType: readonly { readonly name: string; readonly nestedType: readonly object[] }[];
}

const FileSet = protobuf.Root as never as {
  fromDescriptor(set: { readonly file: readonly File[] }): protobuf.Root;
};

/** A client that knows nothing of the administration plane but what reflection tells it. */
describe('the services that reflection lists', () => {
  let plane: AdminPlane;
  let client: Client;
  let ask: (question: object) => Promise<Answer>;
  const files = new Map<string, File>();

  before(async () => {
    plane = await startPlane({ reflection: true });
    const address = `127.0.0.1:${plane.server.port}`;
    const { grpc } = loadPackageDefinition(loadSync(join(root, reflection))) as never as {
      grpc: { reflection: { v1: { ServerReflection: typeof Client } } };
    };
    client = new grpc.reflection.v1.ServerReflection(address, credentials.createInsecure());
    ask = async (question) => {
      const { ServerReflectionInfo: open } = client as never as {
        ServerReflectionInfo(): ClientDuplexStream<object, Answer>;
      };
      const stream = open.call(client);
      stream.end(question);
      for await (const answer of stream) return answer as Answer;
      throw new Error('No answer came.');
    };
  });
  after(async () => {
    client?.close();
    await plane?.close();
  });

  function read(answer: Answer): File[] {
    const given = answer.fileDescriptorResponse!.fileDescriptorProto;
    return given.map((bytes) => descriptor.FileDescriptorProto.decode(bytes) as File);
  }

  it('is every service, with the files of each, none of them twice', async () => {
    const { service } = (await ask({ listServices: '' })).listServicesResponse!;
    const services = [...adminTree().comments.keys()].map((name) => `headgate.admin.v1.${name}`);
    expect(service.map(({ name }) => name)).to.have.members(services);
    for (const { name } of service) {
      const told = read(await ask({ fileContainingSymbol: name }));
      expect(new Set(told.map((file) => file.name)), name).to.have.property('size', told.length);
      for (const file of told) files.set(file.name, file);
    }
  });

  it('is every file that another needs, by the name that it is needed by', async () => {
    const needed = new Set([...files.values()].flatMap((file) => file.dependency));
    expect([...needed]).to.include.members([
      'google/protobuf/struct.proto',
      'headgate/admin/v1/common.proto',
    ]);
    for (const name of needed) {
      const told = read(await ask({ fileByFilename: name }));
      expect(told[0]).to.deep.equal(files.get(name));
    }
  });

  it('is enough to make a call, and to know what may be absent, and what is a map', async () => {
    const root = FileSet.fromDescriptor({ file: [...files.values()] });
    const { methods } = root.lookupService('headgate.admin.v1.Configs');
    const { resolvedRequestType: request, resolvedResponseType: response } = methods[
      'CreateConfig'
    ]!.resolve() as protobuf.Method;
    expect(request!.oneofs).to.have.property('_slug');
    const { messageType } = files.get('headgate/admin/v1/workspaces.proto')!;
    const { nestedType } = messageType.find(({ name }) => name === 'WorkspaceDefaults')!;
    expect(nestedType).to.have.nested.property('[0].name', 'MetadataEntry');
    expect(nestedType).to.have.nested.property('[0].options.mapEntry', true);
    // protobufjs reads the entries of a map as what they are on the wire.
    const struct = (key: string, value: object): object => ({ structValue: { fields: [{ key, value }] } });
    const config = struct('retry', struct('attempts', { numberValue: 1 }));
    const sent = request!.fromObject({ name: 'told', config });
    const metadata = new Metadata();
    metadata.set('x-gateway-api-key', plane.first.workspace_key);
    const made = await new Promise<protobuf.Message>((done, failed) =>
      client.makeUnaryRequest(
        '/headgate.admin.v1.Configs/CreateConfig',
        (message: protobuf.Message) => Buffer.from(request!.encode(message).finish()),
        (bytes) => response!.decode(bytes),
        sent,
        metadata,
        (error, answer) => (error === null ? done(answer!) : failed(error)),
      ),
    );
    expect(response!.toObject(made)).to.have.property('success', true);
  });
});
