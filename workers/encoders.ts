import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { TokenEncoder, Vocabulary } from './byte-pairs.js';

export type EncodingName = 'o200k_base' | 'cl100k_base';

const require = createRequire(import.meta.url);

/** Unicode's white space, as tiktoken's `\s`: JavaScript's has U+FEFF and lacks U+0085. */
const white = String.raw`\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;
/** Case-insensitive; U+017F is a long s. */
const contraction = String.raw`'(?:[sS\u017f]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])`;
const afterWords = String.raw`\p{N}{1,3}| ?[^${white}\p{L}\p{N}]+`;
const spaces = String.raw`[${white}]*[\r\n]+|[${white}]+(?![^${white}])|[${white}]+`;
const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const before = String.raw`[^\r\n\p{L}\p{N}]?`;

/** The `pat_str` of tiktoken's files in JavaScript's syntax. */
const pieces: Readonly<Record<EncodingName, RegExp>> = {
  cl100k_base: new RegExp(String.raw`${contraction}|${before}\p{L}+|${afterWords}[\r\n]*|${spaces}`, 'gu'),
  o200k_base: new RegExp(
    String.raw`${before}${upper}*${lower}+(?:${contraction})?|${before}${upper}+${lower}*(?:${contraction})?|${afterWords}[\r\n/]*|${spaces}`,
    'gu',
  ),
};

/** The gateway's own table, since tiktoken's lacks newer models. Other models use `o200k_base`. */
const olderModels = /^(?:gpt-4(?!o|\.|-?5)|gpt-3\.5|text-embedding-)/;

const encoders = new Map<EncodingName, TokenEncoder>();

/** Loaded once for each thread and only when needed: 60 ms and 5 MB each. tiktoken's own encoder takes 0.5 s and 90 MB. */
export function encoderFor(model: string | null): TokenEncoder {
  // Calls may name it `@slug/model` or `vendor/model`.
  const bare = model === null ? '' : model.slice(model.lastIndexOf('/') + 1);
  return encoderNamed(olderModels.test(bare) ? 'cl100k_base' : 'o200k_base');
}

export function encoderNamed(name: EncodingName): TokenEncoder {
  let encoder = encoders.get(name);
  if (encoder === undefined) {
    const file = readFileSync(require.resolve(`tiktoken/encoders/${name}.json`));
    encoder = new TokenEncoder(new Vocabulary(file), pieces[name]);
    encoders.set(name, encoder);
  }
  return encoder;
}
