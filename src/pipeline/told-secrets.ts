import { getHeader } from '../core/headers.js';
import type { Outgoing } from './outgoing.js';

const credentialHeaders = ['authorization', 'x-goog-api-key', 'api-key', 'x-amz-security-token'] as const;

/** Shorter ones are words that an error may well say. */
const shortest = 8;

/**
 * An error of a provider without the credential and the headers that the call was made with: some quote them, and
 * neither whoever calls nor the logs should read them there.
 */
export function withoutSecrets(bytes: Buffer, { address, call }: Outgoing): Buffer {
  const values = address.headers.filter((_, i) => i % 2 === 1);
  if (address.credential !== null) values.push(address.credential.reveal());
  // Tokens that were got for this call stand in its headers alone.
  for (const name of credentialHeaders) {
    const value = getHeader(call.headers, name);
    if (value !== undefined) values.push(value.replace(/^Bearer /, ''));
  }
  const secrets = values.filter(({ length }) => length >= shortest);
  if (!secrets.some((secret) => bytes.includes(secret))) return bytes;
  // One character a byte, so that whatever else is in it stays as it is.
  let text = bytes.toString('latin1');
  for (const secret of secrets) text = text.replaceAll(secret, '*****');
  return Buffer.from(text, 'latin1');
}
