import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import type { HeaderList } from '../../../common/http/headers.js';
import { type SecretAsk, SecretFailure } from '../../../common/http/secret-access.js';
import type { SecretReferenceRecord } from '../../../common/ipc/records.js';
import { isJsonObject } from '../../../common/json/json.js';
import { answeredJson } from '../answers.js';
import type { SecretSource } from '../secret-source.js';

/** Where a pod has the token of its service account. */
const podToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** A login's token is not used in its last seconds. Milliseconds. */
const marginMs = 10_000;
/** Of a token that does not end. Milliseconds. */
const longestMs = 3_600_000;

interface Login {
  readonly token: string;
  /** Monotonic milliseconds. */
  readonly endsAt: number;
}

/** developer.hashicorp.com/vault/api-docs: `secret_path` is the path of the API after `/v1/`. */
export class HashicorpVault implements SecretSource {
  readonly #logins = new LRUCache<string, Login>({ max: 1000 });

  /** `tokenFile`: the token of the gateway's pod. */
  constructor(readonly tokenFile = podToken) {}

  async fetch(reference: SecretReferenceRecord, { ask }: { readonly ask: SecretAsk }) {
    const isLogin = reference.auth['vault_auth_type'] !== 'token';
    const isKept = isLogin && this.#kept(reference) !== null;
    let answer = await this.#read(reference, ask);
    if (answer.status === 403 && isKept) {
      // Vault has ended the token before its time.
      this.#logins.delete(loginKey(reference));
      answer = await this.#read(reference, ask);
    }
    const { data } = answeredJson(answer);
    if (!isJsonObject(data)) throw notASecret();
    // The second version of KV has the values inside, and beside them the version's metadata.
    const isVersioned = isJsonObject(data['metadata']) || /(?:^|\/)data\//.test(reference.secretPath);
    return isVersioned && isJsonObject(data['data']) ? data['data'] : data;
  }

  async #read(reference: SecretReferenceRecord, ask: SecretAsk) {
    const token = await this.#token(reference, ask);
    const url = urlOf(reference, reference.secretPath);
    return ask({ method: 'GET', url, headers: headersOf(reference, token), body: null });
  }

  #kept(reference: SecretReferenceRecord): Login | null {
    const kept = this.#logins.get(loginKey(reference));
    return kept !== undefined && kept.endsAt > performance.now() ? kept : null;
  }

  async #token(reference: SecretReferenceRecord, ask: SecretAsk): Promise<string> {
    const { auth } = reference;
    if (auth['vault_auth_type'] === 'token') return auth['vault_token'] ?? '';
    const kept = this.#kept(reference);
    if (kept !== null) return kept.token;
    const [path, body] = await this.#login(auth);
    const answer = await ask({
      method: 'POST',
      url: urlOf(reference, path),
      headers: [...headersOf(reference, null), 'content-type', 'application/json'],
      body: Buffer.from(JSON.stringify(body)),
    });
    if (answer.status >= 400 && answer.status < 500)
      throw new SecretFailure(`its secret manager refused the login with status ${answer.status}`);
    const { auth: given } = answeredJson(answer);
    const { client_token: token, lease_duration: seconds } = isJsonObject(given) ? given : {};
    if (typeof token !== 'string' || !/^[\x21-\x7e]{1,4096}$/.test(token)) throw notASecret();
    const lifeMs = typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : longestMs;
    this.#logins.set(loginKey(reference), {
      token,
      endsAt: performance.now() + Math.min(lifeMs, longestMs) - marginMs,
    });
    return token;
  }

  async #login(auth: SecretReferenceRecord['auth']): Promise<[path: string, body: object]> {
    if (auth['vault_auth_type'] === 'approle')
      return ['auth/approle/login', { role_id: auth['vault_role_id'], secret_id: auth['vault_secret_id'] }];
    let jwt: string;
    try {
      jwt = (await readFile(this.tokenFile, 'utf8')).trim();
    } catch {
      throw new SecretFailure('the gateway does not run in a pod that has a service account');
    }
    return ['auth/kubernetes/login', { role: auth['vault_role'], jwt }];
  }
}

const notASecret = (): SecretFailure =>
  new SecretFailure('its secret manager answered with something else than a secret');

/** Distinguishes logins without containing what they are made with. */
const loginKey = ({ organisationId, auth }: SecretReferenceRecord): string =>
  createHash('sha256')
    .update(JSON.stringify([organisationId, ...Object.entries(auth).sort()]))
    .digest('base64');

function urlOf({ auth }: SecretReferenceRecord, given: string): string {
  const [path = '', query] = given.split(/\?(.*)/s);
  const encoded = path
    .split('/')
    .filter((part) => part !== '')
    .map(encodeURIComponent)
    .join('/');
  const base = (auth['vault_addr'] ?? '').replace(/\/+$/, '').replace(/\/v1$/, '');
  return `${base}/v1/${encoded}${query === undefined ? '' : `?${query}`}`;
}

function headersOf({ auth }: SecretReferenceRecord, token: string | null): HeaderList {
  const headers: HeaderList = ['x-vault-request', 'true'];
  if (token !== null) headers.push('x-vault-token', token);
  const { vault_namespace: namespace } = auth;
  if (namespace !== undefined) headers.push('x-vault-namespace', namespace);
  return headers;
}
