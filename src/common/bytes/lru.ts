/**
 * Options of an LRUCache with at most `entries` entries. Its own `max` allocates arrays for all of them at once, 28
 * bytes an entry, even if there are few.
 */
export const atMost = (entries: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: entries,
  sizeCalculation: () => 1,
});
