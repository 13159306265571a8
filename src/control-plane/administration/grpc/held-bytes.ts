/** What a stream takes apart from its bytes: its objects here and in Node. */
const streamBytes = 8 * 1024;

/** A stream: its request is arriving, is being answered, or the answer is being read. */
export interface Holder {
  /** True while the gateway waits for the client to send the rest or read the answer; such a stream may be closed to make room. */
  isWaiting: boolean;
  bytes: number;
  /** Closes the stream. */
  readonly cut: () => void;
}

export interface HeldBytesOptions {
  readonly all: number;
  /** Of one request. */
  readonly perRequest: number;
}

/**
 * Limits the bytes that the streams of a listener hold together, whether their callers have a key or not. At the limit, the
 * oldest one whose caller is waited for is cut for another: what is sent slowly, or not read, cannot lock others out.
 */
export class HeldBytes {
  /** In the order in which they began. */
  readonly #holders = new Set<Holder>();
  #all = 0;

  constructor(readonly options: HeldBytesOptions) {}

  /** Bytes that are held. */
  get all(): number {
    return this.#all;
  }

  /** A stream has begun. */
  begin(cut: () => void): Holder {
    const holder: Holder = { isWaiting: true, bytes: 0, cut };
    this.#holders.add(holder);
    this.hold(holder, streamBytes);
    return holder;
  }

  /** Its request needs more. false: there is no room for that. */
  take(holder: Holder, bytes: number): boolean {
    if (!this.#holders.has(holder) || holder.bytes + bytes > this.options.perRequest) return false;
    if (!this.#makeRoom(holder, bytes)) return false;
    this.#add(holder, bytes);
    return true;
  }

  /** Records a change in what it holds; never refused. */
  hold(holder: Holder, bytes: number): void {
    if (!this.#holders.has(holder)) return;
    this.#makeRoom(holder, bytes);
    this.#add(holder, bytes);
  }

  /** It has been closed. */
  end(holder: Holder): void {
    if (this.#holders.delete(holder)) this.#all -= holder.bytes;
  }

  #add(holder: Holder, bytes: number): void {
    this.#all += bytes;
    holder.bytes += bytes;
  }

  #makeRoom(holder: Holder, bytes: number): boolean {
    const most = this.options.all - bytes;
    if (this.#all <= most) return true;
    for (const oldest of this.#holders) {
      if (oldest === holder || !oldest.isWaiting) continue;
      this.end(oldest);
      oldest.cut();
      if (this.#all <= most) return true;
    }
    return false;
  }
}
