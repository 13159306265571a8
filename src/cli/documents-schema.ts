import type { FieldShape, Shape } from '../../proto/shape.js';
import type { DocumentKind } from '../control-plane/administration/resources/files/kinds/kind.js';
import { kinds } from '../control-plane/administration/resources/files/kinds/kinds.js';
import { specShape } from '../control-plane/administration/resources/files/kinds/spec-shape.js';
import { nodeSchema } from '../data-plane/routing/schema.js';

/** A JSON Schema of documents, made from the descriptors and their rules, for editors. */

export type EditorSchema = { readonly [name: string]: unknown };

const reference = (name: string): EditorSchema => ({ $ref: `#/definitions/${name}` });
const secret = reference('Secret');

const definitions: Readonly<Record<string, EditorSchema>> = {
  Secret: {
    description: 'A secret, which is never written into a file: where its value comes from.',
    type: 'object',
    oneOf: [
      one('env', { type: 'string', minLength: 1, description: 'Variable where headgate apply runs.' }),
      one('stdin', { const: true, description: 'Standard input of headgate apply.' }),
      one('secret_reference', { type: 'string', minLength: 1, description: 'Slug of a secret reference.' }),
    ],
  },
};

function one(name: string, schema: EditorSchema): EditorSchema {
  return { properties: { [name]: schema }, required: [name], additionalProperties: false };
}

const describedBy = (comment: string): EditorSchema =>
  comment === '' ? {} : { description: comment.replaceAll('\n', ' ') };

function single(field: FieldShape): EditorSchema {
  const { rules } = field;
  if (rules.secret === true) return secret;
  switch (field.kind) {
    case 'string':
      return {
        type: 'string',
        ...(rules.in !== undefined && { enum: rules.in.split(' ') }),
        ...(rules.min_len && { minLength: rules.min_len }),
        ...(rules.max_len && { maxLength: rules.max_len }),
        ...(rules.pattern !== undefined && { pattern: rules.pattern }),
        ...(rules.uri === true && { format: 'uri' }),
        ...(rules.email === true && { format: 'email' }),
      };
    case 'bool':
      return { type: 'boolean' };
    case 'int32':
    case 'double':
      return {
        type: field.kind === 'int32' ? 'integer' : 'number',
        ...(rules.min !== undefined && { minimum: rules.min }),
        ...(rules.max !== undefined && { maximum: rules.max }),
      };
    case 'timestamp':
      return { type: 'string', format: 'date-time' };
    case 'message':
      return messageSchema(field.message!);
    case 'struct':
      return { type: 'object' };
    case 'value':
      return rules.json === true ? { type: 'object' } : {};
    default:
      return {};
  }
}

function fieldSchema(field: FieldShape): EditorSchema {
  const { rules, list, map, comment } = field;
  const described = describedBy(comment);
  if (list)
    return {
      ...described,
      type: 'array',
      items: single(field),
      ...(rules.min_items && { minItems: rules.min_items }),
      ...(rules.max_items && { maxItems: rules.max_items }),
      ...(rules.unique === true && { uniqueItems: true }),
    };
  if (map)
    return {
      ...described,
      type: 'object',
      additionalProperties: single(field),
      ...(rules.max_items && { maxProperties: rules.max_items }),
    };
  const schema = single(field);
  // What is beside a $ref is ignored in draft 7.
  return '$ref' in schema ? { ...described, allOf: [schema] } : { ...schema, ...described };
}

const objectOf = (
  fields: readonly FieldShape[],
  schemas: Readonly<Record<string, EditorSchema>>,
  optional: ReadonlySet<string>,
): EditorSchema => {
  const required = fields
    .filter(({ name, rules }) => rules.required === true && !optional.has(name))
    .map(({ jsonName }) => jsonName);
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      fields.map((field) => [field.jsonName, schemas[field.name] ?? fieldSchema(field)]),
    ),
    ...(required.length > 0 && { required }),
  };
};

function messageSchema({ fields, comment }: Shape): EditorSchema {
  const own = fields.filter(({ apart }) => !apart);
  return { ...describedBy(comment), ...objectOf(own, {}, new Set()) };
}

/** Fields of configs that hold secrets. */
const secretName =
  /(?:^|_)(?:api_key|secret|secret_access_key|session_token|ad_token|password|passphrase|private_key|service_account_json)$/;

function configSchema(): EditorSchema {
  const properties = Object.entries(nodeSchema.properties as Readonly<Record<string, EditorSchema>>).map(
    ([name, schema]) => [name, secretName.test(name) ? secret : schema] as const,
  );
  const { mirror, ...rest } = Object.fromEntries(properties) as Readonly<Record<string, EditorSchema>>;
  const inMirror = mirror?.['properties'] as EditorSchema;
  return {
    description: 'A routing config, or a target of one.',
    type: 'object',
    additionalProperties: false,
    properties: {
      ...rest,
      mirror: { ...mirror, properties: { ...inMirror, target: reference('ConfigNode') } },
      targets: { type: 'array', items: reference('ConfigNode') },
    },
  };
}

/** Fields of a spec that have a schema of their own. */
const special: Readonly<Record<string, Readonly<Record<string, EditorSchema>>>> = {
  Plugin: {
    credentials: {
      description: 'Credentials for calls to the partner. Secrets only by reference.',
      type: 'object',
      additionalProperties: { anyOf: [secret, { type: 'string' }] },
    },
  },
  Config: { config: { description: 'The routing config.', allOf: [reference('ConfigNode')] } },
};

const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** What documents may leave out, though a request needs it. */
const optional: ReadonlySet<string> = new Set(['name', 'type', 'sub_type']);
const needsType: ReadonlySet<string> = new Set(['UsageLimitsPolicy', 'RateLimitsPolicy']);

function kindSchema(kind: DocumentKind): EditorSchema {
  const shape = specShape(kind);
  const left = needsType.has(kind.kind) ? new Set(['name']) : optional;
  const isPlaced = kind.reach === 'workspace' || kind.reach === 'either';
  const isSingle = kind.reach === 'single';
  const required = [
    'kind',
    ...(isSingle ? [] : ['name']),
    ...(shape.fields.some(({ name, rules }) => rules.required && !left.has(name)) ? ['spec'] : []),
  ];
  return {
    description: shape.comment.replaceAll('\n', ' '),
    type: 'object',
    additionalProperties: false,
    properties: {
      kind: { const: kind.kind },
      name: {
        type: 'string',
        minLength: 1,
        description: kind.identity ? `${upper(kind.identity.form)}.` : 'The slug of the record, or its name.',
      },
      ...(isPlaced && { workspace: { type: 'string', minLength: 1, description: 'Slug of its workspace.' } }),
      etag: {
        type: 'string',
        description: 'Of headgate export --editing: apply is refused when the record has changed since.',
      },
      spec: objectOf(shape.fields, special[kind.kind] ?? {}, left),
    },
    required,
  };
}

/** The schema of documents of a kind, or of all of them. */
export function documentsSchema(of?: DocumentKind): EditorSchema {
  const wanted = of === undefined ? kinds : [of];
  const all = {
    ...definitions,
    ConfigNode: configSchema(),
    ...Object.fromEntries(wanted.map((kind) => [kind.kind, kindSchema(kind)])),
  };
  const head = { $schema: 'http://json-schema.org/draft-07/schema#', title: 'Headgate' };
  if (of !== undefined) return { ...head, ...reference(of.kind), definitions: all };
  return {
    ...head,
    description: 'A document of configuration, as headgate apply takes it.',
    type: 'object',
    required: ['kind'],
    properties: {
      kind: { enum: wanted.map(({ kind }) => kind), description: 'What the document describes.' },
    },
    allOf: wanted.map(({ kind }) => ({
      if: { properties: { kind: { const: kind } }, required: ['kind'] },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema; no promise is involved.
      then: reference(kind),
    })),
    definitions: all,
  };
}
