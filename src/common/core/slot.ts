/** Plugins that resolve another copy of this package than the gateway that runs them share this with it. */
interface Slots {
  /** Slots of this process so far. */
  made: number;
  /** Those of plugins, by name. */
  readonly named: Map<string, number>;
}

const shared = globalThis as { [key: symbol]: unknown };
const key = Symbol.for('headgate.slots');
shared[key] ??= { made: 0, named: new Map() } satisfies Slots;
const slots = shared[key] as Slots;

/** A typed entry of an exchange's temporary storage; a plugin creates and exports its own. */
export class Slot<T> {
  constructor(
    readonly name: string,
    readonly initial: () => T,
    /** Its index among all slots of this process. */
    readonly index = slots.made++,
  ) {}
}

/** An exchange that uses the last of them has a list of that length. */
const mostNamed = 256;

/**
 * The slot of that name for a value of each request: `x.get(slot)` gives what was last `set`, or what `initial` makes.
 * Of one name there is one slot, for all plugins and over reloads: begin the name with the plugin's.
 */
export function defineSlot<T>(name: string, initial: () => T): Slot<T> {
  if (typeof name !== 'string' || name === '' || typeof initial !== 'function')
    throw new TypeError('defineSlot takes a name and a function that makes the first value.');
  let index = slots.named.get(name);
  if (index === undefined) {
    if (slots.named.size >= mostNamed)
      throw new RangeError(
        `There are ${mostNamed} slots: define them once, at the top of the plugin's file.`,
      );
    index = slots.made++;
    slots.named.set(name, index);
  }
  return new Slot(name, initial, index);
}
