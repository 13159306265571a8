import { expect } from 'chai';
import { Detector } from '../../plugins/guardrails/checks/detect/detector.js';
import type { SearchKind } from '../../plugins/guardrails/checks/detect/kind.js';

/** A kind whose values are these words, wherever they are. */
const words = (id: string, ...all: string[]): SearchKind => ({
  ...{ id, title: id, example: all[0]!, longest: 40 },
  search(text, from, to, found) {
    for (const word of all)
      for (let at = text.indexOf(word, from); at !== -1 && at < to; at = text.indexOf(word, at + 1))
        found(at, at + word.length);
  },
});

const found = (kinds: readonly SearchKind[], text: string) =>
  new Detector(kinds)
    .find(text)
    .map(({ kind, start, end, alsoOf = [] }) => [
      kind.id,
      text.slice(start, end),
      ...alsoOf.map(({ id }) => id),
    ]);

describe('values of one detector', () => {
  it('that overlap in part are one value, of the kind of the longest', () => {
    const text = 'see one-two-three-four now';
    expect(found([words('A', 'one-two'), words('B', 'two-three-four')], text)).to.deep.equal([
      ['B', 'one-two-three-four', 'A'],
    ]);
    expect(found([words('B', 'two-three-four'), words('A', 'one-two')], text)).to.deep.equal([
      ['B', 'one-two-three-four', 'A'],
    ]);
  });

  it('that are equally long have the kind of the first in the list', () => {
    const [a, b] = [words('A', 'one-two'), words('B', 'two-one')];
    expect(found([a, b], 'one-two-one')).to.deep.equal([['A', 'one-two-one', 'B']]);
    expect(found([b, a], 'one-two-one')).to.deep.equal([['B', 'one-two-one', 'A']]);
  });

  it('that form a chain are one value', () => {
    const kinds = [words('A', 'ab-cd'), words('B', 'cd-ef'), words('C', 'ef-gh-ij')];
    expect(found(kinds, 'x ab-cd-ef-gh-ij x')).to.deep.equal([['C', 'ab-cd-ef-gh-ij', 'A', 'B']]);
  });

  it('stay separate where a third only joins them', () => {
    const kinds = [words('A', '1234', '5678'), words('B', '34 56')];
    expect(found(kinds, 'x 1234 5678 x')).to.deep.equal([
      ['A', '1234'],
      ['A', '5678'],
    ]);
  });

  it('are the same wherever in a long text they are', () => {
    const kinds = [words('A', 'one-two'), words('B', 'two-three-four')];
    for (let before = 8160; before < 8200; before++)
      expect(found(kinds, `${'.'.repeat(before)}one-two-three-four.`), `after ${before}`).to.deep.equal([
        ['B', 'one-two-three-four', 'A'],
      ]);
  });
});
