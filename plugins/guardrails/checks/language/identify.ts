import { arabic, cyrillic, devanagari, latin } from './words.js';

/** A language with its script, as in `eng_Latn`, and how sure it is: 0 to 1. */
export interface IdentifiedLanguage {
  readonly code: string;
  readonly confidence: number;
}

/** Characters that are read: the beginning of a long text is in its language. */
const maxLength = 8192;

type Script =
  | 'Latn'
  | 'Cyrl'
  | 'Arab'
  | 'Deva'
  | 'Hani'
  | 'Kana'
  | 'Hang'
  | 'Thai'
  | 'Hebr'
  | 'Beng'
  | 'Grek'
  | 'Taml'
  | 'Telu'
  | 'Knda';

/** Blocks of Unicode, from and to. */
const blocks: readonly (readonly [number, number, Script])[] = [
  [0x41, 0x5a, 'Latn'],
  [0x61, 0x7a, 'Latn'],
  [0xc0, 0x24f, 'Latn'],
  [0x370, 0x3ff, 'Grek'],
  [0x400, 0x52f, 'Cyrl'],
  [0x590, 0x5ff, 'Hebr'],
  [0x600, 0x6ff, 'Arab'],
  [0x900, 0x97f, 'Deva'],
  [0x980, 0x9ff, 'Beng'],
  [0xb80, 0xbff, 'Taml'],
  [0xc00, 0xc7f, 'Telu'],
  [0xc80, 0xcff, 'Knda'],
  [0xe00, 0xe7f, 'Thai'],
  [0x1e00, 0x1eff, 'Latn'],
  [0x3040, 0x30ff, 'Kana'],
  [0x3400, 0x9fff, 'Hani'],
  [0xac00, 0xd7af, 'Hang'],
];

const scriptOf = (code: number): Script | null => {
  for (const [from, to, script] of blocks) if (code >= from && code <= to) return script;
  return null;
};

/** Scripts of one language each. */
const languageOfScript: Partial<Record<Script, string>> = {
  Hang: 'kor_Hang',
  Thai: 'tha_Thai',
  Hebr: 'heb_Hebr',
  Beng: 'ben_Beng',
  Grek: 'ell_Grek',
  Taml: 'tam_Taml',
  Telu: 'tel_Telu',
  Knda: 'kan_Knda',
  Kana: 'jpn_Jpan',
};

interface Model {
  /** For each word the languages that have it. */
  readonly words: ReadonlyMap<string, readonly string[]>;
  readonly letters: ReadonlyMap<string, readonly string[]>;
  readonly codes: readonly string[];
}

function modelOf(table: typeof latin): Model {
  const words = new Map<string, string[]>();
  const letters = new Map<string, string[]>();
  const add = (map: Map<string, string[]>, key: string, code: string): void => {
    const own = map.get(key) ?? [];
    if (!own.includes(code)) own.push(code);
    map.set(key, own);
  };
  for (const [code, vocabulary] of Object.entries(table)) {
    for (const word of vocabulary.words.split(' ')) add(words, word, code);
    for (const letter of vocabulary.letters) add(letters, letter, code);
  }
  return { words, letters, codes: Object.keys(table) };
}

const models: Partial<Record<Script, Model>> = {
  Latn: modelOf(latin),
  Cyrl: modelOf(cyrillic),
  Arab: modelOf(arabic),
  Deva: modelOf(devanagari),
};

const simplified = /[们个这来说时会对国学没还过发经动现样为电开问关门车马长东书买见语话钱]/g;
const traditional = /[們個這來說時會對國學沒還過發經動現樣為電開問關門車馬長東書買見語話錢]/g;

/** The language of a text, by its script, frequent words and letters. null: it has too few words that are known. */
export function identifyLanguage(text: string): IdentifiedLanguage | null {
  const part = text.slice(0, maxLength).normalize('NFC');
  const counts = new Map<Script, number>();
  let total = 0;
  for (let at = 0; at < part.length; at++) {
    const script = scriptOf(part.charCodeAt(at));
    if (script === null) continue;
    // One character of these is about a word's worth of letters.
    const weight = script === 'Hani' || script === 'Kana' || script === 'Hang' ? 3 : 1;
    counts.set(script, (counts.get(script) ?? 0) + weight);
    total += weight;
  }
  if (total === 0) return null;
  const hani = counts.get('Hani') ?? 0;
  const kana = counts.get('Kana') ?? 0;
  // Japanese is written with Chinese characters too; Chinese has no kana.
  if (kana > 0 && hani + kana > total / 2 && kana >= hani / 20)
    return { code: 'jpn_Jpan', confidence: (hani + kana) / total };
  const [script, most] = [...counts].reduce((best, one) => (one[1] > best[1] ? one : best));
  if (script === 'Hani') {
    const old = (part.match(traditional)?.length ?? 0) > (part.match(simplified)?.length ?? 0);
    return { code: old ? 'zho_Hant' : 'zho_Hans', confidence: most / total };
  }
  const only = languageOfScript[script];
  if (only !== undefined) return { code: only, confidence: most / total };
  const model = models[script];
  return model === undefined ? null : byWords(part.toLowerCase(), model);
}

const word = /[\p{L}\p{M}'’]+/gu;

function byWords(text: string, { words, letters, codes }: Model): IdentifiedLanguage | null {
  const points = new Map<string, number>(codes.map((code) => [code, 0]));
  const give = (to: readonly string[], weight: number): void => {
    for (const code of to) points.set(code, points.get(code)! + weight);
  };
  let known = 0;
  for (const [found] of text.matchAll(word)) {
    const owners = words.get(found.replaceAll('’', "'"));
    if (owners === undefined) continue;
    known++;
    // A word of one language alone counts most; one letter counts least.
    give(owners, (found.length === 1 ? 0.4 : 1) * (1 + 2 / owners.length));
  }
  for (const char of text) {
    const owners = letters.get(char);
    if (owners !== undefined) give(owners, 1.2 / owners.length);
  }
  const [first, second] = [...points].sort((a, b) => b[1] - a[1]);
  if (first === undefined || first[1] < 1.4 || (known === 0 && first[1] < 3)) return null;
  return { code: first[0], confidence: Math.min(1, (first[1] - (second?.[1] ?? 0)) / first[1] + 0.3) };
}
