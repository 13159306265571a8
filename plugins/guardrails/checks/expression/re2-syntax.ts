import type { Tree } from './tree.js';
import type { Units } from './units.js';

const hex = (unit: number): string => `\\x{${unit.toString(16)}}`;

/** A set in which all is written out, so that no rule of either syntax matters. Beyond the last unit are whole characters. */
function writtenUnits(units: Units): string {
  if (units.length === 0) return '[^\\x{0}-\\x{10ffff}]';
  const ranges = units.map(([from, to]) =>
    from === to ? hex(from) : `${hex(from)}-${hex(to === 0xffff ? 0x10ffff : to)}`,
  );
  return `[${ranges.join('')}]`;
}

/** Characters. */
const maxLength = 64 * 1024;

/** The same expression in RE2's syntax; null: it would be too long. */
export function re2Syntax(tree: Tree, flags: string): string | null {
  const write = (one: Tree): string => {
    switch (one.kind) {
      case 'units':
        return writtenUnits(one.units);
      case 'assertion':
        return one.mark;
      case 'group': {
        const opening = one.name !== null ? `(?P<${one.name}>` : one.captures ? '(' : '(?:';
        return `${opening}${write(one.of)})`;
      }
      case 'choice':
        return one.of.map(write).join('|');
      case 'sequence':
        return one.of.map(write).join('');
      case 'repeat': {
        const { min, max, isLazy } = one;
        const bounds = `{${min},${max === Number.POSITIVE_INFINITY ? '' : max}}`;
        return `(?:${write(one.of)})${bounds}${isLazy ? '?' : ''}`;
      }
    }
  };
  const written = `${flags.includes('m') ? '(?m)' : ''}${write(tree)}`;
  return written.length > maxLength ? null : written;
}
