/** `/pattern/flags`. */
const form = /^\/(.+)\/([a-z]*)$/s;

/** An expression that is written alone or as `/pattern/flags`. */
export function readWritten(text: string): { readonly source: string; readonly flags: string } {
  const [, source = text, flags = ''] = form.exec(text) ?? [];
  return { source, flags };
}

/** Why a text is no regular expression; null: it is one. */
export function whyNoExpression(text: string): string | null {
  const { source, flags } = readWritten(text);
  try {
    new RegExp(source, flags);
    return null;
  } catch (thrown) {
    return (thrown as Error).message.slice(0, 200);
  }
}
