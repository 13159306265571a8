import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
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
  /** It begins its unit of work itself. */
  readonly ownUnit?: boolean;
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
  /** By name. In the order of files, services and methods. */
  readonly methods: ReadonlyMap<string, AdminMethod>;
  /** What a service is about, by its name. */
  readonly comments: ReadonlyMap<string, string>;
}

export const adminPackage = 'headgate.admin.v1';

/** The .proto files stay where they are: this file is among them in a checkout, and under dist/ in a build. */
export function protoFolder(): string {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    if (existsSync(join(at, 'proto/headgate'))) return join(at, 'proto');
    if (at === dirname(at)) throw new Error('The folder proto/ is missing beside the program.');
  }
}

/** A method as proto/tree.json has it: its messages by their full names. */
export type StoredMethod = Omit<AdminMethod, 'name' | 'path' | 'request' | 'response'> & {
  readonly request: string;
  readonly response: string;
};

/** `proto/tree.json`: the tree as a program reads it in a few milliseconds. */
export interface StoredTree {
  readonly files: readonly string[];
  readonly comments: Readonly<Record<string, string>>;
  readonly methods: readonly StoredMethod[];
  /** Every message that they need, as protobufjs writes it. */
  readonly types: protobuf.INamespace;
}

/**
 * Messages by their full names. Each is made with those that it refers to, when the first of these is asked for: to make all
 * of the tree takes longer than most commands do that need a few.
 */
class Messages {
  readonly #root = new protobuf.Root();
  readonly #stored = new Map<string, { readonly space: string; readonly json: protobuf.IType }>();
  readonly #made = new Set<string>();

  constructor(types: protobuf.INamespace) {
    this.#read('', types);
  }

  named(name: string): protobuf.Type {
    if (this.#add(name)) this.#root.resolveAll();
    return this.#root.lookupType(name);
  }

  #read(space: string, { nested = {} }: protobuf.INamespace): void {
    for (const [name, json] of Object.entries(nested)) {
      const fullName = space === '' ? name : `${space}.${name}`;
      const isPackage = !('fields' in json || 'values' in json);
      if (isPackage) this.#read(fullName, json as protobuf.INamespace);
      else this.#stored.set(fullName, { space, json: json as protobuf.IType });
    }
  }

  /** Was there anything to add? */
  #add(name: string): boolean {
    const found = this.#stored.get(name);
    if (found === undefined || this.#made.has(name)) return false;
    this.#made.add(name);
    const { space, json } = found;
    for (const { type } of Object.values(json.fields ?? {})) {
      this.#add(type);
      this.#add(`${space}.${type}`);
    }
    this.#root.define(space).addJSON({ [name.slice(space.length + 1)]: json });
    return true;
  }
}

/** The tree that was stored. Its messages are looked at when they are asked for. */
export function treeOf(stored: StoredTree): AdminTree {
  const messages = new Messages(stored.types);
  const shapeNamed = (name: string): Shape => shapeOf(messages.named(name));
  const methods = stored.methods.map((one): AdminMethod => {
    const { service, method } = one;
    let request: Shape | null = null;
    let response: Shape | null = null;
    return {
      ...one,
      name: `${service}.${method}`,
      path: `/${adminPackage}.${service}/${method}`,
      get request() {
        request ??= shapeNamed(one.request);
        return request;
      },
      get response() {
        response ??= shapeNamed(one.response);
        return response;
      },
    };
  });
  return {
    files: stored.files,
    methods: new Map(methods.map((method) => [method.name, method])),
    comments: new Map(Object.entries(stored.comments)),
  };
}

let own: AdminTree | null = null;

/** The tree of proto/headgate/admin/v1, read once. */
export function adminTree(): AdminTree {
  own ??= treeOf(JSON.parse(readFileSync(join(protoFolder(), 'tree.json'), 'utf8')));
  return own;
}

/** The method of this name; the name is one of the program's own. */
export function adminMethod(name: string): AdminMethod {
  const method = adminTree().methods.get(name);
  if (method === undefined) throw new Error(`There is no method ${name}.`);
  return method;
}
