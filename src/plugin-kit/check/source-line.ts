/**
 * The line, from 1, at which a source names the last member of a path such as `['errors', 'quota', 'status']`; each is looked
 * for after the one before. null: it does not name the first.
 */
export function lineOf(source: string, path: readonly string[]): number | null {
  const code = withoutComments(source);
  let at = 0;
  let found = -1;
  for (const member of path) {
    if (/^\d+$/.test(member)) continue;
    const name = member.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const named = new RegExp(`(?<![\\w$.-])(['"]?)${name}\\1\\s*[:(,}]`, 'g');
    named.lastIndex = at;
    const match = named.exec(code);
    if (match === null) break;
    found = match.index;
    at = named.lastIndex;
  }
  return found < 0 ? null : code.slice(0, found).split('\n').length;
}

/** The same text with blanks in the place of comments. */
const withoutComments = (source: string): string =>
  source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, (comment) => comment.replace(/[^\n]/g, ' '));
