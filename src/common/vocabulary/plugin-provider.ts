import type { Format } from '../core/endpoint.js';
import type { JsonObject } from '../core/exchange.js';
import { connectionHeaders } from '../http/headers.js';

/** Formats whose address is the same for every call. Those with model or region in it belong to the gateway's own providers. */
export const pluginFormats = [
  'openai-chat',
  'openai-completions',
  'openai-embeddings',
  'openai-moderations',
  'openai-responses',
  'anthropic-messages',
  'anthropic-count-tokens',
  'cohere-chat',
  'cohere-embed',
  'nomic-embed',
  'cohere-rerank',
  'jina-rerank',
  'voyage-rerank',
] as const satisfies readonly Format[];

/** How a provider of a plugin wants its key. `header`: as it is, in the header `name`. */
export type PluginProviderAuth =
  | { readonly kind: 'bearer' }
  | { readonly kind: 'header'; readonly name: string }
  | { readonly kind: 'none' };

/** A provider that a plugin brings: an address, and which format it speaks at which path. */
export interface PluginProvider {
  /** Base URL, version segment included, no slash at the end. */
  readonly base: string;
  /** By default `bearer`. */
  readonly auth?: PluginProviderAuth;
  /** Format → path below `base`; `{model}` in it is replaced by the name of the model. Formats: these, and the plugin's own. */
  readonly paths: Readonly<Partial<Record<(typeof pluginFormats)[number], string>> & Record<string, string>>;
  /** Sent with every call unless the client sends the header itself. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers of the client that go on unchanged. */
  readonly passHeaders?: readonly string[];
  /** Ends every address: `api-version=2`. */
  readonly query?: string;
  /** Edits of the outgoing body, which is frozen: each returns a changed copy, or the body itself. */
  readonly quirks?: readonly { readonly name: string; apply(body: JsonObject): JsonObject }[];
}

/** By the name of the provider. */
export type PluginProviderRows = Readonly<Record<string, PluginProvider>>;

const strict = (properties: object, required: readonly string[]): object => ({
  ...{ type: 'object', properties, required, additionalProperties: false },
});
const header = { type: 'string', pattern: '^[a-z0-9-]{1,64}$' };
/** They belong to the connection, or may hold the client's gateway key. */
const ownHeaders = [
  ...connectionHeaders,
  ...['content-type', 'authorization', 'proxy-authorization', 'cookie'],
  ...['x-api-key', 'api-key', 'x-goog-api-key'],
];
const freeHeader = { ...header, not: { enum: ownHeaders } };

/** JSON Schema of `PluginProviderRows`. */
export const providerRowsSchema = {
  type: 'object',
  maxProperties: 64,
  propertyNames: { pattern: '^[a-z0-9][a-z0-9-]{0,63}$' },
  additionalProperties: strict(
    {
      base: { type: 'string', pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*[^\\s/?#])?$', maxLength: 1024 },
      auth: {
        type: 'object',
        required: ['kind'],
        properties: { kind: { enum: ['bearer', 'header', 'none'] }, name: header },
        additionalProperties: false,
        if: { properties: { kind: { const: 'header' } } },
        // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema.
        then: { required: ['name'] },
      },
      paths: {
        type: 'object',
        propertyNames: { pattern: '^[a-z][a-z0-9-]{0,63}$' },
        additionalProperties: { type: 'string', pattern: '^/[^\\s?#]*$', maxLength: 256 },
        minProperties: 1,
      },
      headers: {
        type: 'object',
        propertyNames: freeHeader,
        additionalProperties: { type: 'string', pattern: '^[\\t\\x20-\\x7e]*$', maxLength: 1024 },
      },
      passHeaders: { type: 'array', items: freeHeader, maxItems: 64 },
      query: { type: 'string', pattern: '^[^\\s#?]+$', maxLength: 256 },
      quirks: {
        type: 'array',
        maxItems: 32,
        items: strict({ name: { type: 'string', minLength: 1, maxLength: 64 }, apply: {} }, [
          'name',
          'apply',
        ]),
      },
    },
    ['base', 'paths'],
  ),
};
