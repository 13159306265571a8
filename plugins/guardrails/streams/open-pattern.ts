/** What is known of a regular expression before it runs. */
export interface PatternFacts {
  /** Source of an expression that also matches the beginnings of what the expression matches, at the end of the text only. */
  readonly open: string;
  /** Characters of the longest match; Infinity: there is none. */
  readonly longest: number;
  /** Ways in which it can match at one place at most. */
  readonly ways: number;
  /** Does it ask where the whole text begins or ends (`^`, `$`), or what a group has matched (`\1`)? */
  readonly looksFar: boolean;
}

/** The end of the text, whatever the flags. */
const end = '(?![^])';
const most = 1e9;

/** Facts about the source of a valid regular expression. `unicode`: has it the flag u or v? */
export const patternFacts = (source: string, unicode: boolean): PatternFacts =>
  new PatternReader(source, unicode).read();

class PatternReader {
  #at = 0;
  #looksFar = false;

  constructor(
    readonly source: string,
    readonly unicode: boolean,
  ) {}

  read(): PatternFacts {
    const { open, longest, ways } = this.#alternatives();
    return { open, longest, ways, looksFar: this.#looksFar };
  }

  #alternatives(): Omit<PatternFacts, 'looksFar'> {
    const all = [this.#sequence()];
    while (this.source[this.#at] === '|') {
      this.#at++;
      all.push(this.#sequence());
    }
    return {
      open: all.map(({ open }) => open).join('|'),
      longest: Math.max(...all.map(({ longest }) => longest)),
      ways: Math.min(
        most,
        all.reduce((sum, { ways }) => sum + ways, 0),
      ),
    };
  }

  #sequence(): Omit<PatternFacts, 'looksFar'> {
    let [open, longest, ways] = ['', 0, 1];
    while (this.#at < this.source.length && !'|)'.includes(this.source[this.#at]!)) {
      const item = this.#item();
      open += item.open;
      longest += item.longest;
      ways = Math.min(most, ways * item.ways);
    }
    return { open, longest, ways };
  }

  /** An atom with its quantifier. */
  #item(): Omit<PatternFacts, 'looksFar'> {
    const atom = this.#atom();
    const written = /^(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/.exec(this.source.slice(this.#at, this.#at + 24));
    if (written === null) return atom;
    this.#at += written[0].length;
    const [sign] = written[0];
    const from = sign === '+' ? 1 : Number(written[1] ?? 0);
    const none = sign === '*' || sign === '+' || (written[2] !== undefined && written[3] === '');
    const to = none ? Number.POSITIVE_INFINITY : sign === '?' ? 1 : Number(written[3] ?? written[1]);
    return {
      open: atom.open + written[0],
      longest: to === 0 || atom.longest === 0 ? 0 : atom.longest * to,
      ways: waysOf(atom.ways, from, to),
    };
  }

  #atom(): Omit<PatternFacts, 'looksFar'> {
    const { source } = this;
    const from = this.#at;
    const char = source[from]!;
    if (char === '(') return this.#group();
    if (char === '^' || char === '$') {
      this.#at++;
      this.#looksFar = true;
      return { open: char === '$' ? '(?:)' : char, longest: 0, ways: 1 };
    }
    if (char === '[') this.#at = this.#classEnd();
    else if (char === '\\')
      this.#at +=
        /^\\(?:u\{[^}]*\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|c[A-Za-z]|[pP]\{[^}]*\}|k<[^>]*>|\d+|[\s\S])/u.exec(
          source.slice(from),
        )![0].length;
    else this.#at += this.unicode ? String.fromCodePoint(source.codePointAt(from)!).length : 1;
    const text = source.slice(from, this.#at);
    if (/^\\[bB]$/.test(text)) return { open: `(?:${text}|${end})`, longest: 0, ways: 1 };
    const isBack = /^\\(?:[1-9]|k<)/.test(text);
    if (isBack) this.#looksFar = true;
    // A character outside of the first plane is two units.
    const longest = isBack
      ? 8
      : this.unicode && !/^(?:[ -[\]-~]|\\[dwsnrt.\\/()[\]{}+*?|^$-])$/.test(text)
        ? 2
        : 1;
    return { open: `(?:${text}|${end})`, longest, ways: 1 };
  }

  #group(): Omit<PatternFacts, 'looksFar'> {
    const from = this.#at;
    const head = /^\((?:\?(?:[:=!]|<[=!]|<[^>]*>|[a-z-]+:))?/.exec(this.source.slice(from, from + 256))![0];
    this.#at += head.length;
    const inner = this.#alternatives();
    this.#at++;
    if (head === '(?=') return { open: `(?=${inner.open})`, longest: 0, ways: inner.ways };
    // What must not follow or precede is not yet known, or known for good.
    if (head === '(?!' || head === '(?<=' || head === '(?<!')
      return { open: this.source.slice(from, this.#at), longest: 0, ways: inner.ways };
    return { ...inner, open: `${head}${inner.open})` };
  }

  #classEnd(): number {
    let depth = 0;
    for (let at = this.#at; ; at++) {
      const char = this.source[at];
      if (char === undefined) return at;
      if (char === '\\') at++;
      else if (char === '[') depth = this.unicode ? depth + 1 : 1;
      else if (char === ']' && --depth === 0) return at + 1;
    }
  }
}

function waysOf(ways: number, from: number, to: number): number {
  if (ways === 1) return Math.min(most, to - from + 1);
  return Math.min(most, (to - from + 1) * ways ** Math.min(to, 64));
}
