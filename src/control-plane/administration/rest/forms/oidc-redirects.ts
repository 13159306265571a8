import type { Message } from '../../../../../proto/codec.js';
import { cookieHeader, cookieName, cookieValues, ownCookies } from '../../../../common/http/own-cookies.js';
import { flowMs } from '../../access/people/oidc/flow-seal.js';
import type { RestAnswer, RestRequest } from '../request.js';
import { plainPage } from '../sign-in-pages.js';

/** What browsers do on the way to an OpenID Connect provider and back, for the two methods that it takes. */

/** The provider adds parameters of its own to the callback: only those of the method are read. */
const read = new Set(['code', 'state', 'iss', 'error']);

/** The parts of the callback's query that its method reads. */
export const ownParameters = (query: string): string =>
  query
    .split('&')
    .filter((pair) => read.has(pair.split('=', 1)[0] ?? ''))
    .join('&');

/** The flow that the browser keeps; '' where it keeps none, or several. */
export function flowOf(request: RestRequest, isSecure: boolean): string {
  const values = cookieValues(ownCookies(request.headers), cookieName('oidc', isSecure));
  return values.length === 1 ? (values[0] ?? '') : '';
}

const flowCookie = (value: string, isSecure: boolean): string =>
  // Not Strict: the browser comes back from the provider's site.
  cookieHeader('oidc', value, { maxAgeS: value === '' ? 0 : flowMs / 1000, isSecure, sameSite: 'Lax' });

/** The way to the provider. */
export const toProvider = ({ url, flow }: Message, isSecure: boolean): RestAnswer => ({
  status: 302,
  headers: ['location', String(url), 'set-cookie', flowCookie(String(flow), isSecure)],
  body: '',
});

/** What the browser shows when it is back. */
export const signedInPage = ({ user }: Message, cookie: readonly string[], isSecure: boolean): RestAnswer =>
  plainPage('Signed in', `You are signed in as ${String((user as Message)['email'])}.`, [
    ...cookie,
    'set-cookie',
    flowCookie('', isSecure),
  ]);
