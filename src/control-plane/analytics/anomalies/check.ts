import type { LedgerAlerts } from '../../../common/ledger/alerts.js';
import { allLogs } from '../../../common/ledger/log-filters.js';
import type { Analytics, SlotFigures } from '../question.js';
import { differences, dropSlots, emptySlot, type TrafficSlot } from './detector.js';

export interface AnomalyCheckOptions {
  readonly analytics: Analytics;
  readonly alerts: Pick<LedgerAlerts, 'writeAnomaly'>;
}

/** Arrival of its oldest and its newest request, in Unix milliseconds. */
export interface CheckedOrganisation {
  readonly org: string;
  readonly first: number;
  readonly last: number;
}

const minuteMs = 60_000;
export const slotMs = 5 * minuteMs;
const weekMs = 7 * 24 * 60 * minuteMs;
const slotsOfWeek = weekMs / slotMs;
/** Past weeks that are compared; so many at least. */
const mostWeeks = 4;
const leastWeeks = 2;
/** Slots before and after that of the same time, in each of these weeks. */
export const around = 12;
/** Rows of requests that ended this long ago are in the ledger. Milliseconds. */
const settledMs = 3000;
/** Without a request for so long, nothing is compared. Milliseconds. */
const idleMs = 60 * minuteMs;

/** Detects anomalies of the workspaces of an organisation, and stores them. Resolves with the number of new ones. */
export async function checkAnomalies(
  { analytics, alerts }: AnomalyCheckOptions,
  { org, first: oldest, last: newest }: CheckedOrganisation,
  now: number,
): Promise<number> {
  const origin = now - settledMs;
  const weeks = weeksBefore(origin, oldest);
  // Without enough history there is no query, and the analytics process is not started.
  if (newest < now - idleMs || weeks < leastWeeks) return 0;
  const past = Array.from({ length: weeks }, (_, i) => {
    const middle = -1 - (i + 1) * slotsOfWeek;
    return { first: middle - around, last: middle + around };
  });
  const found = await analytics.ask({
    kind: 'slots',
    sight: { org, workspaces: null, except: [], keys: null },
    filters: allLogs,
    width: slotMs,
    origin,
    stretches: [{ first: -dropSlots, last: -1 }, ...past],
  });
  const workspaces = new Map<string, Map<number, SlotFigures>>();
  for (const slot of found) {
    const own = workspaces.get(slot.workspace);
    if (own === undefined) workspaces.set(slot.workspace, new Map([[slot.slot, slot]]));
    else own.set(slot.slot, slot);
  }
  let written = 0;
  for (const [workspace, slots] of workspaces) {
    const first = Math.min(...slots.keys());
    const slotOf = (number: number): TrafficSlot => slots.get(number) ?? emptySlot;
    const recent = Array.from({ length: dropSlots }, (_, i) => slotOf(-1 - i));
    // A workspace may be younger than its organisation.
    const own = past.filter(({ last }) => last >= first);
    if (own.length < leastWeeks) continue;
    const samples = own.flatMap(({ first: from, last }) =>
      Array.from({ length: last - from + 1 }, (_, i) => from + i)
        .filter((number) => number >= first)
        .map(slotOf),
    );
    for (const difference of differences(recent, samples)) {
      const times = { from: origin - slotMs, to: origin };
      if (await alerts.writeAnomaly({ org, workspace, ...difference, ...times }, now)) written++;
    }
  }
  return written;
}

/** How many weeks before `origin` have requests to compare with. */
function weeksBefore(origin: number, first: number): number {
  const weeks = Math.floor((origin - first + (around + 1) * slotMs) / weekMs);
  return Math.max(0, Math.min(mostWeeks, weeks));
}
