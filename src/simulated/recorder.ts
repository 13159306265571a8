/** One request as the simulated provider saw it. */
export interface SimulatedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Lower-case names; of equal ones the first. */
  readonly headers: Readonly<Record<string, string>>;
  /** Flat and in order, duplicates and case as they came. */
  readonly rawHeaders: readonly string[];
  body: Buffer;
  /** `x-nonce`, or what follows `nonce:` in the body: lets a test find its own request. */
  nonce: string | null;
  /** Did the connection go before the answer was given whole, by the client's doing or by a fault's? */
  aborted: boolean;
  /** Unix milliseconds. */
  readonly receivedAt: number;
}

const maxRequests = 100_000;
const maxBodyBytes = 256 * 1024 * 1024;

/** Keeps what came, within bounds: past them, the oldest bodies and then the oldest requests go. */
export class Recorder {
  readonly requests: SimulatedRequest[] = [];
  #bytes = 0;
  #firstBody = 0;

  add(request: SimulatedRequest): void {
    if (this.requests.length >= maxRequests) {
      const gone = this.requests.splice(0, maxRequests / 10);
      for (const old of gone) this.#bytes -= old.body.length;
      this.#firstBody = Math.max(0, this.#firstBody - gone.length);
    }
    this.requests.push(request);
  }

  keepBody(request: SimulatedRequest, body: Buffer): void {
    request.body = body;
    this.#bytes += body.length;
    request.nonce ??= /nonce:([\w-]+)/.exec(body.toString('latin1', 0, 64 * 1024))?.[1] ?? null;
    while (this.#bytes > maxBodyBytes && this.#firstBody < this.requests.length) {
      const old = this.requests[this.#firstBody++] as SimulatedRequest;
      this.#bytes -= old.body.length;
      old.body = Buffer.alloc(0);
    }
  }

  clear(): void {
    this.requests.length = 0;
    this.#bytes = 0;
    this.#firstBody = 0;
  }
}
