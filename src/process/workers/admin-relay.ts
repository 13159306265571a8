import type { AdminPiece, FromControl, FromWorker } from '../../common/ipc/messages.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { RestAnswer, RestRequest } from '../../control-plane/administration/rest/request.js';

/** Bytes of a body in one message. */
const pieceBytes = 48 * 1024;
const none = Buffer.alloc(0);

type ForwardedMessage = Extract<FromWorker, { t: 'admin' | 'admin-body' | 'admin-more' | 'admin-gone' }>;

/** A request that is still arriving, or an answer that is still being sent. */
interface Open {
  readonly head: Extract<ForwardedMessage, { t: 'admin' }>;
  readonly body: Buffer[];
  readonly gone: AbortController;
  pieces: AsyncGenerator<AdminPiece, undefined> | null;
}

/** Receives the forwarded administration requests of one data worker, in the control process. */
export class AdminRelay {
  readonly #open = new Map<number, Open>();

  constructor(
    readonly send: (message: FromControl) => void,
    readonly answer: (request: RestRequest) => Promise<RestAnswer>,
    readonly log: Logger,
  ) {}

  take(message: ForwardedMessage): void {
    if (message.t === 'admin') {
      this.#open.set(message.id, { head: message, body: [], gone: new AbortController(), pieces: null });
      return;
    }
    const open = this.#open.get(message.id);
    if (open === undefined) return;
    switch (message.t) {
      case 'admin-body':
        open.body.push(message.piece);
        if (message.last) this.#begin(open).catch((error: unknown) => this.#failed(open, error));
        break;
      case 'admin-more':
        this.#next(open).catch((error: unknown) => this.#failed(open, error));
        break;
      case 'admin-gone':
        this.#close(open);
        break;
    }
  }

  /** A failure affects only its own request: the worker gives it up after its deadline. */
  #failed(open: Open, error: unknown): void {
    this.log.error({ err: error, path: open.head.path }, 'a request of the administration failed');
    this.#close(open);
  }

  /** The worker has ended. */
  closeAll(): void {
    for (const open of [...this.#open.values()]) this.#close(open);
  }

  #close(open: Open): void {
    this.#open.delete(open.head.id);
    open.gone.abort();
    open.pieces?.return(undefined).catch(() => {});
  }

  async #begin(open: Open): Promise<void> {
    const { id, verb, path, query, headers, address } = open.head;
    const bytes = Buffer.concat(open.body);
    // An answer may take long: its request's body must not stay in memory.
    open.body.length = 0;
    const {
      status,
      headers: answered,
      body,
    } = await this.answer({
      verb,
      path,
      query,
      headers,
      address,
      body: bytes,
      gone: open.gone.signal,
    });
    open.pieces = piecesOf(body);
    await this.#send(open, (piece) => ({ t: 'admin-head', id, status, headers: answered, ...piece }));
  }

  #next(open: Open): Promise<void> {
    return this.#send(open, (piece) => ({ t: 'admin-piece', id: open.head.id, ...piece }));
  }

  async #send(open: Open, make: (piece: AdminPiece) => FromControl): Promise<void> {
    let piece: AdminPiece = { piece: none, last: true, broken: true };
    try {
      piece = (await open.pieces?.next())?.value ?? piece;
    } catch (error) {
      this.log.error({ err: error, path: open.head.path }, 'an answer broke off');
    }
    // Its client has disconnected before the answer began, which would stay open forever.
    if (!this.#open.has(open.head.id)) return this.#close(open);
    this.send(make(piece));
    if (piece.last) this.#close(open);
  }
}

const bytesOf = (part: Buffer | string): Buffer => (typeof part === 'string' ? Buffer.from(part) : part);

async function* piecesOf(body: RestAnswer['body']): AsyncGenerator<AdminPiece, undefined> {
  if (typeof body === 'string' || body instanceof Uint8Array) {
    yield* slices(bytesOf(body), true);
    return;
  }
  for await (const part of body) yield* slices(bytesOf(part), false);
  yield { piece: none, last: true, broken: false };
}

function* slices(bytes: Buffer, isAll: boolean): Generator<AdminPiece> {
  for (let from = 0; from === 0 || from < bytes.length; from += pieceBytes) {
    const piece = bytes.subarray(from, from + pieceBytes);
    yield { piece, last: isAll && from + pieceBytes >= bytes.length, broken: false };
  }
}
