import type { Server } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import descriptor from 'protobufjs/ext/descriptor/index.js';
import { fileDescriptors } from './descriptors.js';

const { FileDescriptorProto } = descriptor;

/** Answers reflection: the list of methods and their messages, without options. */
export function addReflection(server: Server): void {
  const files = fileDescriptors().map((file) =>
    Buffer.from(FileDescriptorProto.encode(FileDescriptorProto.fromObject(file)).finish()),
  );
  // The service reads nothing of a package but its files. Those that @grpc/proto-loader writes lack what they import.
  const definition = { files: { format: 'Files', type: {}, fileDescriptorProtos: files } };
  new ReflectionService(definition as never).addToServer(server);
}
