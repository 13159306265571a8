import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** A sign-in that was begun, as the browser keeps it: sealed, so that only this gateway can read or make one. */
export interface Flow {
  readonly organisationId: string;
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** How long a person may take at the provider's page. Milliseconds. */
export const flowMs = 10 * 60_000;

const nonceBytes = 12;
const tagBytes = 16;

const keyOf = (pepper: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', pepper, '', 'headgate sign-in flow', 32));

export function sealFlow(pepper: Buffer, flow: Flow): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', keyOf(pepper), nonce);
  const sealed = Buffer.concat([cipher.update(JSON.stringify(flow), 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** null: this gateway did not make it, or it has expired. */
export function openFlow(pepper: Buffer, text: string, now: number): Flow | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length <= nonceBytes + tagBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', keyOf(pepper), bytes.subarray(0, nonceBytes));
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    const opened = Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]);
    const flow = JSON.parse(opened.toString('utf8')) as Flow;
    return flow.expiresAt > now ? flow : null;
  } catch {
    return null;
  }
}
