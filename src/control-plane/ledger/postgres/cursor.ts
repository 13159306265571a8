/**
 * How far a follower has read: up to the row `n` of the transaction `tx`. `seen`: what was committed already when
 * following began, of transactions that are not below the oldest open one of that time: `<lowest>:<next>:<open,…>`, as
 * PostgreSQL writes a snapshot. As text `tx.n` or `tx.n~seen`; `0` is the beginning.
 */
export interface Cursor {
  readonly tx: string;
  readonly n: number;
  readonly seen: string | null;
}

/** Characters. A longer snapshot (of some hundred open transactions) is left out: what it shows is then read twice. */
const maxSeen = 1500;

export function parseCursor(text: string): Cursor {
  const [place = '0', seen] = text.split('~');
  const [tx = '0', n = '0'] = place.split('.');
  return {
    tx,
    n: Math.min(Number(n), 2 ** 31 - 1),
    seen: seen !== undefined && isSnapshot(seen) ? seen : null,
  };
}

/** PostgreSQL refuses a snapshot whose parts are not in order. */
function isSnapshot(text: string): boolean {
  const [, lowest, next, open = ''] = /^(\d{1,19}):(\d{1,19}):([\d,]*)$/.exec(text) ?? [];
  if (lowest === undefined || next === undefined) return false;
  const all = [lowest, ...(open === '' ? [] : open.split(',')), next].map(Number);
  return all.every((value, i) => value > 0 && (i === 0 || value >= all[i - 1]!));
}

export function cursorText({ tx, n, seen }: Cursor): string {
  return seen === null ? `${tx}.${n}` : `${tx}.${n}~${seen}`;
}

const lowestOf = (snapshot: string): string => snapshot.slice(0, snapshot.indexOf(':'));

/** Where to follow from, for one who has seen all that this snapshot shows. */
export function cursorAt(snapshot: string): Cursor {
  const [lowest, next] = snapshot.split(':');
  const isSimple = lowest === next || snapshot.length > maxSeen;
  return { tx: lowestOf(snapshot), n: 0, seen: isSimple ? null : snapshot };
}

/** The same after all rows below the oldest transaction that `snapshot` has open. */
export function cursorBelow(snapshot: string, { seen }: Cursor): Cursor {
  return without({ tx: lowestOf(snapshot), n: 0, seen });
}

/** Without what was seen, once no transaction of that time is ahead any more. */
export function without(cursor: Cursor): Cursor {
  const { seen, tx } = cursor;
  const next = seen?.split(':')[1];
  return next !== undefined && BigInt(tx) >= BigInt(next) ? { ...cursor, seen: null } : cursor;
}
