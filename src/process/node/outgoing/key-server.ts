import { GatewayError } from '../../../common/core/errors.js';
import type { EgressAllow } from '../../../common/http/egress-allow.js';
import { type FetchedKeySet, KeySetUnavailable } from '../../../control-plane/tokens/key-sets.js';
import type { CheckedAddresses } from '../../../data-plane/upstream/address/egress.js';
import { type CheckedRequest, checkedRequest, RequestFailed } from './checked-request.js';

const deadlineMs = 10_000;
const maxBytes = 512 * 1024;

/** Fetches the key sets of organisations from the addresses that these have set. */
export class KeyServers {
  constructor(
    readonly egress: CheckedAddresses,
    readonly allow: EgressAllow,
  ) {}

  /** Why a set may not be fetched from there; null: it may, as far as the URL shows. */
  problemOf(text: string): string | null {
    try {
      const url = this.egress.checkUrl(text);
      return url.protocol === 'http:' && !this.#isAllowed(url)
        ? 'must be an https URL, unless egress_allow (HEADGATE_EGRESS_ALLOW) names its host.'
        : null;
    } catch (error) {
      if (error instanceof GatewayError) return reasonOf(error);
      throw error;
    }
  }

  /** May the host be called without TLS? */
  #isAllowed(url: URL): boolean {
    const host = url.hostname.replace(/^\[|\]$|\.$/g, '');
    const port = url.port === '' ? 80 : Number(url.port);
    return this.allow.hasHost(host) || this.allow.hasPort(host, port) || this.allow.hasAddress(host);
  }

  /** A request to an OpenID Connect provider, whose keys are among what it serves. Throws where the rules refuse it. */
  async request(
    url: string,
    init: Pick<CheckedRequest, 'method' | 'headers'> & { readonly body?: string },
  ): Promise<Response> {
    const problem = this.problemOf(url);
    if (problem !== null) throw new RequestFailed(`the provider's address ${problem}`);
    const { status, headers, body } = await checkedRequest(this.egress, {
      url,
      ...init,
      maxBytes,
      deadlineMs,
    });
    const type = headers['content-type'];
    const hasBody = status !== 204 && status !== 205 && status !== 304;
    const challenge = headers['www-authenticate'];
    return new Response(hasBody ? new Uint8Array(body) : null, {
      status,
      headers: {
        ...(type !== undefined && { 'content-type': type }),
        ...(challenge !== undefined && { 'www-authenticate': challenge }),
      },
    });
  }

  /** Throws KeySetUnavailable. */
  async fetch(url: string): Promise<FetchedKeySet> {
    const problem = this.problemOf(url);
    if (problem !== null) throw new KeySetUnavailable(`jwks_url ${problem}`);
    try {
      const headers = { accept: 'application/jwk-set+json, application/json', 'user-agent': 'headgate' };
      const { status, body } = await checkedRequest(this.egress, { url, headers, maxBytes, deadlineMs });
      if (status !== 200) throw new KeySetUnavailable(`The key server answered with status ${status}.`);
      return { document: JSON.parse(body.toString('utf8')), bytes: body.length };
    } catch (error) {
      if (error instanceof KeySetUnavailable) throw error;
      if (error instanceof RequestFailed)
        throw new KeySetUnavailable(`The key server did not answer: ${error.message}.`);
      if (error instanceof SyntaxError)
        throw new KeySetUnavailable('The answer of the key server is not JSON.');
      if (error instanceof GatewayError) throw new KeySetUnavailable(`jwks_url ${reasonOf(error)}`);
      throw error;
    }
  }
}

/** The messages of the egress rules name custom hosts. */
const reasonOf = ({ message }: GatewayError): string =>
  message.replace(/^This custom host cannot be used: /, 'cannot be fetched from: ');
