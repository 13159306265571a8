import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import protobuf from 'protobufjs';
import { adminTree, protoFolder } from '../../../../proto/tree.js';

type Type = protobuf.Type | protobuf.Enum;
type Thing = Type | protobuf.Service;

/** A .proto file as google/protobuf/descriptor.proto puts it (FileDescriptorProto), without its options. */
export interface FileDescriptor {
  readonly name: string;
  readonly package: string;
  readonly syntax: 'proto3';
  /** The files whose types it refers to. */
  readonly dependency: readonly string[];
  readonly messageType: readonly object[];
  readonly enumType: readonly object[];
  readonly service: readonly object[];
}

/** Numbers of FieldDescriptorProto.Type and .Label. */
const scalars: Readonly<Record<string, number>> = {
  ...{ double: 1, float: 2, int64: 3, uint64: 4, int32: 5, fixed64: 6, fixed32: 7, bool: 8, string: 9 },
  ...{ bytes: 12, uint32: 13, sfixed32: 15, sfixed64: 16, sint32: 17, sint64: 18 },
};
const messageType = 11;
const enumType = 14;
const optional = 1;
const repeated = 3;

/** What a map's entries are called: `FooBarEntry` of the field `foo_bar`. Clients insist on it. */
const entryName = (field: string): string =>
  `${field.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())}Entry`;

function typeOf({ type, resolvedType }: protobuf.Field): object {
  if (resolvedType === null) return { type: scalars[type] };
  return {
    type: resolvedType instanceof protobuf.Enum ? enumType : messageType,
    typeName: resolvedType.fullName,
  };
}

function fieldOf(field: protobuf.Field): object {
  const { name, id: number, partOf, parent, options } = field;
  const entry = { type: messageType, typeName: `${parent!.fullName}.${entryName(name)}` };
  return {
    name,
    number,
    jsonName: options?.['json_name'] ?? protobuf.util.camelCase(name),
    label: field.map || field.repeated ? repeated : optional,
    ...(field.map ? entry : typeOf(field)),
    ...(partOf && {
      oneofIndex: oneofsOf(parent as protobuf.Type).indexOf(partOf),
      proto3Optional: partOf.isProto3Optional,
    }),
  };
}

/** Those that only implement `optional` come last. */
const oneofsOf = (type: protobuf.Type): protobuf.OneOf[] =>
  type.oneofsArray.toSorted((a, b) => Number(a.isProto3Optional) - Number(b.isProto3Optional));

function entryOf(field: protobuf.Field): object {
  const { keyType } = field as protobuf.FieldBase as protobuf.MapField;
  const key = { name: 'key', number: 1, label: optional, type: scalars[keyType] };
  const value = { name: 'value', number: 2, label: optional, ...typeOf(field) };
  return { name: entryName(field.name), field: [key, value], options: { mapEntry: true } };
}

function messageOf(type: protobuf.Type): object {
  const maps = type.fieldsArray.filter((field) => field.map);
  return {
    name: type.name,
    field: type.fieldsArray.map(fieldOf),
    nestedType: [...within(type, protobuf.Type).map(messageOf), ...maps.map(entryOf)],
    enumType: within(type, protobuf.Enum).map(enumOf),
    oneofDecl: oneofsOf(type).map(({ name }) => ({ name })),
  };
}

const enumOf = ({ name, values }: protobuf.Enum): object => ({
  name,
  value: Object.entries(values).map(([value, number]) => ({ name: value, number })),
});

const serviceOf = ({ name, methodsArray }: protobuf.Service): object => ({
  name,
  method: methodsArray.map((method) => ({
    name: method.name,
    inputType: method.resolvedRequestType!.fullName,
    outputType: method.resolvedResponseType!.fullName,
    serverStreaming: method.responseStream ?? false,
  })),
});

function within<T>(space: protobuf.NamespaceBase, kind: new (...made: never[]) => T): T[] {
  return space.nestedArray.filter((one): one is T & protobuf.ReflectionObject => one instanceof kind);
}

/** The types that something refers to, whatever file they are in. */
function referredBy(thing: Thing): Type[] {
  if (thing instanceof protobuf.Enum) return [];
  if (thing instanceof protobuf.Service)
    return thing.methodsArray.flatMap((one) => [one.resolvedRequestType!, one.resolvedResponseType!]);
  const own = thing.fieldsArray.flatMap(({ resolvedType }) => resolvedType ?? []);
  return [...own, ...within(thing, protobuf.Type).flatMap(referredBy)];
}

const folder = protoFolder();

/** A file that protobufjs brings along, which holds types of google.protobuf. */
interface PluginExtensions {
  readonly google: { readonly nested: { readonly protobuf: { readonly nested: object } } };
}

function readTree(): protobuf.Root {
  const { nested } = createRequire(import.meta.url)('protobufjs/google/protobuf/descriptor.json');
  protobuf.common('descriptor', nested.google.nested.protobuf.nested);
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) =>
    protobuf.common.get(target) === null ? join(folder, target) : target;
  root.loadSync([...adminTree().files], { keepCase: true }).resolveAll();
  // The types that protobufjs brings along do not know their files.
  for (const file of Object.keys(protobuf.common).filter((name) => name.endsWith('.proto'))) {
    const { google } = protobuf.common.get(file)!.nested as unknown as PluginExtensions;
    for (const name of Object.keys(google.nested.protobuf.nested)) {
      const type = root.lookup(`google.protobuf.${name}`);
      if (type !== null) type.filename = join(folder, file);
    }
  }
  return root;
}

const fileOf = (thing: protobuf.ReflectionObject): string =>
  thing.parent instanceof protobuf.Type ? fileOf(thing.parent) : relative(folder, thing.filename!);

/** The head of each file. */
function thingsByFile(
  space: protobuf.NamespaceBase,
  into = new Map<string, Thing[]>(),
): Map<string, Thing[]> {
  for (const one of space.nestedArray) {
    if (one instanceof protobuf.Type || one instanceof protobuf.Enum || one instanceof protobuf.Service) {
      const file = fileOf(one);
      into.set(file, [...(into.get(file) ?? []), one]);
    } else if (one instanceof protobuf.Namespace) thingsByFile(one, into);
  }
  return into;
}

function describe(name: string, things: readonly Thing[]): FileDescriptor {
  const of = <T extends Thing>(kind: new (...made: never[]) => T): T[] =>
    things.filter((one): one is T => one instanceof kind);
  return {
    name,
    package: things[0]!.parent!.fullName.slice(1),
    syntax: 'proto3',
    dependency: [...new Set(things.flatMap(referredBy).map(fileOf))].filter((file) => file !== name),
    messageType: of(protobuf.Type).map(messageOf),
    enumType: of(protobuf.Enum).map(enumOf),
    service: of(protobuf.Service).map(serviceOf),
  };
}

/** The files of the administration's services and those that they need, each once. */
export function fileDescriptors(): FileDescriptor[] {
  const things = thingsByFile(readTree());
  const found = new Map<string, FileDescriptor>();
  const add = (name: string): void => {
    if (found.has(name)) return;
    const file = describe(name, things.get(name)!);
    found.set(name, file);
    file.dependency.forEach(add);
  };
  for (const [name, inIt] of things) if (inIt.some((one) => one instanceof protobuf.Service)) add(name);
  return [...found.values()];
}
