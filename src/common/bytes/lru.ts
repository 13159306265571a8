/**
 * Options of an LRUCache that has at most so many entries. Its own `max` allocates arrays for all of them at once, 28
 * bytes an entry, which are paid for however few there ever are.
 */
export const atMost = (entries: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: entries,
  sizeCalculation: () => 1,
});
