import { Buffer } from 'node:buffer';

/** Numbers from 0 to `below`, the same ones for the same seed. */
export type Random = (below: number) => number;

export function randomOf(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * below);
  };
}

const lower = 'abcdefghijkmnopqrstuvwxyz';
const mixed = `${lower}ABCDEFGHJKLMNPQRSTUVWXYZ23456789`;
const joints = [
  '',
  ' ',
  '-',
  '.',
  '@',
  ':',
  '/',
  ',',
  '\n',
  '"',
  '\\n',
  '=',
  '?mail=',
  '😀',
  '\u200b',
  '_',
  '; ',
];

/** Texts with made-up values of several kinds that touch, nest and overlap. No value is twice the same. */
export class OverlappingTexts {
  constructor(readonly random: Random) {}

  pick<T>(list: readonly T[]): T {
    return list[this.random(list.length)]!;
  }

  #word(length: number, alphabet = lower): string {
    return Array.from({ length }, () => alphabet[this.random(alphabet.length)]).join('');
  }

  #card(): string {
    const digits = [4, ...Array.from({ length: 14 }, () => this.random(10))];
    const sum = digits.reduce((all, digit, i) => all + (i % 2 === 1 ? digit : (2 * digit) % 9 || digit), 0);
    const all = [...digits, (10 - (sum % 10)) % 10].join('');
    return this.pick([
      all,
      all.replace(/(?<=\d)(?=(?:\d{4})+$)/g, ' '),
      all.replace(/(?<=\d)(?=(?:\d{4})+$)/g, '-'),
    ]);
  }

  #iban(): string {
    const account = Array.from({ length: 18 }, () => this.random(10)).join('');
    const check = 98n - (BigInt(`${account}131400`) % 97n);
    const all = `DE${String(check).padStart(2, '0')}${account}`;
    return this.pick([all, all.replace(/(.{4})(?=.)/g, '$1 ')]);
  }

  #email(): string {
    return `${this.#word(7)}.${this.#word(6)}@${this.#word(9)}.org`;
  }

  #token(): string {
    const encoded = (json: object): string => Buffer.from(JSON.stringify(json)).toString('base64url');
    return `${encoded({ alg: 'HS256', kid: this.#word(8) })}.${encoded({ sub: this.#email() })}.${this.#word(30, mixed)}`;
  }

  value(): string {
    return this.pick<() => string>([
      () => this.#card(),
      () => this.#iban(),
      () => this.#email(),
      () => this.#token(),
      () => `+49 171 ${1_000_000 + this.random(8_999_999)}`,
      () => `https://${this.#word(6)}:${this.#word(12, mixed)}@${this.#word(8)}.org/${this.#word(5)}`,
      () => `sk_live_${this.#word(24, mixed)}`,
      () => `password: ${this.#word(14, mixed)}`,
      () => `TK-${1_000_000 + this.random(8_999_999)}`,
    ])();
  }

  text(): string {
    const parts = [this.pick(['', 'My ', 'card ', '{"a":"', 'Bearer '])];
    for (let left = 1 + this.random(4); left > 0; left--) {
      const value = this.value();
      const at = this.random(4) === 0 ? this.random(value.length) : value.length;
      parts.push(
        value.slice(0, at),
        at < value.length ? this.value() : '',
        value.slice(at),
        this.pick(joints),
      );
    }
    return parts.join('') + this.pick(['', ' end', '.', '"}']);
  }
}
