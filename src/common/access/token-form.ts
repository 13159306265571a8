import { createHmac } from 'node:crypto';

/** Longest JSON web token that is checked. Characters. */
export const longestToken = 16_384;

/** Header and claims begin with `{"`, and all three parts are base64url without padding. */
const form = /^eyJ[\w-]*\.eyJ[\w-]*\.[\w-]+$/;

/** Could this be a signed JSON web token in place of a gateway key? */
export const isTokenForm = (text: string): boolean =>
  text.startsWith('eyJ') && text.length <= longestToken && form.test(text);

/** No hash of a gateway key begins with it. */
const hashPrefix = 'jwt-';

/** The hash by which a token is remembered instead of its text. */
export const hashToken = (pepper: Buffer, text: string): string =>
  hashPrefix + createHmac('sha256', pepper).update(text).digest('hex');

/** Of a gateway key it is another length. */
export const tokenHashLength = hashPrefix.length + 64;

/** Is this the hash of a token, not of a gateway key? */
export const isTokenHash = (hash: string): boolean => hash.length === tokenHashLength;
