import pino from 'pino';
import { printable } from '../../common/text/printable.js';

const dim = '\u001b[2m';
const reset = '\u001b[0m';
const colors: Readonly<Record<string, string>> = {
  WARN: '\u001b[33m',
  ERROR: '\u001b[31m',
  FATAL: '\u001b[31m',
};
/** Characters of one value; the JSON form has the whole value. */
const maxValue = 300;

/**
 * A line of the JSON log in readable form for a terminal, also one line: local time, level, message, then the other
 * fields as `name=value`. An error is shown with its message and the place that threw it. Control characters are
 * escaped.
 */
export function readableLine(json: string): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return `${printable(json.trimEnd())}\n`;
  }
  const { time, level, msg, ...fields } = entry;
  const name = (pino.levels.labels[Number(level)] ?? String(level)).toUpperCase();
  const color = colors[name] ?? '';
  const shown = Object.entries(fields).map(([field, value]) => `${printable(field)}=${valueText(value)}`);
  const rest = shown.length === 0 ? '' : `  ${dim}${shown.join(' ')}${reset}`;
  const text = printable(typeof msg === 'string' ? msg : '');
  return `${clock(Number(time))} ${color}${name.padEnd(5)}${color === '' ? '' : reset} ${text}${rest}\n`;
}

/** Quoted if it has spaces, so that fields stay separate. */
function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : (errorText(value) ?? JSON.stringify(value));
  const cut = text.length > maxValue ? `${text.slice(0, maxValue)}…` : text;
  return printable(/^[^\s"=]+$/.test(cut) || typeof value === 'object' ? cut : JSON.stringify(cut));
}

/** What pino writes of an Error: its message, and the first frame of its stack. */
function errorText(value: unknown): string | null {
  const { type, message, stack } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof type !== 'string' || typeof message !== 'string' || typeof stack !== 'string') return null;
  const frame = /\n\s+at (?:.*\()?(.+?:\d+:\d+)\)?/.exec(stack)?.[1];
  return `"${type}: ${message}${frame === undefined ? '' : ` (${frame})`}"`;
}

function clock(ms: number): string {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return '--:--:--.---';
  const two = (value: number): string => String(value).padStart(2, '0');
  const parts = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  return `${parts}.${String(at.getMilliseconds()).padStart(3, '0')}`;
}
