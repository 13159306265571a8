import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import {
  type Access,
  adminPackage,
  type Binding,
  protoFolder,
  type StoredMethod,
  type StoredTree,
} from '../../proto/tree.js';

/** What a file imports is looked for in its own folder, then among the program's own. */
function emptyRoot(folder: string): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) =>
    [target, join(folder, target), join(protoFolder(), target)].find(existsSync) ?? null;
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
    ...(option?.['own_unit'] === true && { ownUnit: true }),
  };
}

const fullNameOf = (type: protobuf.Type | null): string => type!.fullName.slice(1);

function methodOf(service: protobuf.Service, method: protobuf.Method): StoredMethod {
  method.resolve();
  if (method.requestStream) throw new Error(`${method.fullName}: requests do not stream.`);
  return {
    service: service.name,
    method: method.name,
    request: fullNameOf(method.resolvedRequestType),
    response: fullNameOf(method.resolvedResponseType),
    streams: method.responseStream === true,
    access: accessOf(method),
    bindings: bindingsOf(method),
    comment: method.comment ?? '',
  };
}

/** The full names of those types and of all that they are made of. */
function closure(root: protobuf.Root, names: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const visit = (type: protobuf.Type | protobuf.Enum): void => {
    const name = type.fullName.slice(1);
    if (seen.has(name)) return;
    seen.add(name);
    if (!(type instanceof protobuf.Type)) return;
    for (const field of type.fieldsArray)
      if (field.resolve().resolvedType !== null) visit(field.resolvedType!);
  };
  for (const name of names) visit(root.lookupType(name));
  return seen;
}

interface Node {
  nested?: Record<string, Node>;
  readonly [other: string]: unknown;
}

/** Leaves these types alone, and the namespaces that they are in. Messages are not declared inside of messages. */
function pruned(node: Node, kept: ReadonlySet<string>, name = ''): Node | null {
  if (kept.has(name)) return node;
  const nested = Object.entries(node.nested ?? {}).flatMap(([inner, one]) => {
    const left = pruned(one, kept, name === '' ? inner : `${name}.${inner}`);
    return left === null ? [] : [[inner, left]];
  });
  return nested.length === 0 ? null : { nested: Object.fromEntries(nested) };
}

/** Reads the .proto files of a folder. Throws for what is no tree of the administration plane. */
export function readProtos(folder: string): StoredTree {
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
  const services = (root.lookup(adminPackage) as protobuf.Namespace).nestedArray.filter(
    (entry): entry is protobuf.Service => entry instanceof protobuf.Service,
  );
  const methods = services.flatMap((service) => service.methodsArray.map((one) => methodOf(service, one)));
  const kept = closure(
    root,
    methods.flatMap(({ request, response }) => [request, response]),
  );
  return {
    files,
    comments: Object.fromEntries(services.map(({ name, comment }) => [name, comment ?? ''])),
    methods,
    types: pruned(root.toJSON({ keepComments: true }) as Node, kept) as protobuf.INamespace,
  };
}

/** `proto/tree.json`: a line for each method and each message, so that a change of one is seen as such. */
export function treeFile({ files, comments, methods, types }: StoredTree): string {
  const text = (value: unknown): string =>
    JSON.stringify(value, (_name, inner) => (inner === null ? undefined : inner));
  const lines = (values: readonly string[]): string => `\n${values.join(',\n')}\n`;
  const nested = (node: Node): string =>
    `{"nested":{${lines(
      Object.entries(node.nested ?? {}).map(
        ([name, one]) => `${text(name)}:${one.nested === undefined ? text(one) : nested(one)}`,
      ),
    )}}}`;
  return `{"files":[${lines(files.map(text))}],
"comments":${text(comments)},
"methods":[${lines(methods.map(text))}],
"types":${nested(types as Node)}}
`;
}
