import { numberOf } from '../../../common/json/json.js';

/** OpenAI's `encoding_format: base64`: little-endian 32-bit floats. Its clients ask for that by default. */
export function floatsToBase64(vector: readonly unknown[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(numberOf(value) ?? 0, i * 4);
  return bytes.toString('base64');
}
