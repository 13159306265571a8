import type { HttpResponse } from 'uWebSockets.js';
import type { QueuedReply } from '../reply.js';
import type { Serving } from '../transport.js';

/** A call that writes while its connection is corked: all of it is sent in one packet. */
export interface Corked {
  readonly transport: Serving;
  writeWhole(close: boolean): void;
}

/** The reply for `cork`: kept here, so that no call needs a closure; it runs before `cork` returns. */
let corkedReply: QueuedReply | null = null;
let corkedFlush: ((reply: QueuedReply) => void) | null = null;
let corkedCall: Corked | null = null;

/** Lets `call` write its whole answer. */
export function corkWhole(res: HttpResponse, call: Corked): void {
  corkedCall = call;
  res.cork(writeCorkedCall);
}

/** The same, and the connection is closed after it. */
export function corkClosing(res: HttpResponse, call: Corked): void {
  corkedCall = call;
  res.cork(writeCorkedClosing);
}

/** Lets `reply` flush its buffer. */
export function corkReply(
  res: HttpResponse,
  call: Corked,
  flush: (reply: QueuedReply) => void,
  reply: QueuedReply,
): void {
  corkedReply = reply;
  corkedFlush = flush;
  corkedCall = call;
  res.cork(writeCorkedReply);
}

/** No closure: it runs for each chunk of a stream. */
function writeCorkedReply(): void {
  const call = corkedCall;
  const reply = corkedReply;
  corkedCall = null;
  corkedReply = null;
  if (call === null || reply === null) return;
  try {
    corkedFlush?.(reply);
  } catch (thrown) {
    call.transport.options.onProblem(thrown, 'write');
  }
}

function runCorked(run: (call: Corked) => void): void {
  const call = corkedCall;
  corkedCall = null;
  if (call === null) return;
  try {
    run(call);
  } catch (thrown) {
    call.transport.options.onProblem(thrown, 'write');
  }
}

const writeCorkedCall = (): void => runCorked((call) => call.writeWhole(call.transport.draining));
const writeCorkedClosing = (): void => runCorked((call) => call.writeWhole(true));
