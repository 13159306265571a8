import { fencedBlocks } from './fences.js';

/** What people write after the fence, by the names of formats. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  SQL: ['sql', 'mysql', 'postgresql', 'plsql', 'tsql', 'sqlite', 'psql'],
  Python: ['py', 'python', 'python3', 'py3', 'gyp', 'ipython'],
  TypeScript: ['ts', 'tsx', 'typescript', 'mts', 'cts'],
  JavaScript: ['js', 'jsx', 'javascript', 'mjs', 'cjs', 'node'],
  Java: ['java'],
  'C#': ['cs', 'csharp', 'c#'],
  'C++': ['cpp', 'c++', 'cc', 'cxx', 'hpp'],
  C: ['c', 'h'],
  Ruby: ['rb', 'ruby'],
  PHP: ['php'],
  Swift: ['swift'],
  Kotlin: ['kt', 'kotlin', 'kts'],
  Go: ['go', 'golang'],
  Rust: ['rs', 'rust'],
  Scala: ['scala', 'sc'],
  R: ['r', 'rscript'],
  Perl: ['pl', 'perl', 'pm'],
  Shell: ['sh', 'bash', 'zsh', 'shell', 'console', 'shell-session', 'ksh', 'fish'],
  HTML: ['html', 'htm', 'xhtml'],
  CSS: ['css', 'scss', 'less', 'sass'],
  XML: ['xml', 'xsd', 'xsl', 'svg'],
  JSON: ['json', 'json5', 'jsonc', 'jsonl'],
  YAML: ['yml', 'yaml'],
  Markdown: ['md', 'markdown'],
  Dockerfile: ['dockerfile', 'docker', 'containerfile'],
};

const formatOfAlias = new Map(
  Object.entries(aliases).flatMap(([format, names]) => names.map((name) => [name, format] as const)),
);

/** Marks of a language at the beginnings of lines. Each is found within a line's first 200 characters. */
const marks: Readonly<Record<string, readonly RegExp[]>> = {
  SQL: [
    /^(?:select\s.+\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|create\s+(?:table|index|view)\s)/i,
    /^(?:from|where|group by|order by|left join|inner join)\s/i,
  ],
  Python: [
    /^\s*def \w+\(.*\).*:\s*$/,
    /^\s*(?:elif .+|except\b.*|class \w+(?:\(.*\))?):\s*$/,
    /^(?:from [\w.]+ import |import \w+(?: as \w+)?$)/,
    /^if __name__ == /,
  ],
  TypeScript: [
    /^\s*(?:export )?(?:interface|type) \w+(?:<.+>)? ?[={]/,
    /^\s*(?:const|let|function)\s.*: (?:string|number|boolean|void|unknown|any)\b/,
    /^import type /,
  ],
  JavaScript: [
    /^\s*(?:const|let|var) \w+ = /,
    /^\s*(?:async )?function \w*\(/,
    /=>\s*\{?\s*$/,
    /console\.log\(/,
    /require\('/,
  ],
  Java: [
    /^\s*public (?:static |final |abstract )*(?:class|void|interface|int|String)\b/,
    /System\.out\.print/,
    /^import java/,
  ],
  'C#': [/^using System/, /^\s*namespace [\w.]+/, /Console\.Write/],
  'C++': [/^#include <\w+>\s*$/, /\bstd::/, /^\s*(?:template ?<|using namespace )/, /\bcout <</],
  C: [/^#include <\w+\.h>/, /\bprintf\(/, /^\s*(?:int|void|char) \*?\w+\(.*\)\s*\{?$/, /\bmalloc\(/],
  Ruby: [/^\s*def \w+[?!]?(?:\(.*\))?\s*$/, /^\s*end\s*$/, /^\s*(?:puts|require) /, /\bdo \|\w+\|/],
  PHP: [/<\?php/, /\$\w+ = .*;$/, /\becho\s.*;$/],
  Swift: [
    /^\s*(?:func \w+\(.*\) ->|guard let |if let |import (?:Foundation|SwiftUI|UIKit))/,
    /^\s*(?:let|var) \w+: [A-Z]\w+/,
  ],
  Kotlin: [/^\s*fun \w+\(/, /^\s*val \w+(?:: \w+)? = /, /^\s*(?:data|sealed|object) class /, /println\(/],
  Go: [/^package \w+\s*$/, /^func (?:\(\w+ \*?\w+\) )?\w+\(/, /\w+ := /, /\bfmt\.Print/],
  Rust: [
    /^\s*(?:pub )?fn \w+(?:<.+>)?\(.*\)/,
    /^\s*let mut /,
    /\bprintln!\(/,
    /^\s*(?:impl|use (?:std|crate)|#\[derive)/,
  ],
  Scala: [/^\s*(?:case class|object \w+|trait \w+)\b/, /^\s*def \w+(?:\(.*\))?: \w+ =/],
  R: [/<- (?:function\(|c\(|data\.frame)/, /^library\(\w+\)/, /%>%/],
  Perl: [/^use strict;/, /^\s*my [$@%]\w+/, /^#!.*perl/],
  Shell: [
    /^#!.*\/(?:ba|z|k)?sh/,
    /^\s*(?:fi|done|esac)\s*$/,
    /^\s*(?:\$ |sudo |apt-get |export \w+=|echo \$)/,
    /\bif \[\[? /,
  ],
  HTML: [
    /^\s*<!doctype html/i,
    /^\s*<(?:html|head|body|div|span|p|ul|table|script|form)\b.*>/i,
    /<\/(?:div|html|body|p|ul|table)>\s*$/i,
  ],
  CSS: [/^\s*[.#]?[\w-]+(?:[ ,>:.#][\w-]+)* \{\s*$/, /^\s*[a-z-]+: [^;{]+;\s*$/],
  XML: [/^<\?xml /, /^\s*<(\w+:)?\w+ xmlns/],
  JSON: [/^\s*"[^"]+":\s*(?:"|\d|\[|\{|true|false|null)/],
  YAML: [/^(?:apiVersion|kind|version|services|name|on|jobs): /, /^\s*- \w+: /, /^---\s*$/],
  Markdown: [/^#{1,6} \S/, /^\[.+\]\(.+\)/, /^\* \*\*/],
  Dockerfile: [/^FROM [\w./:-]+/, /^(?:RUN|CMD|ENTRYPOINT|COPY|WORKDIR|EXPOSE|ENV) \S/],
};

/** Lines of a block that are looked at, and characters of a line. */
const maxLines = 200;
const maxLine = 200;

/** The language with most marks; null: fewer than two, or none clearly. */
export function guessFormat(code: string): string | null {
  const trimmed = code.trim();
  if (/^[[{]/.test(trimmed) && /[\]}]$/.test(trimmed) && isJson(trimmed)) return 'JSON';
  const lines = trimmed.split('\n', maxLines).map((line) => line.slice(0, maxLine));
  let best: string | null = null;
  let [most, second] = [0, 0];
  for (const [format, patterns] of Object.entries(marks)) {
    const kinds = patterns.filter((pattern) => lines.some((line) => pattern.test(line))).length;
    const hits = patterns.reduce(
      (sum, pattern) => sum + lines.filter((line) => pattern.test(line)).length,
      0,
    );
    const points = kinds * 10 + Math.min(9, hits);
    if (points > most) [best, most, second] = [format, points, most];
    else if (points > second) second = points;
  }
  return most >= 11 && most > second ? best : null;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * The formats of the fenced code blocks of a text, each once, in their order: by the name after the fence, or guessed. A name
 * that is no format is given in lower case.
 */
export function codeFormats(text: string): readonly string[] {
  const found = new Set<string>();
  for (const { name, code } of fencedBlocks(text)) {
    const lower = name.toLowerCase();
    const format = name === '' ? guessFormat(code) : (formatOfAlias.get(lower) ?? lower);
    if (format !== null) found.add(format);
  }
  return [...found];
}
