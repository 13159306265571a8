import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import * as yaml from 'yaml';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  visit,
  type YAMLSeq,
} from 'yaml';
import { isDeeperThan } from '../../common/json/depth.js';
import { reasonOf } from '../../common/text/bounded-file.js';
import { yamlProblem } from '../../common/text/yaml-text.js';
import { CliError } from '../cli-error.js';
import { readInput } from './file-input.js';

/** A document of configuration, and where it was read. */
export interface SourceDocument {
  readonly json: Readonly<Record<string, unknown>>;
  /** `configs/chat.yaml:12:3` of a path within the document: `spec.config.targets[0]`. */
  place(path: string): string;
}

/** One thing that is wrong with the files. */
export interface PlacedFault {
  /** `configs/chat.yaml:12:3` */
  readonly place: string;
  readonly problem: string;
}

/** More than that is no configuration. Bytes. */
const largestFile = 16 * 1024 * 1024;
/** Of YAML in a file: 10,000 documents with 400,000 names and values, the most that one apply may have, take about half of that. */
const mostTokens = 3_000_000;
const extension = /\.(?:ya?ml|json)$/i;

/** Files of a folder and those below it, in order of their names. Hidden ones are left out. */
function filesIn(folder: string, root: string): string[] {
  const files: string[] = [];
  for (const name of readdirSync(folder).sort()) {
    if (name.startsWith('.')) continue;
    const path = join(folder, name);
    if (lstatSync(path).isSymbolicLink()) checkLink(path, root);
    const stats = statSync(path);
    if (stats.isDirectory()) files.push(...filesIn(path, root));
    else if (!extension.test(name)) continue;
    else if (stats.isFile()) files.push(path);
    else
      throw new CliError(
        `${path} is not a regular file but a pipe, socket or device: remove it from the folder.`,
        2,
      );
  }
  return files;
}

/** A link may lead to another place of the folder that was given, and not back to one that it is in. */
function checkLink(path: string, root: string): void {
  let target: string;
  try {
    target = realpathSync(path);
  } catch {
    throw new CliError(`${path} is a link to a file that does not exist: repair or remove it.`, 2);
  }
  const isInside = target.startsWith(root.endsWith(sep) ? root : root + sep);
  if (!isInside)
    throw new CliError(
      `${path} is a link that leaves the folder: copy the file, or give its own path with -f.`,
      2,
    );
  if (`${realpathSync(join(path, '..'))}${sep}`.startsWith(`${target}${sep}`))
    throw new CliError(`${path} is a link to a folder that contains it: remove the link.`, 2);
}

function textsOf(path: string): (readonly [file: string, text: string])[] {
  try {
    if (path === '-') return [['standard input', readInput('-', largestFile)]];
    const files = statSync(path).isDirectory() ? filesIn(path, realpathSync(path)) : [path];
    return files.map((file) => [file, readInput(file, largestFile)] as const);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${path} cannot be read: ${reasonOf(error)}.`, 2);
  }
}

/** `spec.config.targets[0].provider` → its names and numbers. */
const segmentsOf = (path: string): (string | number)[] =>
  [...path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, at, name]) => (at === undefined ? name! : Number(at)));

/** Where in the text a path begins; as far as it leads. */
function offsetOf(root: Node | null, path: string): number {
  let at = root?.range?.[0] ?? 0;
  let node: unknown = root;
  for (const segment of segmentsOf(path)) {
    if (isMap(node)) {
      const pair = node.items.find(
        ({ key }) => (isScalar(key) ? String(key.value) : key) === String(segment),
      );
      if (pair === undefined) return at;
      at = (pair.key as Node).range?.[0] ?? at;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(segment)];
      at = (node as Node | undefined)?.range?.[0] ?? at;
    } else return at;
    if (isAlias(node)) return at;
  }
  return at;
}

/** Objects and lists in each other: more than the gateway takes. */
const maxDepth = 100;
/** Faults of one file that are reported: those after them often follow from these. */
const mostFaults = 100;

/** Names that a mapping has twice. The parser's own check takes time that grows with their square. */
function repeatedKeys(document: Document.Parsed): Node[] {
  const repeated: Node[] = [];
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key) || key.value === '<<') continue;
        if (seen.has(key.value)) repeated.push(key as Node);
        seen.add(key.value);
      }
    },
  });
  return repeated;
}

/** Its value, or what is wrong with it. */
function readValue(root: Node, document: Document.Parsed): { readonly json: unknown } | string {
  let json: unknown;
  try {
    json = root.toJS(document);
  } catch (error) {
    // An alias has no target, or expands to too many values.
    return `${(error as Error).message.replace(/\.$/, '')}: replace the alias by its value.`;
  }
  return isDeeperThan(json, maxDepth) ? `is nested more than ${maxDepth} levels deep.` : { json };
}

function documentsIn(file: string, text: string, faults: PlacedFault[]): SourceDocument[] {
  const problem = yamlProblem(text, yaml, maxDepth, mostTokens);
  const advice = problem?.endsWith('YAML tokens') ? ': split it into several files' : '';
  if (problem !== null) throw new CliError(`${file} ${problem}${advice}.`, 2);
  const lines = new LineCounter();
  const placeAt = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const parsed = parseAllDocuments(text, {
    lineCounter: lines,
    uniqueKeys: false,
    merge: true,
    logLevel: 'error',
  });
  const found: SourceDocument[] = [];
  for (const document of parsed as readonly Document.Parsed[]) {
    if (faults.length >= mostFaults) break;
    for (const key of repeatedKeys(document).slice(0, mostFaults))
      faults.push({
        place: placeAt(key.range?.[0] ?? 0),
        problem: 'This name appears twice in the mapping: remove one.',
      });
    for (const { pos, message } of document.errors.slice(0, mostFaults))
      faults.push({
        place: placeAt(pos[0]),
        problem: `${message.split('\n')[0]?.replace(/ at line .*$/, '')}.`,
      });
    if (document.errors.length > 0 || document.contents === null) continue;
    const roots: Node[] = isSeq(document.contents)
      ? ((document.contents as YAMLSeq).items as Node[])
      : [document.contents as Node];
    for (const root of roots) {
      const value = readValue(root, document);
      if (typeof value === 'string') {
        faults.push({ place: placeAt(root.range?.[0] ?? 0), problem: value });
        continue;
      }
      const { json } = value;
      if (json === null) continue;
      if (typeof json !== 'object' || Array.isArray(json)) {
        faults.push({
          place: placeAt(root.range?.[0] ?? 0),
          problem: 'a document is an object with kind, name and spec.',
        });
        continue;
      }
      found.push({
        json: json as Readonly<Record<string, unknown>>,
        place: (path) => placeAt(offsetOf(root, path)),
      });
    }
  }
  return found;
}

/** The documents of files and folders, `-` being standard input. Throws a CliError with everything that is wrong. */
export function readDocuments(paths: readonly string[]): SourceDocument[] {
  const faults: PlacedFault[] = [];
  const texts = paths.flatMap(textsOf);
  const documents = texts.flatMap(([file, text]) => documentsIn(file, text, faults));
  if (faults.length > 0) throw faultsError(faults);
  // With --prune a wrong folder would delete everything that was applied before.
  if (documents.length === 0 && !texts.some(([, text]) => text.trim() === '[]'))
    throw new CliError(
      `${paths.join(', ')}: there is no document of configuration. A file with [] is none on purpose.`,
      2,
    );
  return documents;
}

/** A line for each fault. */
export const faultsError = (faults: readonly PlacedFault[]): CliError =>
  new CliError(
    `Nothing was changed: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'} in the documents.`,
    1,
    faults.map(({ place, problem }) => `${place}: ${problem}`),
  );

/** Names of the variables that documents take secrets from; `-` is standard input. */
export function secretsNamed(value: unknown, found: Set<string> = new Set()): Set<string> {
  if (Array.isArray(value)) for (const item of value) secretsNamed(item, found);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return found;
  const entries = Object.entries(value);
  const [first] = entries;
  if (entries.length === 1 && first !== undefined) {
    if (first[0] === 'env' && typeof first[1] === 'string') found.add(first[1]);
    if (first[0] === 'stdin' && first[1] === true) found.add('-');
  }
  for (const [, item] of entries) secretsNamed(item, found);
  return found;
}
