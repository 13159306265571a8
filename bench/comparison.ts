/** What one server did of one kind of work: each figure with its values, one for each round. */
export interface BenchRow {
  readonly work: string;
  readonly server: string;
  /** A server that the gateway is measured against: what varies in it is the machine's doing. */
  readonly isFloor: boolean;
  readonly figures: Readonly<Record<string, readonly number[]>>;
}

/** A run of a benchmark, as its file holds it. */
export interface BenchRun {
  readonly command: string;
  readonly at: string;
  readonly version: string;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly options: Readonly<Record<string, string | number>>;
  readonly rows: readonly BenchRow[];
  /** Why the figures are not to be relied on; empty for a quiet machine. */
  readonly noisy: readonly string[];
}

/** A figure of a row in two runs. */
export interface Change {
  readonly work: string;
  readonly server: string;
  readonly figure: string;
  readonly before: number;
  readonly now: number;
  /** In percent of what it was. */
  readonly percent: number;
}

/** The share by which a floor may vary before the figures beside it say more of the machine than of the gateway. */
export const maxFloorVariation = 0.15;

/** The figure by which floors are compared, as its lines in a file are called. */
export const mainFigure = 'cpu_us';

/** Of an even number the upper one of the two in the middle, so that it is a value that was measured; 0 of none. */
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

const percent = (share: number): string => `${Math.round(share * 100)} %`;
const floors = (rows: readonly BenchRow[]): BenchRow[] => rows.filter(({ isFloor }) => isFloor);

/** The floors that varied too much over the rounds of a run, each in a sentence. */
export function variedFloors(rows: readonly BenchRow[]): string[] {
  const found: string[] = [];
  for (const { work, server, figures } of floors(rows)) {
    const values = figures[mainFigure] ?? [];
    const middle = median(values);
    if (middle === 0) continue;
    const variation = (Math.max(...values) - Math.min(...values)) / middle;
    if (variation > maxFloorVariation)
      found.push(`${server} varied by ${percent(variation)} between the rounds (${work})`);
  }
  return found;
}

/** The floors that cost another amount than in the run before, each in a sentence: so did the machine. */
export function movedFloors(before: readonly BenchRow[], now: readonly BenchRow[]): string[] {
  const found: string[] = [];
  for (const row of floors(now)) {
    const old = median(rowLike(before, row)?.figures[mainFigure] ?? []);
    const fresh = median(row.figures[mainFigure] ?? []);
    if (old === 0 || fresh === 0) continue;
    const variation = Math.abs(fresh - old) / Math.min(fresh, old);
    if (variation > maxFloorVariation)
      found.push(`${row.server} differs by ${percent(variation)} from the run before (${row.work})`);
  }
  return found;
}

/** Every figure that both runs have, in the order of the later one. */
export function changesBetween(before: readonly BenchRow[], now: readonly BenchRow[]): Change[] {
  const changes: Change[] = [];
  for (const row of now) {
    const old = rowLike(before, row);
    if (old === undefined) continue;
    for (const [figure, values] of Object.entries(row.figures)) {
      const [from, to] = [median(old.figures[figure] ?? []), median(values)];
      if (from === 0 || values.length === 0) continue;
      const { work, server } = row;
      changes.push({ work, server, figure, before: from, now: to, percent: ((to - from) / from) * 100 });
    }
  }
  return changes;
}

const rowLike = (rows: readonly BenchRow[], { work, server }: BenchRow): BenchRow | undefined =>
  rows.find((row) => row.work === work && row.server === server);
