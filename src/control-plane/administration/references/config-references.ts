import type { Place } from '../../store/store.js';
import type { Caller } from '../access/caller.js';
import { AdminError } from '../admin-error.js';
import { guardrailNamed } from './guardrail-references.js';

/** What a routing config names, and where. */
export interface ConfigReferences {
  /** Slugs of stored providers, each once. */
  readonly providers: ReadonlyMap<string, string>;
  readonly guardrails: readonly { readonly name: string; readonly path: string }[];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
/** Configs may be written in camel case too. */
const snakeCase = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Objects in a config that name things as the config itself does. */
const nested = new Set(['mirror', 'target', 'cache', 'embedding']);

const guardrailKeys = /^(?:(?:input|output)_guardrails|(?:before|after)_request_hooks)$/;

/** The stored guardrail that an item of a list names; null: its checks are written out. */
function storedName(item: unknown): string | null {
  if (isText(item)) return item;
  if (!isObject(item) || !isText(item['id'])) return null;
  return Object.keys(item).some((key) => key === 'checks' || key.includes('.')) ? null : item['id'];
}

/** What a config that was found valid refers to, at every level of its targets. */
export function referencesOf(config: unknown): ConfigReferences {
  const providers = new Map<string, string>();
  const guardrails: { name: string; path: string }[] = [];
  const take = (slug: string, path: string): void => {
    if (!providers.has(slug)) providers.set(slug, path);
  };
  const walk = (node: unknown, path: string): void => {
    if (!isObject(node)) return;
    for (const [key, value] of Object.entries(node)) {
      const [name, at] = [snakeCase(key), `${path}.${key}`];
      if (name === 'targets' && Array.isArray(value)) {
        for (const [i, target] of value.entries()) walk(target, `${at}[${i}]`);
      } else if (nested.has(name)) {
        walk(value, at);
      } else if (/^(?:default|override)_params$/.test(name) && isObject(value)) {
        const slug = isText(value['model']) ? /^@([^/]+)\/./.exec(value['model'])?.[1] : undefined;
        if (slug !== undefined) take(slug, `${at}.model`);
      } else if (
        isText(value) &&
        (name === 'virtual_key' || (name === 'provider' && value.startsWith('@')))
      ) {
        take(value.replace(/^@/, ''), at);
      } else if (guardrailKeys.test(name) && Array.isArray(value)) {
        for (const [i, item] of value.entries()) {
          const named = storedName(item);
          if (named !== null) guardrails.push({ name: named, path: `${at}[${i}]` });
        }
      }
    }
  };
  walk(config, 'config');
  return { providers, guardrails };
}

/** The same config with `visit` in place of every stored provider and guardrail that it names. */
export function visitReferences(
  config: unknown,
  visit: (kind: 'Provider' | 'Guardrail', name: string) => string,
): unknown {
  const item = (value: unknown): unknown => {
    const name = storedName(value);
    if (name === null) return value;
    return isObject(value) ? { ...value, id: visit('Guardrail', name) } : visit('Guardrail', name);
  };
  const walk = (node: unknown): unknown => {
    if (!isObject(node)) return node;
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => {
        const name = snakeCase(key);
        if (name === 'targets' && Array.isArray(value)) return [key, value.map(walk)];
        if (nested.has(name)) return [key, walk(value)];
        if (guardrailKeys.test(name) && Array.isArray(value)) return [key, value.map(item)];
        if (isText(value) && name === 'virtual_key') return [key, visit('Provider', value)];
        if (isText(value) && name === 'provider' && value.startsWith('@'))
          return [key, `@${visit('Provider', value.slice(1))}`];
        return [key, value];
      }),
    );
  };
  return walk(config);
}

/** Throws AB02 with its path for the first thing that a config names and that the workspace does not have. */
export async function checkReferences(caller: Caller, place: Place, config: unknown): Promise<void> {
  const { providers, guardrails } = referencesOf(config);
  for (const [slug, path] of providers) {
    if ((await caller.store.providers.get(place, slug)) === null)
      throw new AdminError('AB02', `${path}: the workspace has no provider @${slug}.`);
  }
  for (const { name, path } of guardrails) await guardrailNamed(caller, place.workspaceId, name, path);
}
