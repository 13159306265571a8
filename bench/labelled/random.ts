/** The same numbers for the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number, both ends included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)]!;
  }

  chars(length: number, alphabet: string): string {
    let text = '';
    while (text.length < length) text += alphabet[this.between(0, alphabet.length - 1)];
    return text;
  }

  digits(length: number): string {
    return this.chars(length, '0123456789');
  }

  /** Digits of which the first is not 0. */
  number(length: number): string {
    return this.chars(1, '123456789') + this.digits(length - 1);
  }
}

export const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
export const lower = upper.toLowerCase();
export const alnum = `${upper}${lower}0123456789`;
export const hex = '0123456789abcdef';
