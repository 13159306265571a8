import type { FieldShape, Kind, Shape } from '../../proto/shape.js';
import type { AdminMethod, AdminTree, Binding } from '../../proto/tree.js';
import { placesOf } from './problems.js';
import { shapesOf } from './types.js';

type Json = Record<string, unknown>;

const kinds: Readonly<Record<Exclude<Kind, 'message'>, Json>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  double: { type: 'number' },
  bytes: { type: 'string', contentEncoding: 'base64' },
  timestamp: { type: 'string', format: 'date-time' },
  value: {},
  struct: { type: 'object' },
  mask: { type: 'array', items: { type: 'string' } },
};

function one({ kind, message, rules }: FieldShape): Json {
  if (kind === 'message') return { $ref: `#/components/schemas/${message!.name}` };
  return {
    ...kinds[kind],
    ...(rules.json === true && { type: ['object', 'string'] }),
    ...(rules.in !== undefined && { enum: rules.in.split(' ') }),
    ...(rules.pattern !== undefined && { pattern: rules.pattern }),
    ...(rules.min_len !== undefined && { minLength: rules.min_len }),
    ...(rules.max_len !== undefined && { maxLength: rules.max_len }),
    ...(rules.min !== undefined && { minimum: rules.min }),
    ...(rules.max !== undefined && { maximum: rules.max }),
    ...(rules.email === true && { format: 'email' }),
    ...(rules.uri === true && { format: 'uri' }),
    ...(rules.secret === true && { format: 'password', writeOnly: true }),
  };
}

function nullable(schema: Json): Json {
  if ('$ref' in schema) return { anyOf: [schema, { type: 'null' }] };
  const { type } = schema;
  if (type === undefined) return schema;
  const words = schema['enum'] as readonly string[] | undefined;
  return { ...schema, type: [type, 'null'].flat(), ...(words !== undefined && { enum: [...words, null] }) };
}

function schemaOf(field: FieldShape): Json {
  const { rules, comment } = field;
  let schema = one(field);
  if (field.list) {
    schema = {
      type: 'array',
      items: schema,
      ...(rules.min_items !== undefined && { minItems: rules.min_items }),
      ...(rules.max_items !== undefined && { maxItems: rules.max_items }),
      ...(rules.unique === true && { uniqueItems: true }),
    };
    if (rules.clearable === true || rules.empty_as_null === true) schema = nullable(schema);
  } else if (field.map) schema = { type: 'object', additionalProperties: schema };
  else if (field.optional && rules.required !== true) schema = nullable(schema);
  return comment === '' ? schema : { ...schema, description: comment };
}

function objectOf(shape: Shape, fields: readonly FieldShape[], isInput: boolean): Json {
  const isRequired = ({ rules }: FieldShape): boolean =>
    isInput ? rules.required === true : rules.omit_absent !== true;
  const required = fields.filter(isRequired);
  return {
    type: 'object',
    ...(shape.comment !== '' && { description: shape.comment }),
    properties: Object.fromEntries(fields.map((field) => [field.jsonName, schemaOf(field)])),
    ...(required.length > 0 && { required: required.map(({ jsonName }) => jsonName) }),
    additionalProperties: false,
  };
}

const headers: Readonly<Record<string, Json>> = {
  etag: {
    name: 'If-Match',
    in: 'header',
    description: 'The ETag that the change was made from; where it is no longer so, 409.',
    schema: { type: 'string' },
  },
  request_id: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key and the same body within a day give the same answer.',
    schema: { type: 'string', maxLength: 255 },
  },
};

/** The body is an object, or a list, or the one item that it has. */
function ownBody(field: FieldShape): Json {
  const schema = schemaOf(field);
  return field.list ? { oneOf: [schema['items'] as Json, schema] } : schema;
}

const answerOf = (response: Shape, responseBody: string): Json =>
  responseBody === ''
    ? { $ref: `#/components/schemas/${response.name}` }
    : schemaOf(response.field(responseBody)!);

function operationOf(
  method: AdminMethod,
  { verb, path, body, responseBody }: Binding,
  isAlias: boolean,
): Json {
  const { request, response, access } = method;
  const places = placesOf(path);
  const rest = request.fields.filter(({ name, apart }) => !apart && !places.includes(name));
  const isJson = response.name !== 'HttpBody';
  const isRaw = request.field(body)?.message?.name === 'HttpBody';
  const parameters = [
    ...places.map((name) => ({ name, in: 'path', required: true, schema: schemaOf(request.field(name)!) })),
    ...(body !== ''
      ? []
      : rest.map((field) => ({
          name: field.jsonName,
          in: 'query',
          ...(field.rules.required === true && { required: true }),
          ...(field.list && { style: 'form', explode: false }),
          schema: schemaOf(field),
        }))),
    ...request.fields.filter(({ apart, name }) => apart && name in headers).map(({ name }) => headers[name]),
  ];
  const summary = method.comment.split('\n').join(' ');
  return {
    tags: [method.service],
    operationId: isAlias
      ? `${method.method}_${verb.toLowerCase()}_${path.replace(/\W+/g, '_')}`
      : method.method,
    ...(summary !== '' && { summary }),
    ...(access.scopes.length === 0 ? { security: [] } : { 'x-scopes': access.scopes }),
    ...(parameters.length > 0 && { parameters }),
    ...(body === '*' &&
      rest.length > 0 && {
        requestBody: { content: { 'application/json': { schema: objectOf(request, rest, true) } } },
      }),
    ...(isRaw && {
      requestBody: { content: { '*/*': { schema: { type: 'string' } } } },
    }),
    ...(body !== '' &&
      body !== '*' &&
      !isRaw && {
        requestBody: { content: { 'application/json': { schema: ownBody(request.field(body)!) } } },
      }),
    responses: {
      200: {
        description: 'Done.',
        content: isJson
          ? { 'application/json': { schema: answerOf(response, responseBody) } }
          : { '*/*': { schema: { type: 'string' } } },
      },
      default: { $ref: '#/components/responses/Refused' },
    },
  };
}

const refused: Json = {
  type: 'object',
  properties: {
    success: { const: false },
    data: {
      type: 'object',
      properties: { message: { type: 'string' }, errorCode: { type: 'string' } },
      required: ['message', 'errorCode'],
    },
  },
  required: ['success', 'data'],
};

/** `docs/openapi.json`, as OpenAPI 3.1. */
export function openapiFile(tree: AdminTree): string {
  const paths = new Map<string, Json>();
  const inputs = new Set([...tree.methods.values()].map(({ request }) => request.name));
  for (const method of tree.methods.values()) {
    method.bindings.forEach((binding, i) => {
      const entry = paths.get(binding.path) ?? {};
      paths.set(binding.path, {
        ...entry,
        [binding.verb.toLowerCase()]: operationOf(method, binding, i > 0),
      });
    });
  }
  const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);
  const shapes = shapesOf(tree).filter(({ name }) => !inputs.has(name) && name !== 'HttpBody');
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Headgate administration',
      version: '1',
      description:
        'What an administrator manages. The same methods, over gRPC, are in proto/headgate/admin/v1.',
    },
    servers: [{ url: '/' }],
    security: [{ gatewayKey: [] }, { bearer: [] }],
    tags: [...tree.comments].map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries([...paths].sort(byName)),
    components: {
      securitySchemes: {
        gatewayKey: { type: 'apiKey', in: 'header', name: 'x-gateway-api-key' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
      responses: {
        Refused: { description: 'Refused.', content: { 'application/json': { schema: refused } } },
      },
      schemas: Object.fromEntries(
        shapes.map((shape) => [shape.name, objectOf(shape, shape.fields, isTakenIn(tree, shape))]),
      ),
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Is the message a part of a request? Then what is not required may be left out. */
function isTakenIn(tree: AdminTree, shape: Shape): boolean {
  const seen = new Set<Shape>();
  const visit = (at: Shape): boolean => {
    if (seen.has(at)) return false;
    seen.add(at);
    return at.fields.some(({ message }) => message !== null && (message === shape || visit(message)));
  };
  return [...tree.methods.values()].some(({ request }) => visit(request));
}
