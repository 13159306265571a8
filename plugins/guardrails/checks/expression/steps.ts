import type { Tree } from './tree.js';
import { sizeOf, type Units, unitsOf } from './units.js';

interface Effort {
  /** Ways in which a part may match from one place on. */
  readonly ways: number;
  /** Steps in which an engine with backtracking tries all of them. */
  readonly steps: number;
}

const sum = (efforts: readonly Effort[]): Effort => ({
  ways: efforts.reduce((total, { ways }) => total + ways, 0),
  steps: efforts.reduce((total, { steps }) => total + steps + 1, 0),
});

/** One after the other: each way of the first is tried with all of the second. */
const followed = (first: Effort, second: Effort): Effort => ({
  ways: first.ways * second.ways,
  // Without a bound times nothing is nothing.
  steps: first.steps + (second.steps === 0 ? 0 : first.ways * second.steps),
});

/** Of parts that begin differently at most one is tried beyond its first unit. */
const most = (efforts: readonly Effort[]): Effort => ({
  ways: Math.max(...efforts.map(({ ways }) => ways)),
  steps: Math.max(...efforts.map(({ steps }) => steps)) + efforts.length,
});

/** The units that a match may begin with; null: it may be empty. */
function beginning(tree: Tree): Units | null {
  switch (tree.kind) {
    case 'units':
      return tree.units;
    case 'assertion':
      return null;
    case 'group':
      return beginning(tree.of);
    case 'choice': {
      const all = tree.of.map(beginning);
      return all.includes(null) ? null : unitsOf(all.flatMap((units) => units ?? []));
    }
    case 'sequence': {
      const first = tree.of.find(({ kind }) => kind !== 'assertion');
      return first === undefined ? null : beginning(first);
    }
    case 'repeat':
      return tree.min > 0 ? beginning(tree.of) : null;
  }
}

function beginDifferently(trees: readonly Tree[]): boolean {
  const all = trees.map(beginning);
  if (all.includes(null)) return false;
  const sizes = all.reduce((size, units) => size + sizeOf(units ?? []), 0);
  return sizeOf(unitsOf(all.flatMap((units) => units ?? []))) === sizes;
}

const nothing: Effort = { ways: 1, steps: 0 };

/** `length`: of the text. */
function effortOf(tree: Tree, length: number): Effort {
  switch (tree.kind) {
    case 'units':
    case 'assertion':
      return { ways: 1, steps: 1 };
    case 'group':
      return effortOf(tree.of, length);
    case 'choice':
      return (beginDifferently(tree.of) ? most : sum)(tree.of.map((each) => effortOf(each, length)));
    case 'sequence':
      return tree.of.reduce((before, each) => followed(before, effortOf(each, length)), nothing);
    case 'repeat':
      return repeated(effortOf(tree.of, length), tree.min, Math.min(tree.max, Math.max(length, tree.min)));
  }
}

/** Beyond that, all is the same: too much. */
const enough = 1e9;

function repeated({ ways, steps }: Effort, min: number, max: number): Effort {
  // `[a-z]{2,8}`: one way for each number.
  if (ways === 1) return { ways: max - min + 1, steps: steps === 0 ? 0 : max * steps };
  let total: Effort = { ways: min === 0 ? 1 : 0, steps: 0 };
  let each = 1;
  for (let count = 1; count <= max; count++) {
    if (total.steps >= enough) return { ways: Number.POSITIVE_INFINITY, steps: Number.POSITIVE_INFINITY };
    total = { ways: total.ways, steps: total.steps + each * (steps + 1) };
    each *= ways;
    if (count >= min) total = { ...total, ways: total.ways + each };
  }
  return total;
}

/** Does it match at the beginning of the text only? */
const isAnchored = (tree: Tree): boolean =>
  tree.kind === 'assertion'
    ? tree.mark === '^'
    : tree.kind === 'choice'
      ? tree.of.every(isAnchored)
      : tree.kind === 'group'
        ? isAnchored(tree.of)
        : tree.kind === 'sequence' && tree.of[0] !== undefined && isAnchored(tree.of[0]);

/** The steps that an engine with backtracking takes to match an expression, at most. */
export class Steps {
  readonly #isAnchored: boolean;
  /** From one place of the text; Infinity: it depends on the text's length. */
  readonly #bounded: number;
  #last = { length: -1, steps: 0 };

  constructor(
    readonly tree: Tree,
    isMultiline: boolean,
  ) {
    this.#isAnchored = isAnchored(tree) && !isMultiline;
    this.#bounded = effortOf(tree, Number.POSITIVE_INFINITY).steps;
  }

  /** In a text of that length. */
  most(length: number): number {
    const starts = this.#isAnchored ? 1 : length + 1;
    if (Number.isFinite(this.#bounded)) return starts * (1 + this.#bounded);
    if (this.#last.length !== length) this.#last = { length, steps: effortOf(this.tree, length).steps };
    return starts * (1 + this.#last.steps);
  }
}
