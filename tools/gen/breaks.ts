import type { Api, ApiField, ApiMethod } from './released-api.js';

/** A change that may break a client of the release before. */
export interface Break {
  /** What the changelog names it by: `Configs.GetConfig`, `Config`, `Config.slug`. */
  readonly symbol: string;
  /** A sentence. */
  readonly text: string;
}

function* ofMethod(before: ApiMethod, after: ApiMethod): Generator<string> {
  if (before.request !== after.request)
    yield `takes a ${after.request} and took a ${before.request}: keep the message's name.`;
  if (before.response !== after.response)
    yield `returns a ${after.response} and returned a ${before.response}: keep the message's name.`;
  if (before.streams !== after.streams)
    yield after.streams ? 'streams its responses and did not.' : 'no longer streams its responses.';
  for (const binding of before.bindings)
    if (!after.bindings.includes(binding)) yield `can no longer be called by ${binding}.`;
}

/** `isTaken`: clients send it. */
function* ofField(name: string, before: ApiField, after: ApiField, isTaken: boolean): Generator<string> {
  if (before.number !== after.number)
    yield `has the number ${after.number} and had ${before.number}: numbers stay.`;
  if (before.type !== after.type) yield `is a ${after.type} and was a ${before.type}.`;
  if (before.label !== after.label)
    yield `is ${after.label ?? 'single'} and was ${before.label ?? 'single'}.`;
  const [taken, takenBefore] = [after.json ?? [name], before.json ?? [name]];
  if (taken[0] !== takenBefore[0])
    yield `is ${taken[0]} in JSON and was ${takenBefore[0]}: add an alias and keep the name.`;
  if (!isTaken) return;
  for (const spelling of takenBefore)
    if (!taken.includes(spelling)) yield `is no longer taken as ${spelling} in JSON.`;
  if (after.required === true && before.required !== true) yield 'is required and was not.';
  if (after.values === undefined) return;
  const narrowed = before.values?.filter((value) => !after.values?.includes(value));
  if (narrowed === undefined) yield 'takes only some values and took any.';
  else if (narrowed.length > 0) yield `no longer takes ${narrowed.join(', ')}.`;
}

/** Messages that requests are made of, by name. */
function takenBy({ methods, messages }: Api): Set<string> {
  const taken = new Set<string>();
  const visit = (name: string): void => {
    const fields = messages[name];
    if (fields === undefined || taken.has(name)) return;
    taken.add(name);
    for (const { type } of Object.values(fields)) visit(type);
  };
  for (const { request } of Object.values(methods)) visit(request);
  return taken;
}

/** What of `after` breaks clients that were made for `before`. */
export function breaksOf(before: Api, after: Api): Break[] {
  const found: Break[] = [];
  const add = (symbol: string, sentence: string): void => {
    found.push({ symbol, text: `${symbol} ${sentence}` });
  };
  for (const [name, method] of Object.entries(before.methods)) {
    const now = after.methods[name];
    if (now === undefined) add(name, 'was removed: keep it, and mark it as deprecated.');
    else for (const sentence of ofMethod(method, now)) add(name, sentence);
  }
  const taken = takenBy(after);
  for (const [message, fields] of Object.entries(before.messages)) {
    const now = after.messages[message];
    if (now === undefined) {
      add(message, 'was removed, or is no longer used by a method.');
      continue;
    }
    for (const [name, field] of Object.entries(fields)) {
      const symbol = `${message}.${name}`;
      const same = now[name];
      if (same !== undefined) {
        for (const sentence of ofField(name, field, same, taken.has(message))) add(symbol, sentence);
        continue;
      }
      const other = Object.entries(now).find(([, { number }]) => number === field.number)?.[0];
      if (other === undefined) add(symbol, 'was removed: keep it, and mark it as deprecated.');
      else add(symbol, `was renamed to ${other}: give the new name as an alias, or add a field.`);
    }
  }
  return found;
}

/**
 * Breaking changes that the changelog does not announce: those whose symbol stands in backticks under `### Breaking` of
 * its first section are meant.
 */
export function unannounced(breaks: readonly Break[], changelog: string): Break[] {
  const [, latest = ''] = changelog.split(/^## /m);
  const [, announced = ''] = latest.split(/^### Breaking\n/m);
  const [section = ''] = announced.split(/^### /m);
  return breaks.filter(({ symbol }) => !section.includes(`\`${symbol}\``));
}
