import type { ServerHttp2Stream } from 'node:http2';
import { type Responder, ServerInterceptingCall, type ServerInterceptingCallInterface } from '@grpc/grpc-js';
import type { HeldBytes, Holder } from './held-bytes.js';
import { type MessageDecoder, prefixBytes, reservedFor } from './message-decoder.js';

/** What grpc-js keeps for a message that waits to be read, beside its bytes. */
const messageBytes = 1024;

/** Parts of a call of grpc-js, which has no way to limit what incomplete messages take. */
export interface CallOnWire extends ServerInterceptingCallInterface {
  readonly stream: ServerHttp2Stream;
  decoder: Pick<MessageDecoder, 'write'>;
  decompressMessage(message: Buffer, encoding: string): Buffer | Promise<Buffer>;
}

export interface HeldCallOptions {
  readonly held: HeldBytes;
  readonly holder: Holder;
  /** Bytes of a message. */
  readonly longest: number;
  /** May the client send several messages? */
  readonly requestStream: boolean;
  readonly responder: Responder;
}

/**
 * Counts the messages of a call for as long as they are kept: those that arrived until they are read, unless there is one alone,
 * and answers until the client has taken them. A message is read only when the answer to the one before was taken; each has one.
 */
export class HeldCall extends ServerInterceptingCall {
  /** Bytes of messages that are not read yet, in the order in which they came. */
  readonly #unread: { bytes: number }[] = [];
  /** Of the answer that is not taken yet. */
  #sent = 0;
  #isUnanswered = false;
  #isReadWanted = false;

  constructor(
    readonly wire: CallOnWire,
    readonly options: HeldCallOptions,
  ) {
    super(wire, options.responder);
    const decompress = wire.decompressMessage;
    wire.decompressMessage = (message, encoding) =>
      this.#decompressed(message, () => decompress.call(wire, message, encoding));
  }

  async #decompressed(message: Buffer, decompress: () => Buffer | Promise<Buffer>): Promise<Buffer> {
    const { held, holder, longest } = this.options;
    const reserved = reservedFor(message, longest);
    const unread = { bytes: message.length - prefixBytes + reserved + messageBytes };
    this.#unread.push(unread);
    held.hold(holder, messageBytes);
    const contents = await decompress();
    if (reserved === 0) return contents;
    const surplus = reserved - contents.length;
    unread.bytes -= surplus;
    held.hold(holder, -surplus);
    return contents;
  }

  /** The next message is read. */
  readNext(): void {
    const { held, holder, requestStream } = this.options;
    const unread = this.#unread.shift();
    if (!requestStream) return;
    this.#isUnanswered = true;
    held.enter(holder, 'running');
    if (unread !== undefined) held.hold(holder, -unread.bytes);
  }

  override startRead(): void {
    if (this.#isUnanswered) this.#isReadWanted = true;
    else super.startRead();
  }

  // biome-ignore lint/suspicious/noExplicitAny: as grpc-js has it
  override sendMessage(message: any, callback: () => void): void {
    const { held, holder } = this.options;
    held.enter(holder, 'unread');
    super.sendMessage(message, () => {
      this.#count(0);
      held.enter(holder, 'open');
      this.#isUnanswered = false;
      if (this.#isReadWanted) {
        this.#isReadWanted = false;
        super.startRead();
      }
      callback();
    });
    this.#count(this.wire.stream.writableLength);
  }

  #count(sent: number): void {
    const { held, holder } = this.options;
    held.hold(holder, sent - this.#sent);
    this.#sent = sent;
  }
}
