import { createRequire } from 'node:module';
import { isDeeperThan } from '../json/depth.js';
import { readBounded, reasonOf, UnreadableFile } from '../text/bounded-file.js';
import { yamlProblem } from '../text/yaml-text.js';

const maxFileBytes = 1024 * 1024;
/** Objects and lists in each other. Settings need a tenth of it; options of plugins may need more. */
export const maxDepth = 100;

export const tooDeep = (place: string): string =>
  `${place}: is nested more than ${maxDepth} levels deep, which no setting needs.`;

const oneLine = (error: unknown): string =>
  `${error instanceof Error ? error.message : String(error)}.`.replace(/\s+/g, ' ').replace(/\.+$/, '.');

/** The mapping in a file of settings; {}: there is none, or `problems` has a sentence more. `shown`: the file's name for people. */
export function readYaml(file: string, shown: string, problems: string[]): Readonly<Record<string, unknown>> {
  let source: string;
  try {
    source = readBounded(file, maxFileBytes);
  } catch (error) {
    const why = error instanceof UnreadableFile ? error.message : `cannot be read: ${reasonOf(error)}`;
    problems.push(`${shown}: ${why}.`);
    return {};
  }
  // Loaded here because it costs 30 ms of start-up that most starts, having no file, need not pay.
  const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  const problem = yamlProblem(source, yaml, maxDepth);
  if (problem !== null) {
    problems.push(`${shown}: ${problem}, which no setting needs.`);
    return {};
  }
  let value: unknown;
  try {
    const document = yaml.parseDocument(source, { prettyErrors: true, uniqueKeys: true });
    const broken = document.errors[0];
    if (broken !== undefined) {
      const [message = ''] = broken.message.split('\n');
      problems.push(`${shown}: not valid YAML: ${message.replace(/:$/, '')}`);
      return {};
    }
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    // An alias has no target, or expands to too many values.
    problems.push(`${shown}: not valid YAML: ${oneLine(error)} Write the values out.`);
    return {};
  }
  if (isDeeperThan(value, maxDepth)) {
    problems.push(tooDeep(shown));
    return {};
  }
  if (value === null || value === undefined) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  problems.push(`${shown}: must be a mapping of settings, as in port: 8787.`);
  return {};
}
