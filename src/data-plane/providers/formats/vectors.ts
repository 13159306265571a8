import { numberOf } from '../../../common/json/json.js';

/** OpenAI's `encoding_format: base64`: little-endian 32-bit floats. Its clients ask for that by default. */
export function floatsToBase64(vector: readonly unknown[]): string {
  // Every machine that this runs on is little-endian; to write each float by a call takes three times as long.
  const floats = new Float32Array(vector.length);
  for (let i = 0; i < vector.length; i++) floats[i] = numberOf(vector[i]) ?? 0;
  return Buffer.from(floats.buffer).toString('base64');
}
