import type { FieldShape } from '../../proto/shape.js';
import type { AdminMethod, AdminTree } from '../../proto/tree.js';
import { shapesOf } from './types.js';

/** A field as clients depend on it. */
export interface ApiField {
  readonly number: number;
  /** Of the proto file; of a message its name. */
  readonly type: string;
  /** Absent: always there, once. */
  readonly label?: 'optional' | 'repeated' | 'map';
  /** Names taken in JSON; the first is the one that answers have. Absent: the field's own alone. */
  readonly json?: readonly string[];
  readonly required?: true;
  /** The only values allowed; absent: any. */
  readonly values?: readonly string[];
}

export interface ApiMethod {
  readonly request: string;
  readonly response: string;
  readonly streams: boolean;
  /** `GET /v1/configs/{slug}` */
  readonly bindings: readonly string[];
}

/** The administration API, as far as a change of it may break a client. */
export interface Api {
  readonly methods: Readonly<Record<string, ApiMethod>>;
  /** Fields by name, of messages by name. */
  readonly messages: Readonly<Record<string, Readonly<Record<string, ApiField>>>>;
}

function fieldOf(field: FieldShape, number: number): ApiField {
  const { name, kind, message, list, map, optional, spellings, rules } = field;
  const label = list ? 'repeated' : map ? 'map' : optional ? 'optional' : null;
  return {
    number,
    type: message?.name ?? kind,
    ...(label === null ? {} : { label }),
    ...(spellings.length === 1 && spellings[0] === name ? {} : { json: spellings }),
    ...(rules.required === true ? { required: true } : {}),
    ...(rules.in === undefined ? {} : { values: rules.in.split(' ') }),
  };
}

const methodOf = ({ request, response, streams, bindings }: AdminMethod): ApiMethod => ({
  request: request.name,
  response: response.name,
  streams,
  bindings: bindings.map(({ verb, path }) => `${verb} ${path}`),
});

export function apiOf(tree: AdminTree): Api {
  const messages = shapesOf(tree).map((shape) => {
    const fields = shape.fields.map((field) => [
      field.name,
      fieldOf(field, shape.type.fields[field.name]!.id),
    ]);
    return [shape.name, Object.fromEntries(fields)];
  });
  const methods = [...tree.methods.values()].map((method) => [method.name, methodOf(method)]);
  return { methods: Object.fromEntries(methods), messages: Object.fromEntries(messages) };
}

/** `proto/released.json`: a line for each method and each message. */
export function apiFile({ methods, messages }: Api): string {
  const lines = (of: object): string =>
    Object.entries(of)
      .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
      .join(',\n');
  return `{"methods":{\n${lines(methods)}\n},"messages":{\n${lines(messages)}\n}}\n`;
}
