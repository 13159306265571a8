import type { Case, KindFacts } from './cases.js';

export interface FoundValue {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

export interface Row {
  readonly kind: string;
  cases: number;
  found: number;
  /** Values of this kind that were reported where there is none. */
  falseAlarms: number;
}

export interface Score {
  readonly rows: readonly Row[];
  /** Texts with a value that was not found, or with one that is none. */
  readonly mistakes: readonly string[];
}

/** Compares what was found with the labels. A value counts as found where all of it was reported, by its kind. */
export function score(cases: readonly Case[], find: (text: string) => readonly FoundValue[]): Score {
  const rows = new Map<string, Row>();
  const row = (kind: string): Row => {
    const own = rows.get(kind) ?? { kind, cases: 0, found: 0, falseAlarms: 0 };
    rows.set(kind, own);
    return own;
  };
  const mistakes: string[] = [];
  for (const { text, value } of cases) {
    const found = find(text);
    const hit =
      value === null
        ? undefined
        : found.find(
            ({ kind, start, end }) => kind === value.kind && start <= value.start && end >= value.end,
          );
    if (value !== null) {
      row(value.kind).cases++;
      if (hit !== undefined) row(value.kind).found++;
      else mistakes.push(`missed ${value.kind}: ${text}`);
    }
    for (const each of found) {
      if (each === hit) continue;
      row(each.kind).falseAlarms++;
      mistakes.push(`no ${each.kind} ${JSON.stringify(text.slice(each.start, each.end))}: ${text}`);
    }
  }
  return { rows: [...rows.values()].sort((a, b) => a.kind.localeCompare(b.kind)), mistakes };
}

export interface Totals {
  readonly cases: number;
  readonly precision: number;
  readonly recall: number;
}

export function totals(rows: readonly Row[]): Totals {
  const sum = (of: (row: Row) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const [cases, found, wrong] = [
    sum(({ cases }) => cases),
    sum(({ found }) => found),
    sum(({ falseAlarms }) => falseAlarms),
  ];
  return {
    cases,
    precision: found + wrong === 0 ? 1 : found / (found + wrong),
    recall: cases === 0 ? 1 : found / cases,
  };
}

/** The rows of kinds that fit, by what is known of them. */
export const rowsWhere = (
  rows: readonly Row[],
  facts: ReadonlyMap<string, KindFacts>,
  fits: (facts: KindFacts) => boolean,
): readonly Row[] =>
  rows.filter(({ kind }) => fits(facts.get(kind) ?? { isChecked: false, isPatterned: true }));
