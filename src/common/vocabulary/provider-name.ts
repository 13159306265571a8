const letters = 'abcdefghijklmnopqrstuvwxyz0123456789-';

/**
 * The provider that `name` may have been meant to be, or null. The rows are known only by asking, so this asks for
 * everything one slip away: a letter too many, missing, wrong, or swapped with its neighbour, and for a name that is cut
 * short (`mistral`, `azure`) with its usual endings.
 */
export function nearestProvider(name: string, isProvider: (name: string) => boolean): string | null {
  const asked = name.trim().toLowerCase().replaceAll('_', '-').replaceAll(' ', '-');
  if (isProvider(asked)) return asked;
  if (asked.length > 32) return null;
  for (let i = 0; i <= asked.length; i++) {
    const before = asked.slice(0, i);
    const after = asked.slice(i);
    const rest = after.slice(1);
    if (after !== '' && isProvider(before + rest)) return before + rest;
    const swapped = before + rest.slice(0, 1) + after.slice(0, 1) + rest.slice(1);
    if (rest !== '' && isProvider(swapped)) return swapped;
    for (const letter of letters) {
      if (isProvider(before + letter + after)) return before + letter + after;
      if (after !== '' && isProvider(before + letter + rest)) return before + letter + rest;
    }
  }
  for (const ending of ['-openai', '-ai']) {
    if (isProvider(asked + ending)) return asked + ending;
  }
  return null;
}
