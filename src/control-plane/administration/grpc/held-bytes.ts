/** What a stream takes apart from its bytes: its objects here and in Node. */
const streamBytes = 8 * 1024;
/** How far streams that have been cut, and are not closed yet, may exceed the limit: a part of it. */
const mostLeaving = 1 / 4;

/** Its request is arriving, or is being answered; an answer is not read yet, or all of them were and the next may take hours. */
export type Phase = 'arriving' | 'running' | 'unread' | 'open';

/** A stream. */
export interface Holder {
  readonly phase: Phase;
  readonly bytes: number;
  /** Frees what it can at once, and closes the stream soon. */
  readonly cut: () => void;
}

interface OwnHolder extends Holder {
  phase: Phase;
  bytes: number;
  isCut: boolean;
  /** The group that it is in; null: it is not cut. */
  group: number | null;
}

export interface HeldBytesOptions {
  readonly all: number;
  /** Of one request. */
  readonly perRequest: number;
}

/** Those of the highest group are cut first: what arrives, by the power of 2 that its size has, then unread answers, then open streams. */
function groupOf({ phase, bytes, isCut }: OwnHolder): number | null {
  if (isCut || phase === 'running') return null;
  if (phase === 'open') return 0;
  return phase === 'unread' ? 1 : 33 - Math.clz32(bytes);
}

/**
 * Limits the bytes that the streams of a listener hold together, whether their callers have a key or not. At the limit, one
 * whose caller is waited for is cut for another: what is sent slowly, or not read, cannot lock others out.
 */
export class HeldBytes {
  readonly #holders = new Set<OwnHolder>();
  /** Each in the order in which they came there. */
  readonly #groups: readonly Set<OwnHolder>[] = Array.from({ length: 34 }, () => new Set());
  #all = 0;
  /** Of those that have been cut and are not closed yet. */
  #leaving = 0;

  constructor(readonly options: HeldBytesOptions) {}

  /** Bytes that are held. */
  get all(): number {
    return this.#all;
  }

  /** A stream has begun. */
  begin(cut: () => void): Holder {
    const holder: OwnHolder = { phase: 'arriving', bytes: 0, cut, isCut: false, group: null };
    this.#holders.add(holder);
    this.hold(holder, streamBytes);
    return holder;
  }

  /** It is in another phase now. */
  enter(holder: Holder, phase: Phase): void {
    const own = this.#own(holder);
    if (own === null) return;
    own.phase = phase;
    this.#group(own);
  }

  /** Its request needs more. false: there is no room for that. */
  take(holder: Holder, bytes: number): boolean {
    const own = this.#own(holder);
    if (own === null || own.isCut || own.bytes + bytes > this.options.perRequest) return false;
    if (!this.#makeRoom(own, bytes)) return false;
    this.#add(own, bytes);
    return true;
  }

  /** Records a change in what it holds; never refused. */
  hold(holder: Holder, bytes: number): void {
    const own = this.#own(holder);
    if (own === null) return;
    if (bytes > 0) this.#makeRoom(own, bytes);
    this.#add(own, bytes);
  }

  /** It has been closed. */
  end(holder: Holder): void {
    const own = this.#own(holder);
    if (own === null) return;
    this.#add(own, -own.bytes);
    this.#holders.delete(own);
    this.#leave(own);
  }

  #own(holder: Holder): OwnHolder | null {
    const own = holder as OwnHolder;
    return this.#holders.has(own) ? own : null;
  }

  #add(holder: OwnHolder, bytes: number): void {
    this.#all += bytes;
    if (holder.isCut) this.#leaving += bytes;
    holder.bytes += bytes;
    this.#group(holder);
  }

  #group(holder: OwnHolder): void {
    const group = groupOf(holder);
    if (group === holder.group) return;
    this.#leave(holder);
    holder.group = group;
    if (group !== null) this.#groups[group]!.add(holder);
  }

  #leave(holder: OwnHolder): void {
    if (holder.group !== null) this.#groups[holder.group]!.delete(holder);
    holder.group = null;
  }

  #makeRoom(holder: OwnHolder, bytes: number): boolean {
    const { all } = this.options;
    for (let group = this.#groups.length - 1; group >= 0; group--) {
      for (const other of this.#groups[group]!) {
        if (this.#all - this.#leaving + bytes <= all) break;
        if (other !== holder) this.#cut(other);
      }
    }
    return this.#all - this.#leaving + bytes <= all && this.#all + bytes <= all * (1 + mostLeaving);
  }

  #cut(holder: OwnHolder): void {
    holder.isCut = true;
    this.#leaving += holder.bytes;
    this.#group(holder);
    holder.cut();
  }
}
