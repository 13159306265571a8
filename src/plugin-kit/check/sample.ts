import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import type { InjectedRequest } from '../kit-types.js';
import type { PluginFinding } from './finding.js';

/** Options and a request to try a plugin with, from `sample.json` or a YAML file of that form. */
export interface Sample {
  readonly file: string | null;
  readonly options: Record<string, unknown>;
  readonly request: InjectedRequest;
  readonly findings: readonly PluginFinding[];
  /** The line at which the file has a value. */
  lineOf(path: readonly string[]): number | null;
}

const endings = ['sample.json', 'sample.yaml'];
const requestMembers = [
  'method',
  'path',
  'headers',
  'metadata',
  'body',
  'stream',
  'config',
  'principal',
] as const satisfies readonly (keyof InjectedRequest)[];

/**
 * The sample beside a plugin's file, or the one of `given`; without any, no options and a short chat completion. That of
 * `region.js` is `region.sample.json`, since other plugins may be in its folder; that of an index `sample.json`.
 */
export function sampleOf(pluginFile: string, given: string | null): Sample {
  const file =
    given ??
    endings
      .map((ending) => join(dirname(pluginFile), prefixOf(pluginFile) + ending))
      .find((path) => existsSync(path)) ??
    null;
  const none = { file, options: {}, request: {}, findings: [], lineOf: () => null };
  if (file === null) return none;
  const finding = (line: number | null, path: string, message: string): PluginFinding => ({
    file,
    line,
    path,
    message,
    severity: 'error',
  });
  if (!existsSync(file)) return { ...none, findings: [finding(null, '', 'there is no such file.')] };
  const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  const lines = new yaml.LineCounter();
  // JSON is YAML too, and the reader of YAML keeps the places.
  const document = yaml.parseDocument(readFileSync(file, 'utf8'), {
    lineCounter: lines,
    prettyErrors: false,
  });
  const lineAt = (offset: number | undefined): number | null =>
    offset === undefined ? null : lines.linePos(offset).line;
  const [broken] = document.errors;
  if (broken !== undefined) {
    const format = basename(file).endsWith('.json') ? 'JSON' : 'YAML';
    return {
      ...none,
      findings: [finding(lineAt(broken.pos[0]), '', `no valid ${format}: ${broken.message}`)],
    };
  }
  const lineOf = (path: readonly string[]): number | null => {
    for (let length = path.length; length > 0; length--) {
      const keys = path.slice(0, length).map((key) => (/^\d+$/.test(key) ? Number(key) : key));
      const node = document.getIn(keys, true) as { range?: [number, number, number] } | undefined;
      if (node?.range !== undefined) return lineAt(node.range[0]);
    }
    return 1;
  };
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  const { options = {}, request = {}, ...rest } = isRecord(value) ? value : {};
  const findings: PluginFinding[] = [];
  if (!isRecord(value)) findings.push(finding(1, '', 'must be an object with options and request.'));
  for (const name of Object.keys(rest))
    findings.push(finding(lineOf([name]), name, 'is not read here: a sample has options and request.'));
  for (const [name, part] of Object.entries({ options, request }))
    if (!isRecord(part)) findings.push(finding(lineOf([name]), name, 'must be an object.'));
  if (isRecord(request))
    for (const name of Object.keys(request))
      if (!(requestMembers as readonly string[]).includes(name))
        findings.push(
          finding(lineOf(['request', name]), `request.${name}`, `there are ${requestMembers.join(', ')}.`),
        );
  return {
    file,
    options: isRecord(options) ? options : {},
    request: isRecord(request) ? (request as InjectedRequest) : {},
    findings,
    lineOf,
  };
}

/** What the names of files beside a plugin's own begin with; empty: they are in a folder of their own. */
export function prefixOf(pluginFile: string): string {
  const name = basename(pluginFile, extname(pluginFile));
  return name === 'index' ? '' : `${name}.`;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
