/** Calls `use` with each index from `from` to `to` at which the mark begins, in order. */
export function eachOccurrence(
  text: string,
  mark: string,
  from: number,
  to: number,
  use: (at: number) => void,
): void {
  // A search through all of a long text for each of its windows would take time in its square.
  const part = text.slice(from, to + mark.length - 1);
  for (let at = part.indexOf(mark); at !== -1; at = part.indexOf(mark, at + 1)) use(from + at);
}
