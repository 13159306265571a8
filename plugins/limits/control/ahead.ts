/** A worker's part in a counter: what it was granted beyond its requests, and how often it has asked of late. */
export interface Share {
  slot: number;
  asked: number;
  extra: number;
}

/** Most requests for which a worker is granted permits ahead. */
const mostAhead = 4096;
/** Of what is left, each worker is granted at most this part of its equal share ahead. */
export const sharePart = 8;

/** A worker's share, for one more question in this slot. */
export function shareOf(shares: Map<number, Share>, worker: number, slot: number): Share {
  let share = shares.get(worker);
  if (share === undefined) {
    share = { slot, asked: 0, extra: 0 };
    shares.set(worker, share);
  } else if (share.slot !== slot) {
    // What it was granted in an earlier slot counts until it gives it back.
    share.slot = slot;
    share.asked = 0;
  }
  share.asked++;
  return share;
}

/** None for the first question in a slot, twice as many with each that follows. */
export const aheadOf = (amount: number, { asked }: Share): number =>
  amount * Math.min(2 ** (asked - 1) - 1, mostAhead);
