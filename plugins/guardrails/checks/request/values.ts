export type Operator = 'all' | 'any' | 'none';

export const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Are as many there as the operator wants? */
export const fits = (operator: Operator, found: number, wanted: number): boolean =>
  operator === 'none' ? found === 0 : operator === 'any' ? found > 0 : found === wanted;
