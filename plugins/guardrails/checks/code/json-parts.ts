import { resourceLimits } from 'node:worker_threads';
import { CheckNotRun } from '../../check.js';
import { fencedBlocks } from './fences.js';

/** Bytes of heap that a character of JSON may take. Measured: objects whose keys all differ. */
const bytesOfCharacter = 48;
/**
 * Characters of JSON that are parsed in all: a thread whose heap is full while it parses cannot be ended, and may end the
 * process.
 */
const maxLength = ((resourceLimits.maxOldGenerationSizeMb ?? 128) * 1024 * 1024) / bytesOfCharacter;

/** Of objects and lists that are tried. */
const maxParts = 100;

/**
 * The JSON objects and lists in a text: the whole text; else those in fenced blocks; else those between other words. At most
 * 100, each parsed. Takes time linear in the text. Throws CheckNotRun where they are too long: 2.7 million characters with 128
 * MB of heap.
 */
export function jsonParts(text: string): readonly object[] {
  const whole = parse(text.trim());
  if (whole !== null) return [whole];
  const fenced: object[] = [];
  for (const { code } of fencedBlocks(text)) {
    const value = parse(code.trim());
    if (value !== null) fenced.push(value);
  }
  return fenced.length > 0 ? fenced : between(text);
}

function parse(text: string): object | null {
  if (!text.startsWith('{') && !text.startsWith('[')) return null;
  if (text.length > maxLength)
    throw new CheckNotRun(`JSON of ${text.length} characters is too long to be parsed.`);
  try {
    return JSON.parse(text) as object;
  } catch {
    return null;
  }
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The outermost pairs of braces that are closed, and of those the ones that are JSON. */
function between(text: string): object[] {
  const open: { readonly start: number; readonly spans: number }[] = [];
  const spans: Span[] = [];
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (quoted) {
      if (char === 92) at++;
      // No text of JSON goes on in another line.
      else if (char === 34 || char === 10) quoted = false;
    } else if (char === 34) quoted = open.length > 0;
    else if (char === 123 || char === 91) open.push({ start: at, spans: spans.length });
    else if ((char === 125 || char === 93) && open.length > 0) {
      const { start, spans: before } = open.pop()!;
      spans.length = before;
      spans.push({ start, end: at + 1 });
    }
  }
  const found: object[] = [];
  for (const { start, end } of spans.slice(0, maxParts)) {
    const value = parse(text.slice(start, end));
    if (value !== null) found.push(value);
  }
  return found;
}
