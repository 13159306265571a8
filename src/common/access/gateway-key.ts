import { createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeyType } from './principal.js';
import { hashToken, isTokenForm } from './token-form.js';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefixes: Readonly<Record<KeyType, string>> = {
  'organisation-service': 'gw_org_',
  'workspace-service': 'gw_ws_',
  'workspace-user': 'gw_user_',
};
/** 256 bits need 43 digits of base 62; 32 bits need 6. */
const secretDigits = 43;
const checkDigits = 6;

/** Value of each character code below 128 as a digit of base 62; -1 for every other character. */
const digitOf = new Int8Array(128).fill(-1);
for (let value = 0; value < alphabet.length; value++) digitOf[alphabet.charCodeAt(value)] = value;

function base62(value: bigint, digits: number): string {
  let text = '';
  for (let rest = value; text.length < digits; rest /= 62n) text = alphabet[Number(rest % 62n)] + text;
  return text;
}

/** A new gateway key: type prefix, 256 random bits, checksum of both. Shown once, never stored. */
export function makeGatewayKey(type: KeyType): string {
  const body = prefixes[type] + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretDigits);
  return body + base62(BigInt(crc32(body)), checkDigits);
}

/** The position of the digits; 0: not a prefix of a gateway key. */
function prefixLength(text: string): number {
  if (text.startsWith('gw_ws_')) return 6;
  if (text.startsWith('gw_org_')) return 7;
  if (text.startsWith('gw_user_')) return 8;
  return 0;
}

/** Could this be a gateway key? Refuses invalid texts by length, alphabet and checksum, before any look-up. */
export function isGatewayKey(text: string): boolean {
  const start = prefixLength(text);
  const checkAt = start + secretDigits;
  if (start === 0 || text.length !== checkAt + checkDigits) return false;
  let check = 0;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const digit = code < 128 ? digitOf[code]! : -1;
    if (digit < 0) return false;
    if (i >= checkAt) check = check * 62 + digit;
  }
  return check === crc32(text.slice(0, checkAt));
}

/** The hash that is stored and looked up instead of a key's text: HMAC-SHA-256 under the deployment's pepper, hex. */
export function hashGatewayKey(pepper: Buffer, text: string): string {
  return createHmac('sha256', pepper).update(text).digest('hex');
}

/** Beyond this many, or so many characters of them, the cache of keys is emptied. */
const maxSeenKeys = 1000;
const maxSeenLength = 2 * 1024 * 1024;

/**
 * Hashes possible gateway keys as `hashGatewayKey` does, and JSON web tokens as `hashToken` does. Caches the last ones,
 * since one comes with every request.
 */
export class KeyHasher {
  readonly #seen = new Map<string, string>();
  #seenLength = 0;

  constructor(readonly pepper: Buffer) {}

  /** null: this has neither the form of a gateway key nor that of a token. */
  readonly hash = (text: string): string | null => this.#seen.get(text) ?? this.#hashNew(text);

  #hashNew(text: string): string | null {
    const isKey = isGatewayKey(text);
    if (!isKey && !isTokenForm(text)) return null;
    const hash = isKey ? hashGatewayKey(this.pepper, text) : hashToken(this.pepper, text);
    this.#seenLength += text.length;
    if (this.#seen.size >= maxSeenKeys || this.#seenLength > maxSeenLength) {
      this.#seen.clear();
      this.#seenLength = text.length;
    }
    this.#seen.set(text, hash);
    return hash;
  }
}

/** The part of every shown secret that replaces its middle. */
export const mask = '*****';

/** How a key or credential is shown after its creation: 2 first characters, the mask, 3 last. */
export function maskGatewayKey(text: string): string {
  return text.length < 12 ? mask : `${text.slice(0, 2)}${mask}${text.slice(-3)}`;
}
