/** Hooks that have a number; further ones are not watched. */
const most = 256;
const nameBytes = 192;

/**
 * Which plugin's code runs in this process, in memory that another thread can read while this one is blocked. `marks`:
 * the beats of this thread, the number of the hook that runs (0: none), and for each hook how many of its promises are open.
 */
export interface HookMemory {
  readonly marks: SharedArrayBuffer;
  /** `plugin hook` of each, ended by a zero. */
  readonly names: SharedArrayBuffer;
  readonly nameBytes: number;
}

export const hookMemory: HookMemory = {
  marks: new SharedArrayBuffer(4 * (2 + most)),
  names: new SharedArrayBuffer(nameBytes * most),
  nameBytes,
};

const marks = new Int32Array(hookMemory.marks);
const numbers = new Map<string, number>();

/** The number of a hook, from 1: the same for all versions of a plugin. 0: there are too many. */
export function hookNumber(plugin: string, hook: string): number {
  const name = `${plugin} ${hook}`;
  const known = numbers.get(name);
  if (known !== undefined) return known;
  if (numbers.size === most) return 0;
  const number = numbers.size + 1;
  numbers.set(name, number);
  const text = Buffer.from(name).subarray(0, nameBytes - 1);
  new Uint8Array(hookMemory.names, (number - 1) * nameBytes, nameBytes).set(text);
  return number;
}

/** A hook begins to run; returns the number of the one that it interrupts, for `hookLeft`. */
export function hookEntered(number: number): number {
  const before = marks[1]!;
  marks[1] = number;
  return before;
}

export function hookLeft(before: number): void {
  marks[1] = before;
}

/** A promise of a hook is open (1), or not any more (-1). */
export function hookPending(number: number, change: 1 | -1): void {
  if (number > 0) marks[1 + number]! += change;
}

/** This thread runs. */
export function beatHooks(): void {
  Atomics.add(marks, 0, 1);
}
