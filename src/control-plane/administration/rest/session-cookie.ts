import type { Message } from '../../../../proto/codec.js';
import type { AdminMethod } from '../../../../proto/tree.js';
import { severalKeys } from '../../../common/access/key-refusals.js';
import { isSessionToken } from '../../../common/access/session-token.js';
import type { HeaderList } from '../../../common/http/headers.js';
import { cookieHeader, cookieName, cookieValues, ownCookies } from '../../../common/http/own-cookies.js';
import { AdminError } from '../admin-error.js';
import { valuesOf } from './request.js';

/** The token of a session, which browsers have in a cookie that no script can read. */
export const sessionCookies = (headers: HeaderList, isSecure: boolean): string[] =>
  cookieValues(ownCookies(headers), cookieName('session', isSecure));

/** Throws AB05 where there are several, or it is not a token. */
export function oneSession(headers: HeaderList, isSecure: boolean): string {
  const [value = '', ...others] = sessionCookies(headers, isSecure);
  if (others.length > 0) throw new AdminError('AB05', severalKeys);
  if (!isSessionToken(value)) throw new AdminError('AB05', 'This session is not known: sign in again.');
  return value;
}

/** Does the browser report that another site caused the request? Programs do not send the header. */
export const isForeign = (headers: HeaderList): boolean =>
  valuesOf(headers, 'sec-fetch-site').some((site) => site === 'cross-site');

/** Methods that end the session that calls them. */
const begins = new Set(['Auth.SignIn', 'Auth.FinishOidc']);
const ending = new Set(['Auth.SignOut', 'Auth.UpdatePassword']);

/** The answer of a method as REST gives it: a new session's token is not in the body but in a cookie. */
export function withCookie(
  { name }: AdminMethod,
  answer: Message,
  isSecure: boolean,
): { readonly cookie: string[]; readonly response: Message } {
  if (ending.has(name)) return { cookie: ['set-cookie', removed(isSecure)], response: answer };
  if (!begins.has(name)) return { cookie: [], response: answer };
  const { session_token: token, ...response } = answer;
  const maxAgeS = Math.ceil((Date.parse(String(answer['expires_at'])) - Date.now()) / 1000);
  const cookie = cookieHeader('session', String(token), { maxAgeS, isSecure, sameSite: 'Strict' });
  return { cookie: ['set-cookie', cookie], response };
}

const removed = (isSecure: boolean): string =>
  cookieHeader('session', '', { maxAgeS: 0, isSecure, sameSite: 'Strict' });
