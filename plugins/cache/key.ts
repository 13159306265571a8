import { hash } from 'node:crypto';
import type { Awaitable, Directory, StoredProvider } from '../../src/core/directory.js';
import type { Exchange } from '../../src/core/exchange.js';
import type { HeaderList } from '../../src/core/headers.js';
import { editJsonBytes, type JsonEdit } from '../../src/core/json-edit.js';
import { bodyDigest, directCredential, guardrailVersion } from '../../src/core/slots.js';
import type { Asked } from './asked.js';
import { type ConfigFacts, factsOf, slugOfModel } from './config-facts.js';
import { identityOf } from './provider-identity.js';

/** A text with its length before it: no two lists of such texts run into the same one. */
export const part = (text: string): string => `${text.length}:${text}`;

export const withoutStream: readonly JsonEdit[] = [
  { key: 'stream', value: null },
  { key: 'stream_options', value: null },
];

/**
 * Makes the names under which answers are kept. Two calls have one name only where organisation, workspace, key,
 * metadata, config and its version, guardrails, provider credentials, address, every header that a provider is sent,
 * and the body are the same to the byte. A namespace takes the place of key and metadata. A chat that differs only in
 * whether it streams is the same call.
 */
export class Keys {
  readonly #directory: Directory;
  readonly #sentOn: ReadonlySet<string>;

  constructor(host: { readonly directory: Directory; readonly sentOnHeaders: ReadonlySet<string> }) {
    this.#directory = host.directory;
    this.#sentOn = host.sentOnHeaders;
  }

  of(x: Exchange, asked: Asked): Awaitable<string> {
    const wall = this.wall(x, asked);
    if (wall instanceof Promise) return wall.then((text) => nameOf(text, x));
    return nameOf(wall, x);
  }

  /** Everything but the body, unambiguous. Holds credentials: it is to be hashed, never to be kept. */
  wall(x: Exchange, asked: Asked): Awaitable<string> {
    const facts = factsOf(x.config);
    const identities = this.#identities(x, facts);
    if (identities instanceof Promise) return identities.then((found) => this.#wall(x, asked, facts, found));
    return this.#wall(x, asked, facts, identities);
  }

  /** What tells a stored provider (`@slug`), as it is now, from any other. Others have none. */
  identity(x: Exchange, provider: string): Awaitable<string> {
    if (!provider.startsWith('@')) return '';
    const found = this.#directory.provider(x.principal.workspaceId ?? '', provider.slice(1));
    return found instanceof Promise ? found.then((one) => identitiesText([one])) : identitiesText([found]);
  }

  #wall(x: Exchange, { namespace }: Asked, facts: ConfigFacts, identities: string): string {
    const { principal, request, config } = x;
    return (
      part(principal.organisationId) +
      part(principal.workspaceId ?? '') +
      (namespace === null
        ? `k${part(principal.keyId)}${part(metadataText(x.metadata))}`
        : `n${part(namespace)}`) +
      part(config.fingerprint) +
      part(x.get(guardrailVersion)) +
      part(identities) +
      part(x.get(directCredential)?.reveal() ?? '') +
      part(request.method) +
      part(request.path) +
      part(request.query) +
      part(headersText(request.headers, this.#sentOn, facts.headers))
    );
  }

  /** Of every stored provider that may be asked. */
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

function metadataText(metadata: Exchange['metadata']): string {
  const names = Object.keys(metadata);
  // By JSON, which keeps even broken characters apart.
  return names.length === 0 ? '' : JSON.stringify(names.sort().map((name) => [name, metadata[name]]));
}

function headersText(headers: HeaderList, some: ReadonlySet<string>, more: ReadonlySet<string>): string {
  let text = '';
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (some.has(name) || more.has(name)) text += part(name) + part(headers[i + 1]!);
  }
  return text;
}

const nameOf = (wall: string, x: Exchange): string => hash('sha256', wall + bodyName(x), 'base64url');

function bodyName(x: Exchange): string {
  const { bytes, json } = x.request;
  const streams = json!['stream'] !== undefined || json!['stream_options'] !== undefined;
  if (streams && isRetold(x)) return hash('sha256', editJsonBytes(bytes!, withoutStream), 'base64url');
  return x.get(bodyDigest) ?? hash('sha256', bytes!, 'base64url');
}

/** Can an answer that came whole be told as a stream, and the other way round? */
export const isRetold = (x: Exchange): boolean =>
  x.endpoint.format === 'openai-chat' && !factsOf(x.config).byStreaming;
