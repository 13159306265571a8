import type { Message } from '../../../../../proto/codec.js';
import { severalKeys } from '../../../../common/access/key-refusals.js';
import { isSessionToken } from '../../../../common/access/session-token.js';
import type { HeaderList } from '../../../../common/http/headers.js';
import { cookieHeader, cookieName, cookieValues, ownCookies } from '../../../../common/http/own-cookies.js';
import { AdminError } from '../../admin-error.js';
import { valuesOf } from '../request.js';

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

/** The answer that begins a session, without the session's token. */
export function withoutToken({ session_token: _token, ...response }: Message): Message {
  return response;
}

/** The cookie with the token of the session that an answer begins, as a header. */
export function cookieOf(answer: Message, isSecure: boolean): string[] {
  const maxAgeS = Math.ceil((Date.parse(String(answer['expires_at'])) - Date.now()) / 1000);
  const token = String(answer['session_token']);
  return ['set-cookie', cookieHeader('session', token, { maxAgeS, isSecure, sameSite: 'Strict' })];
}

/** A header that removes that cookie. */
export const removedCookie = (isSecure: boolean): string[] => [
  'set-cookie',
  cookieHeader('session', '', { maxAgeS: 0, isSecure, sameSite: 'Strict' }),
];
