import type { Directory } from '../../../common/core/directory.js';
import type { Endpoint } from '../../../common/core/endpoint.js';
import type { Exchange, UpstreamCall } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import { getHeader, type HeaderList, setHeader } from '../../../common/http/headers.js';
import { PreparedRequest } from '../../upstream/prepared-request.js';
import type { Address } from './address.js';
import { addProviderHeaders } from './provider-headers.js';

/** The headers that every call begins with. */
const ownHeaders = [
  'content-type',
  'application/json',
  'accept',
  '*/*',
  'accept-encoding',
  'identity',
  'user-agent',
  'headgate',
];

/** Calls of all targets, and of one: workspaces that send the same config share its targets. */
const maxCalls = 2_048;
const maxPerTarget = 4;
/** Characters of the URL and the headers of one, and of the name of a model. */
const maxTextLength = 2_048;
const maxModelLength = 256;

/** What the calls of one workspace to a stored provider, for one target and endpoint, have in common. */
export class PreparedCall {
  constructor(
    readonly workspaceId: string,
    readonly endpoint: Endpoint,
    /** Of the latest call: the model may be another in the next one. */
    public address: Address,
    /** Does the target name the model? Otherwise it is the request's. */
    readonly isModelFixed: boolean,
    readonly request: PreparedRequest,
    /** Names of the client's headers that are added to those of `request`. */
    readonly passed: readonly string[],
  ) {}

  /** New headers for a call of this client. */
  headersFor(client: HeaderList): HeaderList {
    const headers = this.request.headers.slice();
    const { passed } = this;
    // From the last to the first: of several of a name the first counts.
    for (let i = client.length - 2; i >= 0 && passed.length > 0; i -= 2) {
      if (passed.includes(client[i]!)) setHeader(headers, client[i]!, client[i + 1]!);
    }
    return headers;
  }

  /**
   * Has nothing been added to this call but `added`, or changed in it? Then it is sent with what was prepared.
   */
  isUnchanged({ url, headers }: UpstreamCall, added: readonly string[] | null): boolean {
    const { request } = this;
    const own = request.headers;
    const more = added === null ? 0 : added.length;
    if (headers.length !== own.length + more || url !== request.url) return false;
    for (let i = 0; i < own.length; i++) if (headers[i] !== own[i]) return false;
    for (let i = 0; i < more; i++) if (headers[own.length + i] !== added![i]) return false;
    return true;
  }
}

/**
 * What calls have in common, by target: address, credential and headers. Used from the second call on, until a provider
 * changes.
 */
export class PreparedCalls {
  #calls = new WeakMap<Target, PreparedCall[]>();
  #count = 0;
  #version = 0;

  constructor(readonly directory: Pick<Directory, 'providersVersion'>) {}

  /** null: nothing is prepared for this request. */
  find(x: Exchange, target: Target): PreparedCall | null {
    if (this.#version !== this.directory.providersVersion) this.#clear();
    const calls = this.#calls.get(target);
    if (calls === undefined) return null;
    const { workspaceId } = x.principal;
    for (const call of calls) {
      if (call.endpoint !== x.endpoint || call.workspaceId !== workspaceId) continue;
      const { modelAsked } = x;
      if (call.isModelFixed || call.address.model === modelAsked) return call;
      if (!isPlainModel(modelAsked)) return null;
      call.address = { ...call.address, model: modelAsked };
      return call;
    }
    return null;
  }

  /** Keeps what was found out for a request, if others of its target will have it in common. `url`: of its call. */
  keep(x: Exchange, target: Target, address: Address, url: string): void {
    const { workspaceId } = x.principal;
    const isModelFixed = typeof target.overrideParams?.['model'] === 'string';
    if (
      !address.isSteady ||
      workspaceId === null ||
      (target.provider ?? target.virtualKey) === null ||
      target.forwardHeaders.length > 0 ||
      x.endpoint.modelInPath === true ||
      !(isModelFixed || isPlainModel(x.modelAsked))
    )
      return;
    const headers = baseHeaders(x, target, address);
    if (headers.reduce((sum, text) => sum + text.length, url.length) > maxTextLength) return;
    if (this.#version !== this.directory.providersVersion || this.#count >= maxCalls) this.#clear();
    const calls = this.#calls.get(target) ?? [];
    if (calls.length === maxPerTarget) calls.shift();
    else this.#count += 1;
    const passed = passedNames(x, target, address);
    const request = new PreparedRequest(url, headers);
    calls.push(new PreparedCall(workspaceId, x.endpoint, address, isModelFixed, request, passed));
    this.#calls.set(target, calls);
  }

  #clear(): void {
    this.#version = this.directory.providersVersion;
    this.#calls = new WeakMap();
    this.#count = 0;
  }
}

/** Headers of a call to `address`; `client`: the headers to take the client's from. */
export function callHeaders(
  x: Exchange,
  target: Target,
  address: Address,
  client: HeaderList = x.request.headers,
): HeaderList {
  const headers = ownHeaders.slice();
  addProviderHeaders(x, target, address, headers, client);
  return headers;
}

const baseHeaders = (x: Exchange, target: Target, address: Address): HeaderList =>
  callHeaders(x, target, address, []);

/** The client's headers that reach a provider: those that are found again in a call of a client that sends all. */
function passedNames(x: Exchange, target: Target, address: Address): readonly string[] {
  const { headers = {}, passHeaders = [] } = address.provider;
  const names = [...new Set([...Object.keys(headers), ...passHeaders])];
  const sent = callHeaders(
    x,
    target,
    address,
    names.flatMap((name) => [name, probe]),
  );
  return names.filter((name) => getHeader(sent, name) === probe);
}

/** A value that no provider's row and no record has. */
const probe = '\n';

/** A name of a model and of nothing else; `@slug/model` also names a provider. */
function isPlainModel(model: string | null): model is string {
  return model !== null && model.charCodeAt(0) !== 64 && model.length <= maxModelLength;
}
