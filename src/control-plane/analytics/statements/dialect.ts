/** A database that questions are put to, in SQL that DuckDB and PostgreSQL share. */
export interface AnalyticsDatabase {
  /** What to select from: a row for each request, with the columns of `requestColumns`. */
  source(): string;
  /** A subquery of requests with a row for each feedback on them, whose value is `score`. */
  scored(requests: string): string;
  /** Expression: a whole number, 0 at least, divided by another and rounded down. */
  divided(number: string, by: number): string;
  /** A subquery of requests with a row for each name and value of their metadata: `metadata_name`, `metadata_value`. */
  metadataPairs(requests: string): string;
  /** To group by the values of a name, is it faster to group by the whole text of the metadata first? `where`: which requests. Absent: never. */
  hasRepeatedMetadata?(name: string, where: string, values: readonly string[]): Promise<boolean>;
  /** Expression: the value that the metadata has under a name; null: none. */
  metadataValue(name: string, values: Placeholders): string;
  /** Expression: has the metadata this value under a name? */
  metadataHas(name: string, value: string, values: Placeholders): string;
  /** Expression: how much of a kind a request used, of `UsageKinds`. */
  usageKind(name: string): string;
  /** Expression: its service tier; null: the usual one. */
  usageTier(): string;
  /** The days from the first to the last whose rollups are as the requests are, ascending. */
  rolledDays(first: number, last: number, kind: RolledKind): Promise<readonly number[]>;
  /** The first days of the weeks between these days that have rollups as their days do, ascending. Absent: there are none. */
  rolledWeeks?(first: number, last: number): Promise<readonly number[]>;
  rows(statement: string, values: readonly string[]): Promise<readonly SelectedFigures[]>;
}

/** Rollups of what requests can be grouped by, or of values of metadata. */
export type RolledKind = 'groups' | 'values';

export type SelectedFigures = Readonly<Record<string, number | string | null>>;

/** Texts of a statement, by placeholders. Numbers are part of the statement itself. */
export class Placeholders {
  readonly list: string[] = [];

  /** The placeholder of a text. */
  add(text: string): string {
    this.list.push(text);
    return `$${this.list.length}`;
  }

  /** `column IN ($1, $2)`; of no values: nothing matches. */
  in(column: string, texts: readonly string[]): string {
    return texts.length === 0 ? 'false' : `${column} IN (${texts.map((text) => this.add(text)).join(', ')})`;
  }
}

/** A sum as a number that every driver gives as one. */
export const number = (expression: string): string => `CAST(${expression} AS DOUBLE PRECISION)`;
