/** Dollars as whole numbers of 10^-18: sums of them are exact. */
export type Amount = bigint;

const digits = 18;
const unit = 10n ** BigInt(digits);
/** 10^-18 dollars in a picodollar. */
const perPico = 1_000_000n;

/** Longer ones are no amounts. */
const maxText = 60;

/**
 * Dollars from decimal text, with or without an exponent. Digits beyond the eighteenth after the point are rounded half away
 * from zero. null: it is no decimal number.
 */
export function parseAmount(text: string): Amount | null {
  const found =
    text.length > maxText ? null : /^\s*([+-]?)\$?(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,2}))?\s*$/.exec(text);
  if (found === null) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = found;
  const places = fraction.length - Number(exponent);
  let value = BigInt(whole + fraction);
  if (places <= digits) value *= 10n ** BigInt(digits - places);
  else {
    const beyond = 10n ** BigInt(places - digits);
    value = (2n * value + beyond) / (2n * beyond);
  }
  return sign === '-' ? -value : value;
}

export const amountOfPicos = (picos: bigint): Amount => picos * perPico;

/** As decimal text, with as many digits as it needs. */
export function printAmount(amount: Amount): string {
  const size = amount < 0n ? -amount : amount;
  const fraction = (size % unit).toString().padStart(digits, '0').replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${size / unit}${fraction === '' ? '' : `.${fraction}`}`;
}

export const absolute = (amount: Amount): Amount => (amount < 0n ? -amount : amount);
