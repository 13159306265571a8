import { plainTexts } from '../messages.js';
import type { TextFormat } from '../text-format.js';

/** Embeddings and moderations: one text, or a list. */
export const inputTexts: TextFormat = {
  request: ({ input }) => plainTexts((into) => into.content(input, ['input'])),
};

export const rerankTexts: TextFormat = {
  request: ({ query, documents }) =>
    plainTexts((into) => {
      into.text(query, ['query']);
      into.content(documents, ['documents']);
    }),
};
