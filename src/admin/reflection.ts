import type { Server } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { adminPackage, adminTree, protoFolder } from '../../proto/tree.js';

/** Answers clients that ask which methods there are and what they take. */
export function addReflection(server: Server): void {
  const { files, methods } = adminTree();
  const services = new Set([...methods.values()].map(({ service }) => `${adminPackage}.${service}`));
  const definition = loadSync([...files], { includeDirs: [protoFolder()], keepCase: true });
  new ReflectionService(definition, { services: [...services] }).addToServer(server);
}
