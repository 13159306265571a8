import { createHmac, timingSafeEqual } from 'node:crypto';

/** A file that may be read until then, by an address alone. */
export interface ExportLink {
  readonly organisationId: string;
  readonly exportId: string;
  /** Unix seconds. */
  readonly expires: number;
}

export const linkSeconds = 3600;

/** `secret` signs other things too: the text names its purpose. */
function signatureOf({ organisationId, exportId, expires }: ExportLink, secret: Buffer): string {
  const text = ['file of a log export', organisationId, exportId, expires].join('\n');
  return createHmac('sha256', secret).update(text).digest('base64url');
}

export function signedUrl(link: ExportLink, secret: Buffer, publicUrl: string): string {
  const query = new URLSearchParams({
    organisation_id: link.organisationId,
    expires: String(link.expires),
    signature: signatureOf(link, secret),
  });
  return `${publicUrl}/v1/logs/exports/${link.exportId}/file?${query}`;
}

export function isSigned(link: ExportLink, signature: string, secret: Buffer, now: number): boolean {
  const own = Buffer.from(signatureOf(link, secret));
  const given = Buffer.from(signature);
  return given.length === own.length && timingSafeEqual(given, own) && now < link.expires * 1000;
}
