import { type ChargedCounter, changingCount, counterNames } from './charge-statements.js';
import type { KnownBudget, KnownBudgets } from './known-budgets.js';

/** What the row of a charge has. */
export interface ChargePlace {
  readonly org: string;
  readonly workspace: string | null;
  /** Empty: an earlier version wrote the row. */
  readonly node: string;
  /** Since 1970. */
  readonly hour: number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The course of shorter periods is kept by the hour, that of others by the day. */
const longestByHour = 8 * dayMs;

/** Where in the course of a period something belongs: the start of an hour or a day (UTC). */
export function courseAt(at: number, startsAt: number, endsAt: number | null): number {
  const width = courseWidth(startsAt, endsAt);
  return Math.floor(Math.max(at, startsAt) / width) * width;
}

export const courseWidth = (startsAt: number, endsAt: number | null): number =>
  endsAt !== null && endsAt - startsAt <= longestByHour ? hourMs : dayMs;

const most = Number.MAX_SAFE_INTEGER;

/** The charges of a batch, added up by counter. */
export class ChargeSums {
  readonly #budgets = new Map<string, SummedBudget | null>();
  readonly counters: SummedCounter[] = [];

  constructor(readonly known: KnownBudgets) {}

  /** `charge`: as the journal has it, nothing about it is sure; `sign`: -1 where it is taken back. In the order of the rows. null: it is none. */
  add(place: ChargePlace, charge: unknown, sign: 1 | -1): SummedCounter | null {
    if (!Array.isArray(charge) || typeof charge[0] !== 'string') return null;
    const startsAt = whole(charge[1]);
    const amount = whole(charge[5]);
    if (startsAt === null || whole(charge[3]) === null || amount === null) return null;
    let budget = this.#budgets.get(charge[0]);
    if (budget === undefined) {
      const known = this.known.get(charge[0]);
      budget = known === null ? null : { known, periods: new Map() };
      this.#budgets.set(charge[0], budget);
    }
    // What a disk made up is of no budget.
    if (budget === null || budget.known.name.org !== place.org) return null;
    let counter = budget.periods.get(startsAt);
    if (counter === undefined) {
      counter = new SummedCounter(budget.known, startsAt, place.workspace);
      budget.periods.set(startsAt, counter);
      this.counters.push(counter);
    }
    counter.setTerms(charge);
    counter.add(place.node, place.hour, sign * amount);
    return counter;
  }
}

interface SummedBudget {
  readonly known: KnownBudget;
  readonly periods: Map<number, SummedCounter>;
}

export class SummedCounter {
  used = 0;
  endsAt: number | null = null;
  limit = 0;
  threshold: number | null = null;
  readonly byNode = new Map<string, number>();
  readonly byHour = new Map<number, number>();

  constructor(
    readonly known: KnownBudget,
    readonly startsAt: number,
    readonly workspace: string | null,
  ) {}

  /** Of a charge: those of the last row are those of the counter. */
  setTerms(charge: readonly unknown[]): void {
    this.endsAt = whole(charge[2]);
    this.limit = whole(charge[3]) ?? 0;
    this.threshold = whole(charge[4]);
  }

  add(node: string, hour: number, amount: number): void {
    this.used = within(this.used + amount);
    addAmount(this.byNode, node, amount);
    addAmount(this.byHour, hour, amount);
  }

  get row(): ChargedCounter {
    const { known, workspace, startsAt, endsAt, limit, threshold, used } = this;
    return { ...known.name, workspace, starts_at: startsAt, ends_at: endsAt, limit, threshold, used };
  }

  get key(): string {
    return `${this.known.name.id} ${this.startsAt}`;
  }

  get isWritten(): boolean {
    return this.known.written.get(this.startsAt) === this.endsAt;
  }

  /** In the order of the columns. */
  values(isWhole: boolean): unknown[] {
    const { known, startsAt, used, limit, threshold } = this;
    const changing = [known.name.id, startsAt, used, limit, threshold];
    if (!isWhole) return changing;
    const { row } = this;
    return [...changing, ...counterNames.slice(changingCount).map((name) => row[name])];
  }

  get course(): Map<number, number> {
    const course = new Map<number, number>();
    for (const [hour, used] of this.byHour)
      addAmount(course, courseAt(hour * hourMs, this.startsAt, this.endsAt), used);
    return course;
  }
}

function addAmount<Key>(sums: Map<Key, number>, key: Key, amount: number): void {
  sums.set(key, within((sums.get(key) ?? 0) + amount));
}

/** What a column of 64 bits takes, and a number has exactly. */
const within = (amount: number): number => Math.max(-most, Math.min(most, amount));

/** null: this is no number. */
const whole = (value: unknown): number | null =>
  typeof value === 'number' ? within(Number.isInteger(value) ? value : Math.round(value)) : null;
