import { hash } from 'node:crypto';
import type { Awaitable, Directory, StoredProvider } from '../../src/common/core/directory.js';
import type { Exchange, JsonObject } from '../../src/common/core/exchange.js';
import { editJsonBytes, type JsonEdit } from '../../src/common/json/json-edit.js';
import { bodyDigest, directCredential, guardrailVersion } from '../../src/common/plugin-host/slots.js';
import type { Asked } from './asked.js';
import { type ConfigFacts, factsOf, slugOfModel } from './config-facts.js';
import { identityOf } from './provider-identity.js';

/** A text after its length: different lists of such texts never become equal when joined. */
export const part = (text: string): string => `${text.length}:${text}`;

/** Characters. A longer scope is not kept with a body. */
const maxKeptScope = 2048;

export const withoutStream: readonly JsonEdit[] = [
  { key: 'stream', value: null },
  { key: 'stream_options', value: null },
];

/**
 * Makes the keys of stored answers. Two calls have the same key only if organisation, workspace, gateway key,
 * metadata, config and its version, guardrails, provider credentials, address, every header that is sent to a provider,
 * and the body are equal, byte by byte. A namespace replaces gateway key and metadata. A chat that differs only in
 * streaming is the same call.
 */
export class Keys {
  readonly #directory: Directory;
  readonly #sentOn: ReadonlySet<string>;
  /** For recurring bodies: the scope of the last call with it, and the key of both. */
  readonly #names = new WeakMap<JsonObject, { readonly scope: readonly string[]; readonly name: string }>();

  constructor(host: { readonly directory: Directory; readonly sentOnHeaders: ReadonlySet<string> }) {
    this.#directory = host.directory;
    this.#sentOn = host.sentOnHeaders;
  }

  of(x: Exchange, asked: Asked): Awaitable<string> {
    const scope = this.#scope(x, asked);
    return scope instanceof Promise ? scope.then((parts) => this.#nameOf(parts, x)) : this.#nameOf(scope, x);
  }

  /** Everything but the body, as an unambiguous text. It contains credentials: hash it, never store it. */
  scope(x: Exchange, asked: Asked): Awaitable<string> {
    const scope = this.#scope(x, asked);
    return scope instanceof Promise ? scope.then(textOf) : textOf(scope);
  }

  /** Identifies a stored provider (`@slug`) and its current state. Others have none. */
  identity(x: Exchange, provider: string): Awaitable<string> {
    if (!provider.startsWith('@')) return '';
    const found = this.#directory.provider(x.principal.workspaceId ?? '', provider.slice(1));
    return found instanceof Promise ? found.then((one) => identitiesText([one])) : identitiesText([found]);
  }

  #nameOf(scope: readonly string[], x: Exchange): string {
    const json = x.request.json!;
    const known = this.#names.get(json);
    if (known !== undefined && areSame(known.scope, scope)) return known.name;
    const text = textOf(scope);
    const name = hash('sha256', text + bodyName(x), 'base64url');
    if (text.length <= maxKeptScope && recurs(x) && mayBeKept(x))
      this.#names.set(json, { scope: scope, name });
    return name;
  }

  /** The parts of the scope. */
  #scope(x: Exchange, asked: Asked): Awaitable<string[]> {
    const facts = factsOf(x.config);
    const identities = this.#identities(x, facts);
    return identities instanceof Promise
      ? identities.then((text) => this.#parts(x, asked, facts, text))
      : this.#parts(x, asked, facts, identities);
  }

  #parts(x: Exchange, { namespace }: Asked, facts: ConfigFacts, identities: string): string[] {
    const { principal, request, config } = x;
    const parts = [
      principal.organisationId,
      principal.workspaceId ?? '',
      namespace === null ? 'key' : 'namespace',
      namespace ?? principal.keyId,
      namespace === null ? metadataText(x.metadata) : '',
      config.fingerprint,
      x.get(guardrailVersion),
      identities,
      x.get(directCredential)?.reveal() ?? '',
      request.method,
      request.path,
      request.query,
    ];
    const { headers } = request;
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]!;
      if (this.#sentOn.has(name) || facts.headers.has(name)) parts.push(name, headers[i + 1]!);
    }
    return parts;
  }

  /** Identities of all stored providers that may be called. */
  #identities(x: Exchange, { slugs, byModel }: ConfigFacts): Awaitable<string> {
    const named = byModel && x.modelAsked !== null ? slugOfModel(x.modelAsked) : null;
    if (slugs.length === 0 && named === null) return '';
    const workspace = x.principal.workspaceId ?? '';
    const found: Awaitable<StoredProvider | null>[] = [];
    let isLater = false;
    for (let i = 0; i < slugs.length; i++) found.push(this.#directory.provider(workspace, slugs[i]!));
    if (named !== null) found.push(this.#directory.provider(workspace, named));
    for (let i = 0; i < found.length; i++) isLater ||= found[i] instanceof Promise;
    return isLater
      ? Promise.all(found).then(identitiesText)
      : identitiesText(found as (StoredProvider | null)[]);
  }
}

function identitiesText(providers: readonly (StoredProvider | null)[]): string {
  const now = Date.now();
  let text = '';
  for (const provider of providers) text += part(provider === null ? '' : identityOf(provider, now));
  return text;
}

function textOf(parts: readonly string[]): string {
  let text = '';
  for (let i = 0; i < parts.length; i++) text += part(parts[i]!);
  return text;
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) if (some[i] !== others[i]) return false;
  return true;
}

function metadataText(metadata: Exchange['metadata']): string {
  for (const _ in metadata) {
    // As JSON, which also distinguishes lone surrogates.
    const names = Object.keys(metadata).sort();
    return JSON.stringify(names.map((name) => [name, metadata[name]]));
  }
  return '';
}

/** Has this body come before? Then its parsed content is the same object each time. */
const recurs = (x: Exchange): boolean => x.get(bodyDigest) !== null;

/** A scope without a credential of the client's, nor headers that may be one. */
const mayBeKept = (x: Exchange): boolean =>
  x.get(directCredential) === null && factsOf(x.config).headers.size === 0;

function bodyName(x: Exchange): string {
  const { bytes, json } = x.request;
  const streams = json!['stream'] !== undefined || json!['stream_options'] !== undefined;
  if (streams && isConvertible(x)) return hash('sha256', editJsonBytes(bytes!, withoutStream), 'base64url');
  return x.get(bodyDigest) ?? hash('sha256', bytes!, 'base64url');
}

/** Can a whole answer be sent as a stream, and a stream as a whole answer? */
export const isConvertible = (x: Exchange): boolean =>
  x.endpoint.format === 'openai-chat' && !factsOf(x.config).byStreaming;
