/** The digits of a text, in their order; other characters are left out. */
export function digitsOf(text: string): number[] {
  const digits: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit >= 0 && digit <= 9) digits.push(digit);
  }
  return digits;
}

/** Luhn's check of payment cards: from the right, each second digit doubled, the sum a multiple of 10. */
export function luhn(digits: readonly number[]): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = digits[digits.length - 1 - i]!;
    const doubled = i % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** The sum of digits, each times its weight. */
export const weighted = (digits: readonly number[], weights: readonly number[]): number =>
  weights.reduce((sum, weight, index) => sum + weight * (digits[index] ?? 0), 0);

const dihedral = [
  '0123456789',
  '1234067895',
  '2340178956',
  '3401289567',
  '4012395678',
  '5987604321',
  '6598710432',
  '7659821043',
  '8765932104',
  '9876543210',
].map((row) => [...row].map(Number));
const permutation = [
  '0123456789',
  '1576283094',
  '5803796142',
  '8916043527',
  '9453126870',
  '4286573901',
  '2793806415',
  '7046913258',
].map((row) => [...row].map(Number));

/** Verhoeff's check, in the dihedral group of order 10. */
export function verhoeff(digits: readonly number[]): boolean {
  let check = 0;
  for (let i = 0; i < digits.length; i++)
    check = dihedral[check]![permutation[i % 8]![digits[digits.length - 1 - i]!]!]!;
  return check === 0;
}

/** ISO 7064, modulus 97: letters count as 10 to 35. The remainder of the whole number. */
export function remainder97(text: string): number {
  let rest = 0;
  for (const char of text) {
    const value = Number.parseInt(char, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest;
}

/** ISO 7064, modulus 11 and 10, the check digit last. */
export function mod11and10(digits: readonly number[]): boolean {
  let product = 10;
  for (const digit of digits.slice(0, -1)) {
    const sum = (digit + product) % 10 || 10;
    product = (2 * sum) % 11;
  }
  return (11 - product) % 10 === digits.at(-1);
}

const daysOf = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Could it be a day? 29 February counts in every year. */
export const isDay = (month: number, day: number): boolean => day >= 1 && day <= (daysOf[month - 1] ?? 0);
