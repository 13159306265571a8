/** A counted repeat at this place: `{3}`, `{3,}` or `{3,5}`. */
const repeat = /\{(\d+)(,(\d*))?\}/y;
/** One escape, with what belongs to it. A quotation reaches to its end. */
const escaped = /\\(?:Q[\s\S]*?(?:\\E|$)|[pPx]\{[^}]*\}?|[pP]?[\s\S])/y;
/** A class of Unicode's: of several hundred ranges, each looked through for every character. */
const unicode = /\\[pP]/g;
const unicodeWeight = 20;
/** A whole set of characters. */
const set = /\[\^?\]?(?:\\[\s\S]|\[:[\s\S]*?:\]|[^\]\\])*\]/y;

/**
 * How large a pattern in RE2's syntax is: about the instructions that it compiles to, every counted repeat written
 * out. Known before it is compiled, since `((a{1000}){1000}){1000}` would never be done.
 */
export function estimateSize(pattern: string): number {
  const groups: number[] = [];
  let total = 0;
  /** Of what a repeat would repeat. */
  let last = 0;
  for (let i = 0; i < pattern.length; ) {
    const matched = (at: RegExp): RegExpExecArray | null => {
      at.lastIndex = i;
      return at.exec(pattern);
    };
    const counted = matched(repeat);
    if (counted !== null) {
      const [text, least, open, most] = counted;
      const times = open === undefined ? Number(least) : most === '' ? Number(least) + 1 : Number(most);
      total += last * Math.max(0, times - 1);
      last *= Math.max(1, times);
      i += text.length;
      continue;
    }
    const unit = matched(escaped) ?? matched(set);
    const char = pattern[i]!;
    if (unit !== null) {
      last = sizeOf(unit[0]);
      total += last;
    } else if (char === '(') {
      groups.push(total);
      total = 0;
      last = 0;
    } else if (char === ')' && groups.length > 0) {
      last = total + 2;
      total = groups.pop()! + last;
    } else {
      last = 1;
      total++;
    }
    i += unit?.[0].length ?? 1;
  }
  return groups.reduce((sum, group) => sum + group, total);
}

function sizeOf(unit: string): number {
  if (unit.startsWith('\\Q')) return unit.length;
  return 1 + (unit.match(unicode)?.length ?? 0) * unicodeWeight;
}
