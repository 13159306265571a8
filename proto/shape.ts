import protobuf from 'protobufjs';

/** What a field must be: options.proto, `Rules`. Absent: no such rule. */
export interface Rules {
  readonly required?: boolean;
  readonly min_len?: number;
  readonly max_len?: number;
  readonly in?: string;
  readonly pattern?: string;
  readonly min?: number;
  readonly max?: number;
  readonly min_items?: number;
  readonly max_items?: number;
  readonly unique?: boolean;
  readonly secret?: boolean;
  readonly json?: boolean;
  readonly immutable?: boolean;
  readonly email?: boolean;
  readonly uri?: boolean;
  readonly clearable?: boolean;
  readonly empty_as_null?: boolean;
  readonly omit_absent?: boolean;
  readonly password?: boolean;
}

/** How a value is held in memory and written in JSON. */
export type Kind =
  | 'string'
  | 'bool'
  | 'int32'
  | 'double'
  /** base64 in JSON, a Uint8Array in memory. */
  | 'bytes'
  /** ISO 8601 UTC with milliseconds. */
  | 'timestamp'
  /** Plain JSON: any, or an object. */
  | 'value'
  | 'struct'
  /** Paths of fields, a list. */
  | 'mask'
  | 'message';

export interface FieldShape {
  /** As in the proto file, and in memory. */
  readonly name: string;
  /** As it is written in JSON. */
  readonly jsonName: string;
  /** Every spelling taken in JSON and in queries. */
  readonly spellings: readonly string[];
  readonly kind: Kind;
  /** Of kind `message`. */
  readonly message: Shape | null;
  readonly list: boolean;
  /** From text to values of the kind. */
  readonly map: boolean;
  /** Does it have presence, so that an explicit default differs from absence? */
  readonly optional: boolean;
  /** Is it given over REST by a header or by the keys of the body, and not by a field? */
  readonly apart: boolean;
  readonly rules: Rules;
  readonly comment: string;
}

/** A message, as everything that is made from the proto files looks at it. */
export interface Shape {
  readonly name: string;
  readonly type: protobuf.Type;
  readonly fields: readonly FieldShape[];
  readonly comment: string;
  /** The field of that spelling. */
  spelt(name: string): FieldShape | undefined;
  /** The field of that name. */
  field(name: string): FieldShape | undefined;
}

/** Numbers of fields that REST gives by headers and by which keys a body has: `update_mask`, `etag`, `request_id`. */
const carriedApart: Readonly<Record<number, string>> = { 100: 'update_mask', 101: 'etag', 102: 'request_id' };

const scalars: Readonly<Record<string, Kind>> = {
  string: 'string',
  bool: 'bool',
  int32: 'int32',
  double: 'double',
  bytes: 'bytes',
};
const wellKnown: Readonly<Record<string, Kind>> = {
  '.google.protobuf.Timestamp': 'timestamp',
  '.google.protobuf.Value': 'value',
  '.google.protobuf.Struct': 'struct',
  '.google.protobuf.FieldMask': 'mask',
};

function optionOf(field: protobuf.Field, name: string): unknown {
  return field.options?.[name];
}

/** protobufjs keeps the parts of an option each under its own name: `(rules).max_len`. */
function rulesOf({ options = {} }: protobuf.Field): Rules {
  const mine = Object.entries(options).filter(([name]) => name.startsWith('(rules).'));
  return Object.fromEntries(mine.map(([name, value]) => [name.slice('(rules).'.length), value]));
}

function kindOf(field: protobuf.Field): Kind {
  const kind = scalars[field.type];
  if (kind !== undefined) return kind;
  const { resolvedType } = field;
  if (resolvedType instanceof protobuf.Type) return wellKnown[resolvedType.fullName] ?? 'message';
  // 64-bit integers become text in JSON; enums are text with an `in` rule.
  throw new Error(`${field.fullName}: the type ${field.type} is not one of those the API uses.`);
}

class MessageField implements FieldShape {
  readonly name: string;
  readonly jsonName: string;
  readonly spellings: readonly string[];
  readonly kind: Kind;
  readonly list: boolean;
  readonly map: boolean;
  readonly optional: boolean;
  readonly apart: boolean;
  readonly rules: Rules;
  readonly comment: string;
  readonly #type: protobuf.Type | null;

  constructor(field: protobuf.Field) {
    field.resolve();
    const alias = optionOf(field, '(alias)');
    const jsonName = optionOf(field, 'json_name');
    this.name = field.name;
    this.jsonName = typeof jsonName === 'string' ? jsonName : field.name;
    this.spellings = [...new Set([this.jsonName, field.name, ...(typeof alias === 'string' ? [alias] : [])])];
    this.kind = kindOf(field);
    this.#type = this.kind === 'message' ? (field.resolvedType as protobuf.Type) : null;
    this.list = field.repeated;
    this.map = field instanceof protobuf.MapField;
    if (field instanceof protobuf.MapField && field.keyType !== 'string')
      throw new Error(`${field.fullName}: keys of maps are text.`);
    this.optional = !this.list && !this.map && (field.partOf !== null || field.resolvedType !== null);
    this.apart = carriedApart[field.id] === field.name;
    this.rules = rulesOf(field);
    this.comment = field.comment ?? '';
  }

  get message(): Shape | null {
    return this.#type === null ? null : shapeOf(this.#type);
  }
}

class MessageShape implements Shape {
  readonly name: string;
  readonly fields: readonly FieldShape[];
  readonly comment: string;
  readonly #spelt = new Map<string, FieldShape>();
  readonly #named = new Map<string, FieldShape>();

  constructor(readonly type: protobuf.Type) {
    this.name = type.name;
    this.comment = type.comment ?? '';
    this.fields = type.fieldsArray.map((field) => new MessageField(field));
    for (const field of this.fields) {
      this.#named.set(field.name, field);
      for (const spelling of field.spellings) {
        if (this.#spelt.has(spelling)) throw new Error(`${type.fullName}: two fields are spelt ${spelling}.`);
        this.#spelt.set(spelling, field);
      }
    }
  }

  spelt(name: string): FieldShape | undefined {
    return this.#spelt.get(name);
  }

  field(name: string): FieldShape | undefined {
    return this.#named.get(name);
  }
}

const shapes = new WeakMap<protobuf.Type, Shape>();

/** The shape of a message type; made once. */
export function shapeOf(type: protobuf.Type): Shape {
  let shape = shapes.get(type);
  if (shape === undefined) {
    shape = new MessageShape(type);
    shapes.set(type, shape);
  }
  return shape;
}
