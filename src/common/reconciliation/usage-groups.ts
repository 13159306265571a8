import { type Amount, printAmount } from './amounts.js';
import { csvField } from './csv.js';
import type { UsageLine } from './usage-line.js';

/** Sums of a day, key and model. */
export interface UsageGroup {
  readonly day: string;
  readonly key: string | null;
  readonly model: string | null;
  /** null: the export has no tokens. */
  input: number | null;
  output: number | null;
  /** null: the export has no costs. */
  cost: Amount | null;
}

/** A file with more is no export by day. */
const maxGroups = 200_000;
/** Characters of all names together. */
const maxNames = 64 * 1024 * 1024;

/** Adds lines up: memory grows with days, keys and models, not with lines. */
export class UsageGroups {
  readonly #groups = new Map<string, UsageGroup>();
  #names = 0;

  /** Throws an Error where there are too many groups. */
  add({ day, key, model, input, output, cost }: UsageLine): void {
    const name = `${day}\n${JSON.stringify(key)}\n${JSON.stringify(model)}`;
    const group = this.#groups.get(name);
    if (group === undefined) {
      this.#names += name.length;
      if (this.#groups.size >= maxGroups || this.#names > maxNames)
        throw new Error(
          `has more than ${maxGroups} combinations of a day, a key and a model: reconcile fewer days at a time`,
        );
      this.#groups.set(name, { day, key, model, input, output, cost });
      return;
    }
    group.input = plus(group.input, input);
    group.output = plus(group.output, output);
    group.cost = group.cost === null ? cost : group.cost + (cost ?? 0n);
  }

  get size(): number {
    return this.#groups.size;
  }

  /** In order of their days. */
  sorted(): UsageGroup[] {
    return [...this.#groups.values()].sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
  }
}

const plus = (sum: number | null, more: number | null): number | null =>
  sum === null ? more : sum + (more ?? 0);

export const genericHeader = 'date,model,key,input_tokens,output_tokens,cost_usd';

/** A group as a line of the generic shape. */
export const genericLine = ({ day, key, model, input, output, cost }: UsageGroup): string =>
  [
    day,
    csvField(model ?? ''),
    csvField(key ?? ''),
    input ?? '',
    output ?? '',
    cost === null ? '' : printAmount(cost),
  ].join(',');
