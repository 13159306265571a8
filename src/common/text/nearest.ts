/** The known word closest to `word`, or null where none is close enough to be what was meant. */
export function nearest(word: string, known: Iterable<string>): string | null {
  const asked = word.toLowerCase();
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(asked.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(asked, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The same, and for a name that is cut short (`mistral`) the known one that begins with it (`mistral-ai`). */
export function nearestName(name: string, known: Iterable<string>): string | null {
  const names = [...known];
  const begun = `${name.toLowerCase()}-`;
  return nearest(name, names) ?? (name === '' ? null : (names.find((one) => one.startsWith(begun)) ?? null));
}

/** Letters to insert, drop, replace or swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      }
      next.push(cost);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
