import type { HttpResponse } from 'uWebSockets.js';

/** Creating the text takes longer than looking it up. */
const addresses = new Map<number, string>();

/** Octets of an IPv4 address, also of one at an IPv6 socket; text for other families. */
export function textOfAddress(res: HttpResponse): string {
  const bytes = new Uint8Array(res.getRemoteAddress());
  const at = bytes.length - 4;
  if (at !== 0 && !isMapped(bytes)) return Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
  const key = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
  let text = addresses.get(key);
  if (text === undefined) {
    text = `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
    if (addresses.size >= 10_000) addresses.clear();
    addresses.set(key, text);
  }
  return text;
}

function isMapped(bytes: Uint8Array): boolean {
  if (bytes.length !== 16 || bytes[10] !== 0xff || bytes[11] !== 0xff) return false;
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false;
  return true;
}
