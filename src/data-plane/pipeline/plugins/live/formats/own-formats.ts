import type { Format } from '../../../../../common/core/endpoint.js';
import type { Logger } from '../../../../../common/plugin-host/plugin.js';
import type { PluginFormat, PluginFormats } from '../../../../../common/vocabulary/plugin-format.js';
import { pluginFormats } from '../../../../../common/vocabulary/plugin-provider.js';
import type { ChatFormat, EmbeddingFormat } from '../../../../providers/provider.js';
import { watchedBy } from '../watched.js';
import { ownChat } from './own-chat.js';
import { ownEmbeddings } from './own-embeddings.js';

/** A format of a plugin, in the form of the gateway's own. */
export type OwnFormat =
  | { readonly kind: 'chat'; readonly format: ChatFormat }
  | { readonly kind: 'embeddings'; readonly format: EmbeddingFormat };

const nameOfFormat = /^[a-z][a-z0-9-]{0,63}$/;
const contentType = /^[a-z0-9.+-]+\/[a-z0-9.+-]+$/;
const members = ['kind', 'request', 'reply', 'error', 'stream', 'framing', 'contentType'];

/** The formats of a plugin by the plugin's names. Throws an error that names the invalid member. */
export function formatsOf(
  plugin: string,
  given: PluginFormats | undefined,
  log: Logger,
): ReadonlyMap<string, OwnFormat> {
  const formats = new Map<string, OwnFormat>();
  if (given === undefined) return formats;
  const wrong = (path: string, message: string): Error => new Error(`plugin ${plugin}: ${path} ${message}`);
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong('formats', 'must be an object of formats by name.');
  for (const [name, format] of Object.entries(given)) {
    const path = `formats.${name}`;
    if (!nameOfFormat.test(name)) throw wrong(path, `must be named by ${nameOfFormat.source}.`);
    if ((pluginFormats as readonly string[]).includes(name))
      throw wrong(path, 'is a format of the gateway: use another name.');
    const why = whyNoFormat(format);
    if (why !== null) throw wrong(path + why[0], why[1]);
    const run = watchedBy(plugin, path, log);
    // No format of the gateway has a dot in its name.
    const own = `${plugin}.${name}` as Format;
    formats.set(
      name,
      format.kind === 'embeddings'
        ? { kind: 'embeddings', format: ownEmbeddings(own, format, run) }
        : { kind: 'chat', format: ownChat(own, format, run) },
    );
  }
  return formats;
}

/** The path and the problem; null: the format is valid. */
function whyNoFormat(format: PluginFormat): readonly [path: string, message: string] | null {
  if (typeof format !== 'object' || format === null) return ['', 'must be an object.'];
  const unknown = Object.keys(format).find((name) => !members.includes(name));
  if (unknown !== undefined)
    return [`.${unknown}`, `is not known here. A format may have ${members.join(', ')}.`];
  const { kind = 'chat', framing = 'events', contentType: type } = format;
  if (kind !== 'chat' && kind !== 'embeddings') return ['.kind', 'must be chat or embeddings.'];
  for (const name of ['request', 'reply'] as const)
    if (typeof format[name] !== 'function') return [`.${name}`, 'must be a function.'];
  for (const name of ['error', 'stream'] as const)
    if (format[name] !== undefined && typeof format[name] !== 'function')
      return [`.${name}`, 'must be a function.'];
  if (kind === 'embeddings' && format.stream !== undefined)
    return ['.stream', 'is only for chat: embeddings have no streams.'];
  if (framing !== 'events' && framing !== 'lines') return ['.framing', 'must be events or lines.'];
  if (type !== undefined && (framing !== 'lines' || typeof type !== 'string' || !contentType.test(type)))
    return [
      '.contentType',
      'must be a content type such as application/jsonl, of a format with framing: lines.',
    ];
  return null;
}
