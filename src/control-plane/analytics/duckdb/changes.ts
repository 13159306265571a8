import { feedbackIn, feedbackSums } from './feedback.js';

type Value = number | string | null;

/** Rows of the ledger, as a list for each column. */
export class Changes {
  readonly #lists: Readonly<Record<string, readonly Value[]>>;
  readonly count: number;

  /** `found`: the row of `selectChanges`. */
  constructor(found: Readonly<Record<string, string>>) {
    const lists = Object.fromEntries(
      Object.entries(found).map(([name, text]) => [name, JSON.parse(text) as Value[]]),
    );
    const sums = (lists['feedback'] ?? []).map((text) => feedbackSums(text as string | null));
    for (const name of ['feedback_count', 'feedback_value', 'feedback_weight'] as const)
      lists[name] = sums.map((of) => of[name]);
    this.#lists = lists;
    this.count = lists['seq']?.length ?? 0;
  }

  list(name: string): readonly Value[] {
    return this.#lists[name] ?? [];
  }

  /** Number of the last row; null: there is none. */
  get last(): number | null {
    return (this.list('seq').at(-1) ?? null) as number | null;
  }

  get ids(): readonly string[] {
    return this.list('id') as readonly string[];
  }

  /** Those whose outcome was lost, with their numbers. */
  get unknown(): readonly { readonly seq: number; readonly id: string }[] {
    const [seqs, ids] = [this.list('seq'), this.ids];
    return this.list('state').flatMap((state, i) =>
      state === 0 ? [] : [{ seq: Number(seqs[i]), id: ids[i] ?? '' }],
    );
  }

  /** Every feedback, with the number of its row. */
  get feedback(): readonly { readonly seq: number; readonly value: number; readonly weight: number }[] {
    const seqs = this.list('seq');
    return this.list('feedback').flatMap((text, i) =>
      feedbackIn(text as string | null).map((one) => ({ seq: Number(seqs[i]), ...one })),
    );
  }
}
