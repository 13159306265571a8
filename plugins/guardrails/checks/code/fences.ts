export interface Fenced {
  /** What is written after the fence: `python`, or ''. */
  readonly name: string;
  readonly code: string;
}

const maxBlocks = 100;
const maxName = 40;

/** A fence after other text, as models write it: `Like this: ```python`. Markdown has fences only at the start of a line. */
const lateFence = /```([\w+#.-]*)\s*$/;

/**
 * The fenced blocks of a text in Markdown, at most 100. One that is not closed reaches to the end. Takes time linear in the
 * text.
 */
export function fencedBlocks(text: string): readonly Fenced[] {
  const blocks: Fenced[] = [];
  let open: { readonly mark: string; readonly name: string; readonly from: number } | null = null;
  for (let at = 0; at < text.length && blocks.length < maxBlocks; ) {
    const feed = text.indexOf('\n', at);
    const end = feed === -1 ? text.length : feed;
    // Enough of the line for its fence and the name.
    const line = text.slice(at, Math.min(end, at + 200)).trimStart();
    const mark = line.startsWith('```') ? '```' : line.startsWith('~~~') ? '~~~' : null;
    if (open === null) {
      if (mark !== null && feed !== -1) {
        const [name = ''] = line.replace(/^[`~]+\s*/, '').split(/\s/, 1);
        open = { mark, name: name.slice(0, maxName), from: feed + 1 };
      } else if (feed !== -1) {
        const late = lateName(text.slice(at, end));
        if (late !== null) open = { mark: '```', name: late, from: feed + 1 };
      }
    } else if (mark === open.mark) {
      blocks.push({ name: open.name, code: text.slice(open.from, at) });
      open = null;
    }
    at = end + 1;
  }
  if (open !== null && blocks.length < maxBlocks)
    blocks.push({ name: open.name, code: text.slice(open.from) });
  return blocks;
}

/** The name at a fence that ends a line; null: there is none, or it closes another of the same line. */
function lateName(line: string): string | null {
  const found = lateFence.exec(line.slice(-2 * maxName));
  return found === null || line.split('```').length % 2 === 1 ? null : found[1]!.slice(0, maxName);
}
