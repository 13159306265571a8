import type { Exchange } from '../../../../common/core/exchange.js';
import type { Hooks } from '../../../../common/plugin-host/plugin.js';
import type { FoundText } from '../../../../common/plugin-host/texts/found-text.js';
import {
  defaultHeldMs,
  maxHeldBytes,
  maxHeldMs,
  type TextPiece,
  type TextResult,
} from '../../../../common/plugin-host/texts/text-piece.js';
import { isThenable } from '../../chain.js';

export type TextHook = NonNullable<Hooks['text']>;

/** Work that waits for what it yields, and mostly yields nothing: the hooks of most plugins are synchronous. */
export type Pausing<Result> = Generator<PromiseLike<unknown>, Result, unknown>;

/** One text at one hook. */
class Stop {
  readonly memory: Record<string, unknown> = {};
  held = '';
  /** When what is held has to go on, by the monotonic clock in milliseconds. */
  until = Number.POSITIVE_INFINITY;
}

/** One text on its way through the hooks, in one piece or many. */
export class OpenText {
  readonly #stops: readonly Stop[];

  constructor(
    readonly x: Exchange,
    readonly where: TextPiece['where'],
    readonly hooks: readonly TextHook[],
    readonly found: FoundText,
    readonly id: string,
    readonly streamed: boolean,
  ) {
    this.#stops = hooks.map(() => new Stop());
  }

  /** What goes on of the next piece. */
  *push(text: string, last: boolean): Pausing<string> {
    let at = text;
    for (let i = 0; i < this.hooks.length; i++) at = yield* this.#ask(i, at, last, this.streamed && !last);
    return at;
  }

  /** What goes on since its time is over. */
  *late(now: number): Pausing<string> {
    let at = '';
    for (const [i, { held, until }] of this.#stops.entries())
      at = yield* this.#ask(i, at, false, held === '' || until > now);
    return at;
  }

  /** When the first of what is held has to go on; Infinity: nothing is held. */
  get until(): number {
    return this.#stops.reduce((first, { until }) => Math.min(first, until), Number.POSITIVE_INFINITY);
  }

  *#ask(index: number, given: string, last: boolean, canHold: boolean): Pausing<string> {
    const stop = this.#stops[index]!;
    if (given === '' && canHold) return '';
    const text = stop.held + given;
    if (text === '' && !last) return '';
    const { role, part, index: of } = this.found;
    const { where, id, streamed } = this;
    const { memory, until } = stop;
    const piece = { where, role, part, index: of, id, streamed, text, last, canHold, memory };
    const made = this.hooks[index]!(this.x, piece);
    const result = (isThenable(made) ? yield made : made) as TextResult;
    stop.held = '';
    stop.until = Number.POSITIVE_INFINITY;
    if (result === undefined) return text;
    if (typeof result === 'string') return result;
    if (!canHold || result.held === '') return result.text + result.held;
    const { ms = defaultHeldMs } = result;
    const { text: out, held } = withWholePairs(result.text, result.held);
    if (Buffer.byteLength(held) > maxHeldBytes)
      throw new RangeError(`A text hook holds back more than ${maxHeldBytes} bytes.`);
    stop.held = held;
    // What has been held since the piece before keeps its time.
    const isNew = out !== '' || until === Number.POSITIVE_INFINITY;
    stop.until = isNew ? performance.now() + Math.min(ms, maxHeldMs) : until;
    return out;
  }
}

/** Halves of one character do not go on in two events: some clients refuse an event with half of one. */
function withWholePairs(text: string, held: string): { readonly text: string; readonly held: string } {
  const isCut = /[\ud800-\udbff]$/.test(text) && /^[\udc00-\udfff]/.test(held);
  return isCut ? { text: text.slice(0, -1), held: text.slice(-1) + held } : { text, held };
}
