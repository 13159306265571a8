import type { Command } from 'commander';
import { type AdminMethod, adminTree } from '../../proto/tree.js';
import { type FieldFlag, flagsOf, typed } from './input/fields.js';
import type { Typed } from './input/typed-value.js';
import type { InvokeOptions, Manner } from './invoke.js';
import { refusedSecretFlag } from './output/usage.js';
import { type SessionContext, withSession } from './session.js';
import { aboutLine, argumentsOf, firstSentence, resourceName, verbOf } from './verbs.js';

/** By the names of methods: `{ DeleteWorkspace: { alias: 'archive' } }`. */
export type Manners = Readonly<Record<string, Manner>>;

/** `headgate <resource> …`: a command for every method of a service, made from the proto files. */
export function registerResource(
  program: Command,
  context: SessionContext,
  service: string,
  manners: Manners = {},
): Command {
  const { methods, comments } = adminTree();
  const resource = program
    .command(resourceName(service))
    .summary(aboutLine(comments.get(service) ?? ''))
    .description((comments.get(service) ?? '').replaceAll('\n', ' '));
  for (const method of methods.values())
    if (method.service === service && manners[method.method]?.isOwn !== true)
      add(resource, context, method, manners[method.method] ?? {});
  return resource;
}

function add(resource: Command, context: SessionContext, method: AdminMethod, manner: Manner): void {
  const command = resource.command(verbOf(method));
  const what = method.comment === '' ? `${verbOf(method)} ${resource.name()}` : method.comment;
  command.summary(firstSentence(what)).description(what.replaceAll('\n', ' '));
  if (manner.alias !== undefined) command.alias(manner.alias);

  const names = argumentsOf(method);
  for (const name of names) command.argument(`<${typed(name)}>`, method.request.field(name)?.comment);
  if (manner.argument !== undefined)
    command.argument(`[${manner.argument.name}]`, manner.argument.description);

  const flags = flagsOf(method);
  command.optionsGroup('Fields:');
  for (const { name, field, option } of flags) {
    command.addOption(option);
    const refused = field.rules.secret === true ? refusedSecretFlag(name, null) : null;
    if (refused !== null && !flags.some((other) => other.name === refused.long)) command.addOption(refused);
  }
  const { request } = method;
  const has = (name: string): boolean => request.field(name)?.apart === true;
  if (has('update_mask'))
    command.option('--clear <fields>', 'fields to clear, repeatable', (text: string, before?: string[]) => [
      ...(before ?? []),
      ...text.split(','),
    ]);
  if (flags.length > 0) command.option('--body <@file>', 'the fields as JSON; - is standard input');
  if (has('etag')) command.option('--etag <etag>', request.field('etag')?.comment);
  if (has('request_id')) command.option('--request-id <id>', request.field('request_id')?.comment);
  command.optionsGroup('Connection:');
  withSession(command, { workspace: false });

  command.action(async () => {
    // What calls is loaded by a call: help need not wait for it.
    const { invoke } = await import('./invoke.js');
    const values = command.processedArgs as (string | undefined)[];
    const named = names.map((name, i) => [name, (manner.named ?? String)(values[i] ?? '')] as const);
    const extra = values[names.length];
    const typedFlags = given(command, flags);
    const byField = Object.fromEntries(typedFlags.map(([{ path }, value]) => [path.join('.'), value]));
    const { body, clear, etag, requestId }: InvokeOptions = command.opts();
    return invoke(context, method, manner, command.opts(), {
      named: Object.fromEntries(named),
      more: extra === undefined ? {} : (manner.argument?.fields(extra, byField) ?? {}),
      flags: typedFlags,
      body,
      clear,
      etag,
      requestId,
    });
  });
}

function given(command: Command, flags: readonly FieldFlag[]): (readonly [FieldFlag, Typed])[] {
  return flags.flatMap((flag) => {
    const value = command.getOptionValue(flag.option.attributeName()) as Typed | undefined;
    return value === undefined ? [] : [[flag, value] as const];
  });
}
