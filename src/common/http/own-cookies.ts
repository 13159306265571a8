import type { HeaderList } from './headers.js';

/** The cookies of the gateway. Over https their names begin with `__Host-`: no other host can set them. */
export const cookieNames = { session: 'headgate_session', oidc: 'headgate_oidc' } as const;

export type OwnCookie = keyof typeof cookieNames;

const prefix = '__Host-';
const own = new Set(Object.values(cookieNames).flatMap((name) => [name, prefix + name]));
/** A browser sends no more; what follows is not read. Characters. */
const maxHeader = 16 * 1024;

export const cookieName = (cookie: OwnCookie, isSecure: boolean): string =>
  `${isSecure ? prefix : ''}${cookieNames[cookie]}`;

/** The gateway's own cookies among all that a browser sends, as one header; null: there are none. */
export function ownCookies(headers: HeaderList): string | null {
  const found: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== 'cookie') continue;
    for (const pair of (headers[i + 1] ?? '').slice(0, maxHeader).split(';')) {
      const text = pair.trim();
      if (own.has(text.slice(0, text.indexOf('=')))) found.push(text);
    }
  }
  return found.length === 0 ? null : found.join('; ');
}

/** The values of a cookie, in order. */
export function cookieValues(header: string | null, name: string): string[] {
  if (header === null) return [];
  return header
    .split('; ')
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}

/** `set-cookie`. `maxAgeS` 0 removes the cookie. */
export function cookieHeader(
  cookie: OwnCookie,
  value: string,
  { maxAgeS, isSecure, sameSite }: { maxAgeS: number; isSecure: boolean; sameSite: 'Strict' | 'Lax' },
): string {
  const secure = isSecure ? '; Secure' : '';
  return `${cookieName(cookie, isSecure)}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=${sameSite}${secure}`;
}
