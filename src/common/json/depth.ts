/** Is anything in the value nested in more than `levels` objects and lists? Not recursive. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level = new Set([value]);
  for (let depth = 0; level.size > 0; depth++) {
    // A set: what YAML's aliases repeat, or lead back to, is in it once.
    const inner = new Set<unknown>();
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      if (depth === levels) return true;
      for (const key of Object.keys(one)) inner.add((one as Record<string, unknown>)[key]);
    }
    level = inner;
  }
  return false;
}
