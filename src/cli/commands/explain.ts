import { type Command, InvalidArgumentError } from 'commander';
import type { Explanation } from '../../client/index.js';
import { CliError } from '../cli-error.js';
import { readInput } from '../input/file-input.js';
import { parseJson } from '../input/typed-value.js';
import { printable, writeJson, writeLine } from '../output/output.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';

interface ExplainOptions extends SessionOptions {
  readonly file: string;
  readonly config?: string;
  readonly key?: string;
  readonly path?: string;
  readonly header?: Readonly<Record<string, string>>;
}

type Node = Explanation['nodes'][number];
type Limit = Explanation['limits'][number];

/** `headgate explain`. */
export function register(program: Command, context: SessionContext): void {
  const command = program
    .command('explain')
    .description('explain where a request would go, without sending it')
    .requiredOption('-f, --file <file>', "the request's body as JSON; - is standard input (required)")
    .option('--config <slug or file>', 'slug of a saved config, its JSON, or @ and a JSON file')
    .option('--key <id>', 'id of the gateway key: its default config, its metadata, its sessions')
    .option('--path <path>', 'the endpoint (default: /v1/chat/completions)')
    .option('-H, --header <name: value>', 'header of the request, repeatable', header);
  withSession(command, { workspace: true }).action((options: ExplainOptions) => {
    const body = readInput(options.file);
    return withAdmin(context, options, async (client) => {
      const explained = await client.api.requests.explainRequest({
        request_body: body,
        ...configOf(options.config),
        workspace_id: options.workspace,
        api_key_id: options.key,
        path: options.path,
        headers: { ...options.header },
      });
      if (options.json === true) writeJson(explained);
      else writeLine(picture(explained, bodyOf(body)).join('\n'));
      if (explained.refused) process.exitCode = 1;
    });
  });
}

function header(text: string, before: Record<string, string> = {}): Record<string, string> {
  const colon = text.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError('A header is written as name: value.');
  return { ...before, [text.slice(0, colon).trim().toLowerCase()]: text.slice(colon + 1).trim() };
}

function configOf(given: string | undefined): { config?: string; config_slug?: string } {
  if (given === undefined) return {};
  if (given.startsWith('@')) return { config: readInput(given.slice(1)) };
  return given.trimStart().startsWith('{') ? { config: given } : { config_slug: given };
}

type Body = Readonly<Record<string, unknown>>;

function bodyOf(text: string): Body {
  const body = parseJson(text, '--file');
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Body;
  throw new CliError('--file must hold a JSON object.', 2);
}

/** The config as a tree, each node with why it would be asked, or why not. */
function picture(
  { config, config_version_id, cache, refused, nodes, limits }: Explanation,
  sent: Body,
): string[] {
  const lines = [config ? `config ${config}, version ${config_version_id}` : `config: ${config_version_id}`];
  if (cache !== undefined && cache !== null) {
    const found = cache.refresh ? 'a new answer is asked for' : cache.remembered ? 'a hit' : 'not remembered';
    lines.push(`cache ${cache.mode}, up to ${cache.max_age} s: ${found}`);
  }
  for (const limit of limits) lines.push(limitText(limit));
  if (refused) lines.push(`refused: ${refused.message} [${refused.code}]`);
  nodes.forEach((node, i) => {
    const rails = Array.from({ length: node.depth }, (_, level) => rail(nodes, i, level)).join('');
    const below = `${rails.replace(/├─ $/, '│  ').replace(/└─ $/, '   ')}     `;
    lines.push(rails + headline(node));
    for (const text of details(node, sent)) lines.push(below + text);
  });
  return lines.map(printable);
}

/** The prefix of a node at that level of the tree. */
function rail(nodes: readonly Node[], at: number, level: number): string {
  const isOwn = level === nodes[at]!.depth - 1;
  const next = nodes.slice(at + 1).find(({ depth }) => depth <= level + 1);
  const goesOn = next !== undefined && next.depth === level + 1;
  if (isOwn) return goesOn ? '├─ ' : '└─ ';
  return goesOn ? '│  ' : '   ';
}

function headline({ path, kind, name, turn, reason, provider, virtual_key: slug, model }: Node): string {
  const who = [slug ? `@${slug}` : provider, model].filter(Boolean).join(' ');
  const words = [
    kind === 'target' ? (turn > 0 ? `${turn}.` : '–') : '',
    path,
    kind === 'target' ? '' : kind,
    name ? `"${name}"` : '',
    who === '' ? '' : `→ ${who}`,
  ];
  return `${words.filter((word) => word !== '').join(' ')}: ${reason}`;
}

function details({ notes, body, error, limits }: Node, sent: Body): string[] {
  return [
    ...(error ? [`cannot be asked: ${error}`] : []),
    ...notes,
    ...limits.map(limitText),
    ...(body === undefined || body === null ? [] : changes(sent, body as Body)),
  ];
}

/** `rate limit of the api_key app: 3 of 5 requests (rpm) left` */
function limitText({ on, name, kind, type, unit, value, left, shadow }: Limit): string {
  const what = kind === 'budget' ? 'budget' : 'rate limit';
  const counted = type === 'cost' ? 'US dollars' : type === 'concurrency' ? 'requests under way' : type;
  const of = `${value} ${counted}${unit ? ` (${unit})` : ''}`;
  const rest =
    left === null || left === undefined ? `${of}; what is left is not known` : `${left} of ${of} left`;
  return `${what} of the ${on} ${name}: ${rest}${shadow ? '; in shadow mode' : ''}`;
}

/** What a target's rules change of the body. */
function changes(sent: Body, body: Body): string[] {
  const set = Object.keys(body)
    .filter((key) => JSON.stringify(sent[key]) !== JSON.stringify(body[key]))
    .map((key) => `${key}: ${short(sent[key])} → ${short(body[key])}`);
  const dropped = Object.keys(sent).filter((key) => !Object.hasOwn(body, key));
  return [...set, ...dropped.map((key) => `${key}: dropped`)];
}

const longest = 60;

function short(value: unknown): string {
  if (value === undefined) return 'absent';
  const text = JSON.stringify(value);
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
