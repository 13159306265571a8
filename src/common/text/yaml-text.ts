/** Of the package `yaml`, which its callers load when they need it. */
type Yaml = typeof import('yaml');

/** Words, marks and line ends of a text. Parsing a million of them takes seconds, and hundreds of megabytes. */
const usualTokens = 1_000_000;

/**
 * Why a YAML text should not be parsed, to follow "it"; null: it may be. The converter to values is recursive, and V8 ends the
 * process where a regular expression finds no stack left. The parser of the syntax alone is not recursive.
 */
export function yamlProblem(
  source: string,
  { Lexer, Parser }: Yaml,
  maxDepth: number,
  mostTokens = usualTokens,
): string | null {
  const parser = new Parser();
  let tokens = 0;
  for (const lexeme of new Lexer().lex(source)) {
    if (++tokens > mostTokens) return `has more than ${mostTokens.toLocaleString('en-US')} YAML tokens`;
    for (const _ of parser.next(lexeme));
    // Above the levels are the document and the value that is read.
    if (parser.stack.length > maxDepth + 2) return `is nested more than ${maxDepth} levels deep`;
  }
  return null;
}
