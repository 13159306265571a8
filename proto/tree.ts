import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';
import { type Shape, shapeOf } from './shape.js';

/** Who may call a method, and what the audit log calls it: options.proto, `Access`. */
export interface Access {
  /** One of them is enough; empty: public. */
  readonly scopes: readonly string[];
  readonly resource: string;
  readonly action: string;
  readonly audited: boolean;
  readonly organisationOnly: boolean;
}

/** One way over HTTP to a method. */
export interface Binding {
  /** Upper case. */
  readonly verb: string;
  /** `/v1/configs/{slug}` */
  readonly path: string;
  /** `*`: the body holds every field that the path does not; a name: that field; empty: no body. */
  readonly body: string;
  /** The one field of the response that is the answer; empty: all of it. */
  readonly responseBody: string;
}

export interface AdminMethod {
  readonly service: string;
  readonly method: string;
  /** `Configs.CreateConfig` */
  readonly name: string;
  /** As gRPC asks for it: `/headgate.admin.v1.Configs/CreateConfig`. */
  readonly path: string;
  readonly request: Shape;
  readonly response: Shape;
  readonly streams: boolean;
  readonly access: Access;
  readonly bindings: readonly Binding[];
  readonly comment: string;
}

export interface AdminTree {
  /** Files of the tree as they are imported, in order of their names. */
  readonly files: readonly string[];
  readonly root: protobuf.Root;
  /** By name. In the order of files, services and methods. */
  readonly methods: ReadonlyMap<string, AdminMethod>;
  /** What a service is about, by its name. */
  readonly comments: ReadonlyMap<string, string>;
}

export const adminPackage = 'headgate.admin.v1';

/** The .proto files stay where they are: this file stands among them in a checkout, and under dist/ in a build. */
export function protoFolder(): string {
  for (let at = import.meta.dirname; ; at = dirname(at)) {
    if (existsSync(join(at, 'proto/headgate'))) return join(at, 'proto');
    if (at === dirname(at)) throw new Error('The folder proto/ is missing beside the program.');
  }
}

function emptyRoot(folder: string): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => {
    const file = target.startsWith('/') ? target : join(folder, target);
    return existsSync(file) ? file : null;
  };
  const { nested } = createRequire(import.meta.url)('protobufjs/google/protobuf/descriptor.json');
  protobuf.common('descriptor', nested.google.nested.protobuf.nested);
  return root;
}

type Options = Readonly<Record<string, unknown>>;
const verbs = ['get', 'post', 'put', 'patch', 'delete'] as const;

function optionOf(method: protobuf.Method, name: string): Options | null {
  const found = (method.parsedOptions as readonly Options[] | undefined)?.find((one) => name in one);
  return (found?.[name] as Options | undefined) ?? null;
}

function bindingsOf(method: protobuf.Method): Binding[] {
  const rule = optionOf(method, '(google.api.http)');
  if (rule === null) return [];
  const more = [rule['additional_bindings'] ?? []].flat() as Options[];
  return [rule, ...more].map((one) => {
    const verb = verbs.find((name) => typeof one[name] === 'string');
    if (verb === undefined) throw new Error(`${method.fullName}: a google.api.http rule names no path.`);
    return {
      verb: verb.toUpperCase(),
      path: String(one[verb]),
      body: String(one['body'] ?? ''),
      responseBody: String(one['response_body'] ?? ''),
    };
  });
}

function accessOf(method: protobuf.Method): Access {
  const option = optionOf(method, '(access)');
  const words = String(option?.['any_of'] ?? '')
    .split(' ')
    .filter((word) => word !== '');
  if (words.length === 0) throw new Error(`${method.fullName} does not say who may call it.`);
  return {
    scopes: words.includes('public') ? [] : words,
    resource: String(option?.['resource'] ?? ''),
    action: String(option?.['action'] ?? ''),
    audited: option?.['audited'] === true,
    organisationOnly: option?.['organisation_only'] === true,
  };
}

function methodOf(service: protobuf.Service, method: protobuf.Method): AdminMethod {
  method.resolve();
  if (method.requestStream) throw new Error(`${method.fullName}: requests do not stream.`);
  return {
    service: service.name,
    method: method.name,
    name: `${service.name}.${method.name}`,
    path: `/${adminPackage}.${service.name}/${method.name}`,
    request: shapeOf(method.resolvedRequestType!),
    response: shapeOf(method.resolvedResponseType!),
    streams: method.responseStream === true,
    access: accessOf(method),
    bindings: bindingsOf(method),
    comment: method.comment ?? '',
  };
}

/** Reads the tree of one folder. `from`: what stands in it in place of the program's own, for tests. */
export function readTree(folder: string): AdminTree {
  const place = adminPackage.replaceAll('.', '/');
  const files = readdirSync(join(folder, place))
    .filter((name) => name.endsWith('.proto'))
    .sort()
    .map((name) => `${place}/${name}`);
  const root = emptyRoot(folder);
  root.loadSync(
    files.map((file) => join(folder, file)),
    { keepCase: true, alternateCommentMode: true },
  );
  const methods = new Map<string, AdminMethod>();
  const comments = new Map<string, string>();
  for (const entry of (root.lookup(adminPackage) as protobuf.Namespace).nestedArray) {
    if (!(entry instanceof protobuf.Service)) continue;
    comments.set(entry.name, entry.comment ?? '');
    for (const method of entry.methodsArray) {
      const one = methodOf(entry, method);
      methods.set(one.name, one);
    }
  }
  return { files, root, methods, comments };
}

let own: AdminTree | null = null;

/** The tree of proto/headgate/admin/v1, read once. */
export function adminTree(): AdminTree {
  own ??= readTree(protoFolder());
  return own;
}

/** The method of this name; the name is one of the program's own. */
export function adminMethod(name: string): AdminMethod {
  const method = adminTree().methods.get(name);
  if (method === undefined) throw new Error(`There is no method ${name}.`);
  return method;
}
