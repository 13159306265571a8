import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';
import type { AdminTree } from '../../proto/tree.js';
import { shapesOf } from './types.js';

const pascalCase = /^[A-Z][A-Za-z0-9]*$/;
const snakeCase = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/** The names and comments of a tree, after the rules that buf has for them. */
export function namingProblems(tree: AdminTree): string[] {
  const found: string[] = [];
  for (const [service, comment] of tree.comments) {
    if (!pascalCase.test(service)) found.push(`${service}: services are named in PascalCase.`);
    if (comment === '') found.push(`${service}: a comment says what the service is about.`);
  }
  for (const { name, service, method, request, comment } of tree.methods.values()) {
    if (!pascalCase.test(method)) found.push(`${name}: methods are named in PascalCase.`);
    if (comment === '') found.push(`${name}: a comment says what the method does.`);
    // Methods of one service that ask for the same things in the same way may share a request, as graphs do.
    const isShared = [...tree.methods.values()].some(
      (other) => other.service === service && other.method !== method && other.request === request,
    );
    if (isShared ? !request.name.endsWith('Request') : request.name !== `${method}Request`)
      found.push(`${name}: its request is named ${method}Request.`);
  }
  for (const { name, type, fields } of shapesOf(tree)) {
    if (!pascalCase.test(name)) found.push(`${name}: messages are named in PascalCase.`);
    for (const field of fields) {
      if (!snakeCase.test(field.name))
        found.push(`${name}.${field.name}: fields are named in lower_snake_case.`);
      const { id } = type.fields[field.name]!;
      if (id >= 19_000 && id <= 19_999)
        found.push(`${name}.${field.name}: the numbers 19000 to 19999 are protobuf's own.`);
    }
  }
  return found;
}

const bare = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');

/** What a proto file declares, with its package: `.headgate.admin.v1.Config`. Extensions count by their own names. */
function declaredIn(text: string): string[] {
  const own = /(?:^|;)\s*package\s+([\w.]+)\s*;/m.exec(text)?.[1] ?? '';
  const names = [...text.matchAll(/\b(?:message|enum|service)\s+(\w+)\s*\{/g)].map(([, name]) => name!);
  const extensions = [...text.matchAll(/\bextend\s+[\w.]+\s*\{([^}]*)\}/g)].flatMap(([, body]) =>
    [...body!.matchAll(/(\w+)\s*=\s*\d+/g)].map(([, name]) => name!),
  );
  return [...names, ...extensions].map((name) => `${own}.${name}`);
}

/** Does a file whose package is `own` use a name of another one, whole or from a common package on? */
function uses(text: string, own: string, declared: string): boolean {
  const spellings = declared.split('.').map((_, i, parts) => ({
    name: parts.slice(i).join('.'),
    isInReach: i === 0 || `${own}.`.startsWith(`${parts.slice(0, i).join('.')}.`),
  }));
  return spellings.some(
    ({ name, isInReach }) =>
      isInReach && new RegExp(`(?<![\\w.])\\.?${name.replaceAll('.', '\\.')}\\b`).test(text),
  );
}

/** What a file declares, by its full names; null where there is no such file. */
function declaredBy(file: string, folder: string): string[] | null {
  if (existsSync(join(folder, file))) return declaredIn(bare(readFileSync(join(folder, file), 'utf8')));
  const known = protobuf.common.get(file)?.nested as Record<string, protobuf.INamespace> | undefined;
  const { nested } = (known?.['google']?.nested?.['protobuf'] as protobuf.INamespace) ?? {};
  return nested === undefined ? null : Object.keys(nested).map((name) => `google.protobuf.${name}`);
}

function problemsOfFile(place: string, folder: string): string[] {
  const found: string[] = [];
  const code = bare(readFileSync(join(folder, place), 'utf8'));
  if (!/^\s*syntax = "proto3";/m.test(code)) found.push(`${place}: the syntax is proto3.`);
  const own = /(?:^|;)\s*package\s+([\w.]+)\s*;/m.exec(code)?.[1] ?? '';
  if (own.replaceAll('.', '/') !== dirname(place))
    found.push(`${place}: its package ${own} is not its folder.`);
  if (!/\.v\d+$/.test(own)) found.push(`${place}: its package ends with a version, as in .v1.`);
  for (const [statement, imported] of code.matchAll(/(?<=^|;)\s*import\s+(?:public\s+)?"([^"]+)"\s*;/gm)) {
    const rest = code.replace(statement, '');
    if (declaredBy(imported!, folder)?.some((name) => uses(rest, own, name)) === false)
      found.push(`${place}: nothing of ${imported} is used.`);
  }
  return found;
}

/** The proto files of our own below `folder`. */
export function fileProblems(folder: string): string[] {
  return readdirSync(join(folder, 'headgate'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.proto'))
    .sort()
    .flatMap((file) => problemsOfFile(`headgate/${file}`, folder));
}
