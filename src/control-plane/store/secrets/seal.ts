import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** First byte of everything sealed: AES-256-GCM, 96-bit nonce, 128-bit tag. */
const format = 1;
const nonceAt = 5;
const textAt = nonceAt + 12;
const tagLength = 16;

/** Where a sealed value belongs. It opens nowhere else: rows and fields cannot be exchanged. */
export interface SealedPlace {
  readonly table: string;
  readonly row: string;
  readonly organisation: string;
  readonly field: string;
}

/** Sealed bytes that this key, at this place, does not open: wrong key, wrong row, or altered. */
export class SealBroken extends Error {
  override readonly name = 'SealBroken';
}

const associated = (place: SealedPlace, version: number): Buffer =>
  Buffer.from(JSON.stringify([place.table, place.row, place.organisation, place.field, version]));

/** Seals `clear` for one place. Layout: format, key version (4 bytes), nonce, ciphertext, tag. */
export function seal(key: Buffer, version: number, place: SealedPlace, clear: Buffer): Buffer {
  const head = Buffer.alloc(textAt);
  head[0] = format;
  head.writeUInt32BE(version, 1);
  randomBytes(12).copy(head, nonceAt);
  const cipher = createCipheriv('aes-256-gcm', key, head.subarray(nonceAt));
  cipher.setAAD(associated(place, version));
  return Buffer.concat([head, cipher.update(clear), cipher.final(), cipher.getAuthTag()]);
}

/** Which version of its key a sealed value needs. */
export function sealedVersion(sealed: Buffer): number {
  if (sealed.length < textAt + tagLength || sealed[0] !== format) {
    throw new SealBroken('A sealed value has a form that this version does not know.');
  }
  return sealed.readUInt32BE(1);
}

/** Opens what `seal` made; throws SealBroken. */
export function unseal(key: Buffer, place: SealedPlace, sealed: Buffer): Buffer {
  const version = sealedVersion(sealed);
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(nonceAt, textAt), {
    authTagLength: tagLength,
  });
  decipher.setAAD(associated(place, version));
  decipher.setAuthTag(sealed.subarray(sealed.length - tagLength));
  try {
    return Buffer.concat([
      decipher.update(sealed.subarray(textAt, sealed.length - tagLength)),
      decipher.final(),
    ]);
  } catch {
    throw new SealBroken(`The sealed ${place.field} of a row of ${place.table} does not open.`);
  }
}
