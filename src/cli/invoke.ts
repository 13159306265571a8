import { once } from 'node:events';
import type { Message } from '../../proto/codec.js';
import type { Shape } from '../../proto/shape.js';
import type { AdminMethod } from '../../proto/tree.js';
import type { AdminClient } from '../client/index.js';
import { writeMessage } from '../control-plane/administration/shape/json.js';
import { type CommandLine, inFlags, requestOf } from './input/request.js';
import type { Typed } from './input/typed-value.js';
import { fileText, jsonText, writeErrorLine, writeJson, writeLine } from './output/output.js';
import { type Column, heartOf, listing, record, secretsIn } from './output/show.js';
import { type SessionContext, type SessionOptions, withAdmin } from './session.js';
import { resourceName, verbOf } from './verbs.js';

/** What makes a command friendlier than its descriptor alone can. */
export interface Manner {
  /** Another name of the command. */
  readonly alias?: string;
  /** The resource has a command of its own for the method. */
  readonly isOwn?: true;
  /** An argument beside those of the method, and the fields that it sets. */
  readonly argument?: {
    readonly name: string;
    readonly description: string;
    /** `given`: the flags, as typed, by the names of their fields. */
    fields(text: string, given: Readonly<Record<string, Typed>>): Readonly<Record<string, unknown>>;
  };
  /** Changes an argument as it was typed: `@slug` → `slug`. */
  readonly named?: (text: string) => string;
  readonly columns?: readonly Column[];
  /** What is printed for people, of the answer in JSON. */
  readonly show?: (answer: Readonly<Record<string, unknown>>) => string;
}

/** The options of a command that are no fields. */
export interface InvokeOptions extends SessionOptions {
  readonly body?: string;
  readonly clear?: readonly string[];
  readonly etag?: string;
  readonly requestId?: string;
}

/** Rows that a page of a list has at most, unless its rules set fewer. */
const mostRows = 1000;

/** Calls the method of a command, and prints the answer. */
export async function invoke(
  context: SessionContext,
  method: AdminMethod,
  manner: Manner,
  options: InvokeOptions,
  line: CommandLine,
): Promise<void> {
  const request = await requestOf(method, line);
  const json = options.json === true;
  const work = async (client: AdminClient): Promise<void> => {
    if (method.streams) return pour(client, method, request);
    const heart = heartOf(method.response);
    if (heart?.list) return list(client, method, request, json, manner.columns);
    const answer = await client.call(method, request);
    const [shape, value] =
      heart === null ? [method.response, answer] : [heart.message!, answer[heart.name] as Message];
    print(method, shape, value, json, manner, line);
  };
  await withAdmin(context, options, work, {
    keyless: method.access.scopes.length === 0,
    said: (message) => inFlags(method, message),
  });
}

function print(
  method: AdminMethod,
  shape: Shape,
  value: Message,
  json: boolean,
  manner: Manner,
  { named }: CommandLine,
): void {
  const written = writeMessage(shape, value);
  if (json) writeJson(written);
  else if (manner.show !== undefined) writeLine(manner.show(written));
  else if (record(written) === '')
    writeLine(['Done:', resourceName(method.service), verbOf(method), ...Object.values(named)].join(' '));
  else writeLine(record(written));
  if (json || !method.access.audited) return;
  for (const secret of secretsIn(shape, value)) writeErrorLine(`Keep the ${secret}: it is not shown again.`);
}

/** All pages of a list, or the one that was asked for. */
async function list(
  client: AdminClient,
  method: AdminMethod,
  request: Message,
  json: boolean,
  columns: readonly Column[] | undefined,
): Promise<void> {
  const { name, message } = heartOf(method.response)!;
  const page = async (part: Message): Promise<[rows: Message[], total: number]> => {
    const answer = await client.call(method, { ...request, ...part });
    return [answer[name] as Message[], Number(answer['total'] ?? answer['total_count'] ?? 0)];
  };
  const perPage = method.request.field('page_size')?.rules.max ?? mostRows;
  const isPaged = method.request.field('current_page') !== undefined;
  const isOne = !isPaged || request['current_page'] !== undefined || request['page_size'] !== undefined;
  let [rows, total] = await page(isOne ? {} : { page_size: perPage, current_page: 0 });
  for (let at = 1; !isOne && rows.length < total; at += 1) {
    const [next] = await page({ page_size: perPage, current_page: at });
    if (next.length === 0) break;
    rows = [...rows, ...next];
  }
  if (json) writeJson(rows.map((row) => writeMessage(message!, row)));
  else {
    writeLine(listing(message!, rows, columns?.slice()));
    if (rows.length < total) writeErrorLine(`${rows.length} of ${total} are shown.`);
  }
}

/** A stream's answers as they come: files as they are, messages as lines of JSON. */
async function pour(client: AdminClient, method: AdminMethod, request: Message): Promise<void> {
  const shown = fileText();
  for await (const answer of client.stream(method, request)) {
    const isFile = method.response.name === 'HttpBody';
    const piece = isFile
      ? shown(answer['data'] as Uint8Array)
      : `${jsonText(writeMessage(method.response, answer))}\n`;
    if (!process.stdout.write(piece)) await once(process.stdout, 'drain');
  }
}
