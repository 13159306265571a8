/** Input tokens that a model takes in one request, all items together. */
const limits: ReadonlyMap<string, number> = new Map([['text-embedding-ada-002', 8192]]);
/** Bytes of the longest token in the encoding of these models. */
const longestToken = 128;

/** The model's own name in `@slug/model` and `vendor/model`. */
export const bareModel = (model: string): string => model.slice(model.lastIndexOf('/') + 1);

/** null: the limit is unknown here; the provider refuses what is too long. */
export const embeddingLimit = (model: string): number | null => limits.get(bareModel(model)) ?? null;

/**
 * Bounds of an input's tokens without an encoder: a token has at least one byte of UTF-8, and at most 128. Token lists
 * give their own length.
 */
export function againstLimit(input: unknown, limit: number): 'fits' | 'exceeds' | 'unknown' {
  const items: readonly unknown[] = Array.isArray(input) ? input : [input];
  let most = 0;
  let least = 0;
  for (const item of items) {
    if (typeof item === 'string') {
      const bytes = Buffer.byteLength(item);
      most += bytes;
      least += Math.ceil(bytes / longestToken);
    } else {
      const tokens = Array.isArray(item) ? item.length : 1;
      most += tokens;
      least += tokens;
    }
  }
  if (least > limit) return 'exceeds';
  return most > limit ? 'unknown' : 'fits';
}

/** What follows the name of the field in a refusal. */
export const overLimit = (limit: number, model: string): string =>
  `must have at most ${limit} tokens in total for ${bareModel(model)}: send it in several requests`;
