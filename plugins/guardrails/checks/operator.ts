/** Which of the things that a check names must be there. */
export type Operator = 'any' | 'all' | 'none';

/** Those of the wanted ones that are there, and those that are not. */
export interface Found {
  readonly found: readonly string[];
  readonly missing: readonly string[];
  /** Is it as the operator has it? */
  readonly fits: boolean;
}

export function lookFor(wanted: readonly string[], operator: Operator, has: (one: string) => boolean): Found {
  const [found, missing]: [string[], string[]] = [[], []];
  for (const one of wanted) (has(one) ? found : missing).push(one);
  const fits =
    operator === 'any' ? found.length > 0 : operator === 'all' ? missing.length === 0 : found.length === 0;
  return { found, missing, fits };
}
