/** Limits of the dropped fields that are recorded of a request: a client may send any number of them, with names of any length. */
export const mostDropped = 100;
const longestDropped = 200;

/** The path of a dropped field, short enough for a header and for the row of the ledger. */
export const droppedPath = (path: string): string =>
  path.length > longestDropped ? `${path.slice(0, longestDropped - 1)}…` : path;
