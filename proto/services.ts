import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { AdminServices } from './messages.js';

export type ServiceName = keyof AdminServices;

const files: Readonly<Record<ServiceName, string>> = {
  ApiKeys: 'api_keys',
  Providers: 'providers',
  Configs: 'configs',
  Logs: 'logs',
};
export const serviceNames = Object.keys(files) as readonly ServiceName[];

/** The .proto files stay where they are: this file stands among them in a checkout, and under dist/ in a build. */
function protoFolder(): string {
  for (let at = import.meta.dirname; ; at = dirname(at)) {
    if (existsSync(join(at, 'proto/headgate'))) return join(at, 'proto');
    if (at === dirname(at)) throw new Error('The folder proto/ is missing beside the program.');
  }
}

let loaded: Readonly<Record<ServiceName, ServiceDefinition>> | null = null;

/** The services of proto/headgate/admin/v1, read once. */
export function adminServices(): Readonly<Record<ServiceName, ServiceDefinition>> {
  if (loaded !== null) return loaded;
  const root = protoFolder();
  const definition = loadSync(
    serviceNames.map((name) => join(root, `headgate/admin/v1/${files[name]}.proto`)),
    { includeDirs: [root], keepCase: true, longs: Number, enums: String, defaults: true },
  );
  const services = {} as Record<ServiceName, ServiceDefinition>;
  for (const name of serviceNames) {
    services[name] = definition[`headgate.admin.v1.${name}`] as ServiceDefinition;
  }
  loaded = services;
  return services;
}
