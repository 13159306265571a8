import type { Address } from './address.js';

/** Shorter ones are words that an error may well say. */
const shortest = 8;

/**
 * An error of a provider without the credential and the headers that the call was made with: some quote them, and
 * neither whoever calls nor the logs should read them there.
 */
export function withoutSecrets(bytes: Buffer, { credential, headers }: Address): Buffer {
  const values = headers.filter((_, i) => i % 2 === 1);
  if (credential !== null) values.push(credential.reveal());
  const secrets = values.filter(({ length }) => length >= shortest);
  if (!secrets.some((secret) => bytes.includes(secret))) return bytes;
  // One character a byte, so that whatever else is in it stays as it is.
  let text = bytes.toString('latin1');
  for (const secret of secrets) text = text.replaceAll(secret, '*****');
  return Buffer.from(text, 'latin1');
}
