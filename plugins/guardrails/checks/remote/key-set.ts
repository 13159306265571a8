import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { CheckParameters, RemoteContext } from '../../check.js';
import { isPlain } from '../request/values.js';
import { headersFor, parse, ServiceFailed } from './calls.js';

type Keys = ReadonlyMap<string, KeyObject>;

const maxKeys = 100;
/** Milliseconds in which a set is not fetched again: an unknown key or a server that fails must not cause a request each. */
const refetchMs = 30_000;
/** Milliseconds beyond their age for which keys are used while their server fails. */
const staleMs = 3_600_000;
/** Bits. Larger keys take too long to verify with. */
const maxModulus = 8192;
const maxExponent = 2n ** 32n;

/** The public keys at one address, fetched when they are needed. */
class KeySet {
  #keys: Keys | null = null;
  /** Milliseconds of `Date.now()`. */
  #keysAt = 0;
  #triedAt = Number.NEGATIVE_INFINITY;
  #failure: unknown = null;
  #fetching: Promise<void> | null = null;

  constructor(
    readonly uri: string,
    /** Milliseconds. */
    readonly maxAge: number,
  ) {}

  /** undefined: the set has no such key. Rejects where the set cannot be fetched, and none is known. */
  async key(context: RemoteContext, kid: string): Promise<KeyObject | undefined> {
    const isFresh = this.#keys !== null && Date.now() - this.#keysAt < this.maxAge;
    if (!isFresh || !this.#keys!.has(kid)) await this.#refreshed(context);
    if (this.#keys !== null && Date.now() - this.#keysAt < this.maxAge + staleMs) return this.#keys.get(kid);
    throw this.#failure ?? new ServiceFailed('The key set could not be read.');
  }

  async #refreshed(context: RemoteContext): Promise<void> {
    // Another request may fetch it now; if its client disconnects, this one fetches it.
    while (this.#fetching !== null) await this.#fetching;
    if (Date.now() - this.#triedAt < refetchMs) return;
    this.#fetching = this.#fetch(context);
    await this.#fetching;
  }

  async #fetch(context: RemoteContext): Promise<void> {
    const before = this.#triedAt;
    this.#triedAt = Date.now();
    try {
      this.#keys = await fetchKeys(context, this.uri);
      this.#keysAt = Date.now();
    } catch (thrown) {
      this.#failure = thrown;
      // Its client disconnected, or its own deadline ended it: that is no fault of the server's.
      if (context.signal.aborted) this.#triedAt = before;
    } finally {
      this.#fetching = null;
    }
  }
}

async function fetchKeys({ send }: RemoteContext, uri: string): Promise<Keys> {
  const { status, body } = await send({ method: 'GET', url: uri, headers: headersFor(), body: null });
  const json = parse(body);
  if (status !== 200 || !isPlain(json) || !Array.isArray(json['keys']))
    throw new ServiceFailed(`The key set could not be read: its server answered with status ${status}.`);
  const keys = new Map<string, KeyObject>();
  for (const key of json['keys'].slice(0, maxKeys)) {
    if (!isPlain(key) || typeof key['kid'] !== 'string' || key['kty'] === 'oct') continue;
    try {
      const made = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
      const { modulusLength = 0, publicExponent = 0n } = made.asymmetricKeyDetails ?? {};
      if (modulusLength <= maxModulus && publicExponent <= maxExponent) keys.set(key['kid'], made);
    } catch {
      // A key of a kind that is not known here does not make the others useless.
    }
  }
  return keys;
}

/** Of one version of a guardrail: no other tenant's check uses what it has fetched. */
const keySets = new WeakMap<CheckParameters, KeySet>();

/** `parameters`: of a check with `jwksUri` and `cacheMaxAge`, in seconds. */
export function keySetOf(parameters: CheckParameters): KeySet {
  let set = keySets.get(parameters);
  if (set === undefined) {
    set = new KeySet(parameters['jwksUri'] as string, (parameters['cacheMaxAge'] as number) * 1000);
    keySets.set(parameters, set);
  }
  return set;
}
