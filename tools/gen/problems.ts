import type { FieldShape } from '../../proto/shape.js';
import type { AdminMethod, AdminTree } from '../../proto/tree.js';
import { isScope } from '../../src/common/access/scopes.js';
import { PathTable } from '../../src/common/ipc/path-table.js';
import { shapesOf } from './types.js';

const segment = /^(?:[a-z0-9][a-z0-9._-]*|\{[a-z_]+\})$/i;

/** Names of the places of a template: `/v1/configs/{slug}` → `slug`. */
export const placesOf = (path: string): string[] =>
  [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name ?? '');

function ofPaths({ name, request, response, bindings }: AdminMethod): string[] {
  return bindings.flatMap(({ verb, path, body, responseBody }) => {
    const found: string[] = [];
    if (
      !path.startsWith('/') ||
      !path
        .slice(1)
        .split('/')
        .every((part) => segment.test(part))
    )
      found.push(`${name}: ${path} is not a path of literals and {places}.`);
    for (const place of placesOf(path)) {
      const field = request.field(place);
      if (field === undefined || field.list || field.map || field.kind !== 'string')
        found.push(`${name}: {${place}} of ${path} is no text field of ${request.name}.`);
    }
    const held = request.field(body);
    const isBody =
      held?.kind === 'struct' ||
      (held?.kind === 'message' && (held.list || held.message?.name === 'HttpBody'));
    if (body !== '' && body !== '*' && !isBody)
      found.push(
        `${name}: the body of ${verb} ${path} is "*", a list of messages, an object, an HttpBody, or nothing.`,
      );
    if (verb === 'GET' && body !== '') found.push(`${name}: GET ${path} takes no body.`);
    if ((verb === 'POST' || verb === 'PUT' || verb === 'PATCH') && body === '')
      found.push(`${name}: ${verb} ${path} needs body: "*".`);
    if (responseBody !== '' && response.field(responseBody)?.kind !== 'struct')
      found.push(`${name}: response_body ${responseBody} is no object in ${response.name}.`);
    return found;
  });
}

function ofAccess({ name, access }: AdminMethod): string[] {
  const found = access.scopes
    .filter((scope) => !isScope(scope) && scope !== 'session')
    .map((scope) => `${name} asks for ${scope}, which is no scope.`);
  if (access.audited && (access.resource === '' || access.action === ''))
    found.push(`${name} is audited and says no resource or no action.`);
  return found;
}

function ofRules(message: string, { name, kind, list, map, rules }: FieldShape): string[] {
  const found: string[] = [];
  const only = (rule: string, fits: boolean): void => {
    if (rule in rules && !fits) found.push(`${message}.${name}: the rule ${rule} does not fit its type.`);
  };
  const isText = kind === 'string';
  const isNumber = kind === 'int32' || kind === 'double';
  for (const rule of ['in', 'pattern', 'email', 'uri']) only(rule, isText);
  for (const rule of ['min', 'max']) only(rule, isNumber);
  for (const rule of ['min_items', 'max_items']) only(rule, list || map);
  only('unique', list);
  only('json', kind === 'value');
  if (rules.pattern !== undefined) {
    try {
      new RegExp(rules.pattern, 'u');
    } catch (error) {
      found.push(`${message}.${name}: ${(error as Error).message}`);
    }
  }
  return found;
}

/** Two templates of one verb that the same path fits equally well. */
function ofTwins(tree: AdminTree): string[] {
  const seen = new Map<string, string>();
  const found: string[] = [];
  for (const { name, bindings } of tree.methods.values()) {
    for (const { verb, path } of bindings) {
      const key = `${verb} ${path.replace(/\{[^}]*\}/g, '{}')}`;
      const other = seen.get(key);
      if (other !== undefined) found.push(`${name} and ${other} both answer ${verb} ${path}.`);
      seen.set(key, name);
    }
  }
  return found;
}

function ofEndpoints(tree: AdminTree, endpoints: readonly string[]): string[] {
  const table = new PathTable<string>();
  for (const { name, bindings } of tree.methods.values())
    for (const { path } of bindings) table.at(path, () => name);
  return endpoints.flatMap((endpoint) => {
    const taken = table.find(endpoint);
    return taken === null
      ? []
      : [`${taken.value} takes ${endpoint}, which is an endpoint of the data plane.`];
  });
}

/** What is wrong with the tree, a sentence each. `endpoints`: paths that the data plane answers itself. */
export function problemsOf(tree: AdminTree, endpoints: readonly string[]): string[] {
  const methods = [...tree.methods.values()];
  return [
    ...methods.flatMap(ofAccess),
    ...methods.flatMap(ofPaths),
    ...shapesOf(tree).flatMap((shape) => shape.fields.flatMap((field) => ofRules(shape.name, field))),
    ...ofTwins(tree),
    ...ofEndpoints(tree, endpoints),
  ];
}
