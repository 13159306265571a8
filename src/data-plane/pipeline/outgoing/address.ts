import type { Secret } from '../../../common/access/secret.js';
import type { Awaitable, Directory, StoredProvider } from '../../../common/core/directory.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import { directCredential } from '../../../common/plugin-host/slots.js';
import type { ProviderPrices } from '../../../common/prices/provider-prices.js';
import { nearest, nearestName } from '../../../common/text/nearest.js';
import type { FieldValues } from '../../../common/vocabulary/provider-fields.js';
import { CallFields } from '../../providers/call-fields.js';
import { isPlaceholder, type ProviderDefinition } from '../../providers/provider.js';
import { accountOf } from './credential-digest.js';

/** A resolved target: address, credential and headers of an attempt. */
export interface Address {
  readonly provider: ProviderDefinition;
  /** Of the stored provider; null: the target names a built-in provider. */
  readonly slug: string | null;
  /** Slug of the stored provider's integration; null: it has none. */
  readonly integration: string | null;
  /** Base URL, version segment included, no slash at the end. */
  readonly base: string;
  readonly credential: Secret | null;
  /** Did the caller influence the host? Then the call goes through egress. */
  readonly callerChosen: boolean;
  /**
   * Identifies the connections that it may share: by its credential, or by the stored provider if that has no single
   * one.
   */
  readonly account: string;
  /** The model to ask for; null where the body names none. */
  readonly model: string | null;
  /** Sent besides the headers that the provider requires: names in lower case, each followed by its value. */
  readonly headers: readonly string[];
  /** Fields of the stored provider that the target does not set, in snake case. */
  readonly fields: FieldValues | null;
  /** Is it the same for all requests of this target, but for the model? Then it can be kept: see prepared-calls.ts. */
  readonly isSteady: boolean;
  /** Prices of the stored provider's integration and organisation; null: none. */
  readonly prices: ProviderPrices | null;
}

interface Named {
  readonly provider: string | null;
  readonly model: string | null;
}

/** `@slug/model` names both a stored provider and a model; any other text is only a model. */
export function splitModel(model: string | null): Named {
  if (model === null || model.charCodeAt(0) !== 64 /* @ */) return { provider: null, model };
  const slash = model.indexOf('/');
  if (slash < 2) return { provider: null, model };
  return { provider: model.slice(0, slash), model: model.slice(slash + 1) };
}

/** Resolves a target. Synchronous where the directory has the stored provider. */
export function resolveAddress(
  x: Exchange,
  target: Target,
  directory: Directory,
  providers: ReadonlyMap<string, ProviderDefinition>,
): Awaitable<Address> {
  const override = target.overrideParams?.['model'];
  const given = target.defaultParams?.['model'];
  let model =
    typeof override === 'string' ? override : (x.modelAsked ?? (typeof given === 'string' ? given : null));
  let chosen = target.virtualKey ?? target.provider;
  if (model !== null && model.charCodeAt(0) === 64 /* @ */) {
    const named = splitModel(model);
    chosen ??= named.provider;
    model = named.model;
  }
  if (chosen === null) {
    throw new GatewayError(
      'missing_provider',
      'No provider is named: send x-gateway-provider (a name, or @slug of a stored one), x-gateway-virtual-key, x-gateway-config, or a model of the form @slug/model.',
    );
  }
  const stored = target.virtualKey !== null || chosen.charCodeAt(0) === 64;
  if (!stored) return directAddress(x, target, chosen, model, providers);
  const slug = chosen.charCodeAt(0) === 64 ? chosen.slice(1) : chosen;
  const workspace = x.principal.workspaceId;
  const found = workspace === null ? null : directory.provider(workspace, slug);
  if (found instanceof Promise)
    return found.then((record) =>
      record === null
        ? refuseSlug(x, slug, directory, providers)
        : storedAddress(x, target, slug, record, model, providers),
    );
  return found === null
    ? refuseSlug(x, slug, directory, providers)
    : storedAddress(x, target, slug, found, model, providers);
}

function directAddress(
  x: Exchange,
  target: Target,
  name: string,
  model: string | null,
  providers: ReadonlyMap<string, ProviderDefinition>,
): Address {
  const row = providers.get(name);
  if (row === undefined) throw unknownProvider(name, providers);
  const provider = row.forCall === undefined ? row : rowForCall(row, x, target, model, null, null);
  const base = target.customHost ?? provider.base;
  if (isPlaceholder(base)) {
    throw new GatewayError(
      'invalid_custom_host',
      `${name} has no address of its own: send its base URL, version segment included, in x-gateway-custom-host (custom_host in a config), or name a stored provider that has one.`,
      { param: 'custom_host' },
    );
  }
  const credential = target.apiKey ?? x.get(directCredential);
  return {
    provider,
    slug: null,
    integration: null,
    base,
    credential,
    account: credential === null ? '' : accountOf(credential),
    callerChosen: target.customHost !== null || provider.givenBase === true,
    model: provider.model ?? model,
    headers: none,
    fields: null,
    isSteady: false,
    prices: null,
  };
}

const none: readonly string[] = [];

function storedAddress(
  x: Exchange,
  target: Target,
  slug: string,
  record: StoredProvider,
  model: string | null,
  providers: ReadonlyMap<string, ProviderDefinition>,
): Address {
  const row = providers.get(record.provider);
  if (row === undefined) throw unknownProvider(record.provider, providers);
  const elsewhere = target.customHost !== null;
  if (elsewhere && target.apiKey === null && (record.credential !== null || record.headers.length > 0)) {
    // A stored credential belongs to its own host; a caller must not be able to have it sent elsewhere.
    throw new GatewayError(
      'invalid_custom_host',
      `The credential of @${slug} is only sent to its own host: drop the custom host, or send your own credential with it.`,
      { param: 'custom_host' },
    );
  }
  if (record.expiresAt !== null && record.expiresAt <= Date.now()) {
    throw new GatewayError('virtual_key_expired', `The provider @${slug} has expired.`, {
      param: 'provider',
    });
  }
  if (!elsewhere && record.unresolved?.length !== 0) checkMappings(record, slug, target);
  const modelBase = record.models === null ? null : baseOfModel(x, record.models, slug, model);
  const ownBase = modelBase ?? record.baseUrl;
  const fields = elsewhere ? null : record.fields;
  const provider = row.forCall === undefined ? row : rowForCall(row, x, target, model, fields, ownBase);
  if (!elsewhere && ownBase === null) checkCredential(record, slug, target, provider);
  const credential = target.apiKey ?? record.credential;
  return {
    provider,
    slug: record.slug,
    integration: record.integration,
    base: target.customHost ?? ownBase ?? provider.base,
    credential,
    account: credential === null ? record.id : accountOf(credential),
    callerChosen: elsewhere || ((ownBase !== null || provider.givenBase === true) && !record.hostTrusted),
    model: provider.model ?? model,
    headers: elsewhere ? none : record.headers,
    fields,
    isSteady:
      target.apiKey === null &&
      target.customHost === null &&
      provider === row &&
      row.forCall === undefined &&
      row.model === undefined &&
      record.models === null &&
      record.expiresAt === null,
    prices: record.prices ?? null,
  };
}

function rowForCall(
  row: ProviderDefinition,
  x: Exchange,
  target: Target,
  model: string | null,
  stored: FieldValues | null,
  ownBase: string | null,
): ProviderDefinition {
  const fields = new CallFields(stored, target.fields);
  const hasBase = target.customHost !== null || ownBase !== null;
  const { format } = x.endpoint;
  return row.forCall?.({ format, model, streaming: x.streaming, fields, hasBase }) ?? row;
}

/** A field that is mapped to a secret must not be left out of the call. */
function checkMappings({ unresolved }: StoredProvider, slug: string, { apiKey }: Target): void {
  const missing = unresolved?.find(({ field }) => field !== 'key' || apiKey === null);
  if (missing === undefined) return;
  throw new GatewayError(missing.code, `${missing.field} of @${slug} ${missing.message}`, {
    param: 'provider',
  });
}

/**
 * A provider at its own public address is not called without a credential; servers at a stored address may need none.
 * Tokens and signatures are checked by their authorizers.
 */
function checkCredential(
  { credential, headers }: StoredProvider,
  slug: string,
  { apiKey, forwardHeaders }: Target,
  { auth, name }: ProviderDefinition,
): void {
  if (credential !== null || apiKey !== null || headers.length > 0) return;
  if (auth.kind !== 'bearer' && auth.kind !== 'header') return;
  if (forwardHeaders.includes(auth.kind === 'header' ? auth.name : 'authorization')) return;
  throw new GatewayError(
    'provider_credential_missing',
    `@${slug} has no credential, and ${name} needs one: have a key stored in it, or name the provider ${name} and send your own key.`,
    { param: 'provider' },
  );
}

const bodiless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/** The model's own address, if it has one. Throws if the integration does not enable the model. */
function baseOfModel(
  x: Exchange,
  models: NonNullable<StoredProvider['models']>,
  slug: string,
  model: string | null,
): string | null {
  if (model === null) {
    // A body that is passed through unread may name any model.
    if (bodiless.has(x.request.method)) return null;
    throw new GatewayError(
      'model_not_allowed',
      `@${slug} lets only some models through, and this call does not tell which it wants: use an endpoint whose body the gateway reads.`,
      { param: 'model' },
    );
  }
  const rule = models.named.get(model);
  if (rule?.enabled ?? models.others) return rule?.baseUrl ?? null;
  throw new GatewayError(
    'model_not_allowed',
    `The model ${JSON.stringify(model.slice(0, 200))} is not enabled for @${slug}: ${nearModel(model, models)}choose another, or have it enabled in its integration.`,
    { param: 'model' },
  );
}

/** Characters. Longer names are not compared: the work grows with the square of the length. */
const longestCompared = 64;
/** Models of a provider that a name is compared with. */
const mostCompared = 200;

/** Can a comparison find `name` to be what `asked` was meant to be? */
const isNear = (name: string, asked: string): boolean =>
  Math.abs(name.length - asked.length) <= Math.max(1, asked.length / 3);

/** `did you mean gpt-4o? If not, `, or nothing where no enabled model is near. */
function nearModel(model: string, { named }: NonNullable<StoredProvider['models']>): string {
  if (model.length > longestCompared) return '';
  const names: string[] = [];
  for (const [name, { enabled }] of named) {
    if (enabled && isNear(name, model)) names.push(name);
    if (names.length === mostCompared) break;
  }
  const meant = nearest(model, names);
  return meant === null ? '' : `did you mean ${meant}? If not, `;
}

function refuseSlug(
  { principal: { workspaceId } }: Exchange,
  slug: string,
  directory: Directory,
  providers: ReadonlyMap<string, ProviderDefinition>,
): Awaitable<never> {
  const slugs = workspaceId === null ? null : directory.slugs(workspaceId);
  const refuse = (known: readonly string[] | null): never => {
    throw unknownProvider(`@${slug}`, providers, nearSlug(slug, known ?? []));
  };
  return slugs instanceof Promise ? slugs.then(refuse) : refuse(slugs);
}

/** `did you mean @openai-prod? If not, `, or nothing where no provider of the workspace is near. */
function nearSlug(slug: string, known: readonly string[]): string {
  if (slug.length > longestCompared) return '';
  const meant = nearestName(
    slug,
    known.filter((one) => one.startsWith(slug) || isNear(one, slug)),
  );
  return meant === null ? '' : `did you mean @${meant}? If not, `;
}

function unknownProvider(
  name: string,
  providers: ReadonlyMap<string, ProviderDefinition>,
  own = '',
): GatewayError {
  return new GatewayError(
    'unknown_provider',
    `There is no provider ${JSON.stringify(name.slice(0, 129))} here: ${own || nearProvider(name, providers)}name one of the built-in providers, or the @slug of one stored in this workspace (headgate providers list).`,
    { param: 'provider' },
  );
}

function nearProvider(name: string, providers: ReadonlyMap<string, ProviderDefinition>): string {
  const bare = name.startsWith('@') ? name.slice(1) : name;
  const meant = bare.length > longestCompared ? null : nearestName(bare, providers.keys());
  if (meant === null) return '';
  return bare === name
    ? `did you mean ${meant}? If not, `
    : `${meant} without @ is the built-in provider, for calls with a key of their own; else `;
}

/** The URL of a path below a provider's base, with the query that the provider requires. */
export function urlOf({ base, provider }: Address, path: string): string {
  const url = base + path;
  if (provider.query === undefined) return url;
  return `${url}${path.includes('?') ? '&' : '?'}${provider.query}`;
}
