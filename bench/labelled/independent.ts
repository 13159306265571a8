import { readFileSync } from 'node:fs';

/** A text, and the categories that are in it. */
export interface LabelledText {
  readonly text: string;
  /** Each as often as its values are in the text; none: it only looks like something. */
  readonly kinds: readonly string[];
}

/** A build has the code alone. */
const inSource = './independent.jsonl';
const file = import.meta.url.endsWith('.ts') ? inSource : `../../../bench/labelled/${inSource}`;

/** Texts that were written without a look at the detectors: `bench/labelled/independent.jsonl`. */
export const independentTexts = (): LabelledText[] =>
  readFileSync(new URL(file, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as LabelledText);

export interface Comparison {
  readonly precision: number;
  readonly recall: number;
  readonly mistakes: readonly string[];
}

/** `find`: the categories of what is found in a text, one for each value. */
export function compare(
  texts: readonly LabelledText[],
  find: (text: string) => readonly string[],
): Comparison {
  let [right, wrong, missed] = [0, 0, 0];
  const mistakes: string[] = [];
  for (const { text, kinds } of texts) {
    const left = [...kinds];
    for (const kind of find(text)) {
      const at = left.indexOf(kind);
      if (at === -1) {
        wrong++;
        mistakes.push(`no ${kind}: ${text}`);
      } else {
        right++;
        left.splice(at, 1);
      }
    }
    missed += left.length;
    mistakes.push(...left.map((kind) => `missed ${kind}: ${text}`));
  }
  return { precision: right / (right + wrong), recall: right / (right + missed), mistakes };
}
