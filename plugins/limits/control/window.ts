/** Parts that a window is counted in: what was taken in one is free again when the whole window after it has passed. */
export const slotsPerWindow = 60;

/**
 * What was taken in a window that moves with the clock. No span of the window's length ever holds more than was
 * allowed: a part of the window that the span only touches counts in full.
 */
export class Window {
  /** Numbers of slots, oldest first, and what was taken in each. */
  #slots: number[];
  #counts: number[];
  #sum: number;
  readonly slotMs: number;

  constructor(
    readonly windowMs: number,
    kept: readonly (readonly [slot: number, count: number])[] = [],
  ) {
    this.slotMs = windowMs / slotsPerWindow;
    this.#slots = kept.map(([slot]) => slot);
    this.#counts = kept.map(([, count]) => count);
    this.#sum = this.#counts.reduce((sum, count) => sum + count, 0);
  }

  slotAt(now: number): number {
    return Math.floor(now / this.slotMs);
  }

  /** Milliseconds until the slot ends. */
  left(slot: number, now: number): number {
    return (slot + 1) * this.slotMs - now;
  }

  /** What is taken in every window that contains `now`, Unix milliseconds. */
  sum(now: number): number {
    this.#forget(this.slotAt(now));
    return this.#sum;
  }

  /** `amount` below 0: it was not used. What is past the window is left out. */
  add(slot: number, amount: number): void {
    const at = this.#slots.lastIndexOf(slot);
    if (at >= 0) {
      const next = Math.max(0, this.#counts[at]! + amount);
      this.#sum += next - this.#counts[at]!;
      this.#counts[at] = next;
    } else if (amount > 0) {
      const after = this.#slots.findIndex((other) => other > slot);
      const place = after < 0 ? this.#slots.length : after;
      this.#slots.splice(place, 0, slot);
      this.#counts.splice(place, 0, amount);
      this.#sum += amount;
    }
  }

  /** When `amount` is free within `value`, Unix milliseconds; null: never. */
  freeAt(amount: number, value: number): number | null {
    if (amount > value) return null;
    let over = this.#sum + amount - value;
    for (let i = 0; i < this.#slots.length; i++) {
      if (over <= 0) break;
      over -= this.#counts[i]!;
      if (over <= 0) return (this.#slots[i]! + slotsPerWindow + 1) * this.slotMs;
    }
    return 0;
  }

  /** Is nothing counted any more? */
  isOver(now: number): boolean {
    return this.sum(now) === 0;
  }

  toJSON(): (readonly [number, number])[] {
    return this.#slots.map((slot, i) => [slot, this.#counts[i]!] as const);
  }

  /** The oldest slot that counts is the one that the window before `current`'s end still touches. */
  #forget(current: number): void {
    let over = 0;
    while (over < this.#slots.length && this.#slots[over]! < current - slotsPerWindow) over++;
    if (over === 0) return;
    for (let i = 0; i < over; i++) this.#sum -= this.#counts[i]!;
    this.#slots = this.#slots.slice(over);
    this.#counts = this.#counts.slice(over);
  }
}
