import type { AnalyticsDatabase, Placeholders, SelectedFigures } from '../statements/dialect.js';
import { userName, valueColumn } from './value-columns.js';

/** One in `metadataSample` requests is sampled, and at least `leastTexts`; this part of their metadata may differ. */
const metadataSample = 64;
const leastTexts = 100;
const mostDifferent = 0.8;

/** A JSON pointer. */
const pointerTo = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** What statements read. */
interface FileTables {
  rows(statement: string, values: readonly string[]): Promise<readonly SelectedFigures[]>;
  rolledDays(first: number, last: number): Promise<readonly number[]>;
}

/** Statements for the file. `columns`: the numbers of the columns of metadata, by the names of the organisation that a question is about. */
export class DuckdbDialect implements AnalyticsDatabase {
  constructor(
    readonly file: FileTables,
    readonly columns: ReadonlyMap<string, number>,
  ) {}

  source(): string {
    return '(SELECT *, feedback_value / nullif(feedback_weight, 0) AS feedback_average FROM requests)';
  }

  scored(requests: string): string {
    return `(SELECT requests.*, given.value AS score FROM ${requests} JOIN feedback AS given ON given.seq = requests.seq) AS scores`;
  }

  divided(number: string, by: number): string {
    return `${number} // ${by}`;
  }

  metadataPairs(requests: string): string {
    const pairs = `json_transform(metadata, '"MAP(VARCHAR,VARCHAR)"')`;
    return `(SELECT * EXCLUDE (pairs), unnest(map_keys(pairs)) AS metadata_name, unnest(map_values(pairs)) AS metadata_value
      FROM (SELECT *, ${pairs} AS pairs FROM ${requests} WHERE metadata IS NOT NULL) AS requests) AS requests`;
  }

  /** Parsing JSON costs three times as much as grouping by its text, but texts that are all different do not fit into the memory. */
  async hasRepeatedMetadata(name: string, where: string, values: readonly string[]): Promise<boolean> {
    if (this.#columnOf(name) !== null) return false;
    const [row] = await this.rows(
      `SELECT CAST(count(metadata) AS DOUBLE) AS texts, CAST(approx_count_distinct(metadata) AS DOUBLE) AS different
        FROM ${this.source()} AS requests WHERE hash(seq) % ${metadataSample} = 0 AND ${where}`,
      values,
    );
    const texts = Number(row?.['texts']);
    return texts >= leastTexts && Number(row?.['different']) <= mostDifferent * texts;
  }

  #columnOf(name: string): string | null {
    if (name === userName) return 'user_name';
    const number = this.columns.get(name);
    return number === undefined ? null : valueColumn(number);
  }

  metadataValue(name: string, values: Placeholders): string {
    return this.#columnOf(name) ?? `json_extract_string(metadata, ${values.add(pointerTo(name))})`;
  }

  metadataHas(name: string, value: string, values: Placeholders): string {
    const is = `${this.metadataValue(name, values)} = ${values.add(value)}`;
    // A search for the text leaves few rows whose JSON has to be read.
    return this.#columnOf(name) === null && /^[\w .:/@+-]+$/.test(value)
      ? `contains(metadata, ${values.add(`"${value}"`)}) AND ${is}`
      : is;
  }

  usageKind(name: string): string {
    return `coalesce(TRY_CAST(json_extract_string(usage_kinds, '/${name}') AS BIGINT), 0)`;
  }

  usageTier(): string {
    return "json_extract_string(usage_kinds, '/tier')";
  }

  rolledDays(first: number, last: number): Promise<readonly number[]> {
    return this.file.rolledDays(first, last);
  }

  rows(statement: string, values: readonly string[]): Promise<readonly SelectedFigures[]> {
    return this.file.rows(statement, values);
  }
}
