import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.js';

export interface Example {
  readonly language: string;
  /** The `file=` of its fence, where it has one. */
  readonly file: string | null;
  readonly text: string;
}

/** The fenced code blocks of a page of the docs, in order. */
export function examplesOf(page: string): Example[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```(\w+)(?: file=(\S+))?\n([\s\S]*?)^```$/gm)].map(
    ([, language, file, code]) => ({
      language: language ?? '',
      file: file ?? null,
      text: code ?? '',
    }),
  );
}
