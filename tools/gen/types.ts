import type { FieldShape, Kind, Shape } from '../../proto/shape.js';
import type { AdminTree } from '../../proto/tree.js';

const plain: Readonly<Record<Exclude<Kind, 'message'>, string>> = {
  string: 'string',
  bool: 'boolean',
  int32: 'number',
  double: 'number',
  bytes: 'Uint8Array',
  timestamp: 'string',
  value: 'unknown',
  struct: 'Readonly<Record<string, unknown>>',
  mask: 'readonly string[]',
};

function typeOf(field: FieldShape): string {
  const { kind, message, rules, list, map } = field;
  const words = kind === 'string' && rules.in !== undefined ? rules.in.split(' ') : null;
  const one =
    words !== null
      ? words.map((word) => `'${word}'`).join(' | ')
      : kind === 'message'
        ? message!.name
        : plain[kind];
  if (list) return `readonly ${one.includes('|') ? `(${one})` : one}[]`;
  return map ? `Readonly<Record<string, ${one}>>` : one;
}

const comment = (text: string, indent: string): string =>
  text === '' ? '' : `${indent}/** ${text.replaceAll('\n', `\n${indent} * `).replaceAll('*/', '* /')} */\n`;

function interfaceOf(shape: Shape): string {
  const fields = shape.fields.map((field) => {
    // What is required has been checked before a service sees it, and is in every answer.
    const mayLack = field.optional && field.rules.required !== true;
    const type = `${typeOf(field)}${mayLack && field.kind !== 'value' ? ' | null' : ''}`;
    return `${comment(field.comment, '  ')}  readonly ${field.name}${mayLack ? '?' : ''}: ${type};\n`;
  });
  if (fields.length === 0)
    return `${comment(shape.comment, '')}export type ${shape.name} = Readonly<Record<string, never>>;\n`;
  return `${comment(shape.comment, '')}export interface ${shape.name} {\n${fields.join('')}}\n`;
}

/** Every message that a method takes or gives, those inside others too, by name. */
export function shapesOf(tree: AdminTree): Shape[] {
  const seen = new Map<string, Shape>();
  const visit = (shape: Shape): void => {
    if (seen.has(shape.name)) return;
    seen.set(shape.name, shape);
    for (const { message } of shape.fields) if (message !== null) visit(message);
  };
  for (const { request, response } of tree.methods.values()) {
    visit(request);
    visit(response);
  }
  return [...seen.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** `proto/messages.ts`. */
export function messagesFile(tree: AdminTree): string {
  const services = new Map<string, string[]>();
  for (const { service, method, request, response, streams, comment: text } of tree.methods.values()) {
    const lines = services.get(service) ?? [];
    services.set(service, lines);
    const answer = streams ? `AsyncIterable<${response.name}>` : response.name;
    lines.push(`${comment(text, '    ')}    ${method}: [${request.name}, ${answer}];\n`);
  }
  const map = [...services].map(
    ([name, lines]) => `${comment(tree.comments.get(name) ?? '', '  ')}  ${name}: {\n${lines.join('')}  };\n`,
  );
  return `// Generated from proto/headgate/admin/v1 by \`npm run gen\`.
// In memory: times are ISO 8601 text, free JSON is itself. What is optional may be absent; what is not never is.

${shapesOf(tree).map(interfaceOf).join('\n')}
/** Every method: what it takes and what it gives. */
export interface AdminServices {
${map.join('')}}
`;
}
