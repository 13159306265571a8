import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Frame, SimulatedAnswer } from './answer.js';
import type { Behaviour } from './behaviour.js';

/** Gives an answer as a behaviour has it: whole and well, or broken in a stated way. */
export function deliver(response: ServerResponse, answer: SimulatedAnswer, behaviour: Behaviour): void {
  if (behaviour.headMs > 0)
    later(behaviour.headMs, response, () => deliver(response, answer, { ...behaviour, headMs: 0 }));
  else if (behaviour.fault === null) give(response, answer, behaviour);
  else broken(response, answer, behaviour);
}

/** Timers never keep the process alive, and do nothing for a connection that is gone. */
function later(ms: number, response: ServerResponse, step: () => void): void {
  setTimeout(() => {
    if (response.destroyed) return;
    try {
      step();
    } catch {
      // A value that the caller asked for and that no header can carry, for one: it costs this answer only.
      response.destroy();
    }
  }, ms).unref();
}

function isStream(answer: SimulatedAnswer): boolean {
  return Array.isArray(answer.body);
}

function head(response: ServerResponse, answer: SimulatedAnswer, length: number | null): void {
  const headers = ['content-type', answer.contentType, ...answer.headers];
  if (isStream(answer)) headers.push('cache-control', 'no-cache');
  if (length !== null) headers.push('content-length', String(length));
  response.writeHead(answer.status, headers);
}

function give(response: ServerResponse, answer: SimulatedAnswer, behaviour: Behaviour): void {
  const { body } = answer;
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    const send = (): void => {
      head(response, answer, Buffer.byteLength(body));
      if (behaviour.firstTokenMs === 0) response.end(body);
      else {
        response.flushHeaders();
        later(behaviour.firstTokenMs, response, () => response.end(body));
      }
    };
    if (behaviour.delayMs > 0) later(behaviour.delayMs, response, send);
    else send();
    return;
  }
  head(response, answer, null);
  frames(response, body as readonly Frame[], behaviour, () => response.end());
}

/** Writes frames at the behaviour's pace, then calls `then`. */
function frames(
  response: ServerResponse,
  list: readonly Frame[],
  behaviour: Behaviour,
  then: () => void,
): void {
  if (behaviour.delayMs === 0) {
    const all = (): void => {
      for (const frame of list) response.write(frame);
      then();
    };
    if (behaviour.firstTokenMs === 0) return all();
    response.flushHeaders();
    return later(behaviour.firstTokenMs, response, all);
  }
  let at = 0;
  const next = (): void => {
    if (at === list.length) return then();
    const more = response.write(list[at++] as Frame);
    if (more) later(behaviour.delayMs, response, next);
    else response.once('drain', () => later(behaviour.delayMs, response, next));
  };
  response.flushHeaders();
  later(behaviour.firstTokenMs, response, next);
}

function broken(response: ServerResponse, answer: SimulatedAnswer, behaviour: Behaviour): void {
  const socket = response.socket;
  if (socket === null) return;
  switch (behaviour.fault) {
    case 'refuse':
    case 'reset-before-head':
      socket.resetAndDestroy();
      return;
    case 'hang':
      return;
    case 'reset-mid-body':
    case 'reset-mid-stream':
      // A reset throws away what the peer has not read yet, so the first half is given time to arrive.
      return half(response, answer, behaviour, () => later(20, response, () => socket.resetAndDestroy()));
    case 'stall-mid-stream':
      return half(response, answer, behaviour, () => {});
    case 'eof-mid-stream':
      if (isStream(answer)) half(response, answer, behaviour, () => response.end());
      else wrongLength(socket, answer, +1000);
      return;
    case 'error-event':
      return half(response, answer, behaviour, () => response.end(answer.errorFrame ?? ''));
    case 'drip':
      return drip(response, answer, Number(behaviour.value ?? 10));
    case 'bad-json':
      return plain(
        response,
        'application/json',
        '{"id":"chatcmpl-1","object":"chat.completion","choices":[{"ind',
      );
    case 'html':
      return plain(response, 'text/html', '<!doctype html><html><body><h1>It works!</h1></body></html>');
    case 'empty':
      return plain(response, answer.contentType, '');
    case 'bad-sse':
      return badEvents(response, answer, behaviour.value ?? 'json');
    case 'huge':
      return huge(response, answer, Number(behaviour.value ?? 64 * 1024 * 1024));
    case 'wrong-length-short':
      return wrongLength(socket, answer, +1000);
    case 'wrong-length-long':
      return wrongLength(socket, answer, -1);
    case 'redirect':
      response.writeHead(307, ['location', behaviour.value ?? '/v1/elsewhere', 'content-length', '0']);
      response.end();
      return;
    default:
      // A status: the dialect has made its error of it.
      return give(response, answer, behaviour);
  }
}

/** The first half of the answer, its end still open. */
function half(
  response: ServerResponse,
  answer: SimulatedAnswer,
  behaviour: Behaviour,
  then: () => void,
): void {
  if (isStream(answer)) {
    const list = answer.body as readonly Frame[];
    head(response, answer, null);
    frames(response, list.slice(0, Math.max(2, list.length >> 1)), behaviour, then);
    return;
  }
  const bytes = Buffer.from(answer.body as string | Buffer);
  head(response, answer, bytes.length);
  response.write(bytes.subarray(0, bytes.length >> 1));
  then();
}

function plain(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, ['content-type', type, 'content-length', String(Buffer.byteLength(body))]);
  response.end(body);
}

function bytesOf(answer: SimulatedAnswer): Buffer {
  const { body } = answer;
  if (typeof body === 'string' || Buffer.isBuffer(body)) return Buffer.from(body as string);
  return Buffer.concat((body as readonly Frame[]).map((frame) => Buffer.from(frame as string)));
}

function drip(response: ServerResponse, answer: SimulatedAnswer, everyMs: number): void {
  const bytes = bytesOf(answer);
  head(response, answer, isStream(answer) ? null : bytes.length);
  let at = 0;
  const next = (): void => {
    if (at === bytes.length) {
      response.end();
      return;
    }
    response.write(bytes.subarray(at, ++at));
    later(everyMs, response, next);
  };
  next();
}

/** Streams that are wrong, or only look it; the last four are valid. */
function badEvents(response: ServerResponse, answer: SimulatedAnswer, kind: string): void {
  const list = isStream(answer)
    ? (answer.body as readonly Frame[]).map(String)
    : ['data: {"choices":[]}\n\n', 'data: [DONE]\n\n'];
  const whole = list.join('');
  const bodies: Record<string, string> = {
    json: '{"error":{"message":"this is not a stream of events"}}',
    html: '<html><body>gateway timeout</body></html>',
    'cut-json': `${list[0]}data: {"id":"chatcmpl-1","choices":[{"ind\n\n${list.slice(1).join('')}`,
    'long-line': `${list[0]}data: {"choices":[],"x":"${'a'.repeat(2 * 1024 * 1024)}"}\n\n${list.slice(1).join('')}`,
    'after-done': `${whole}data: {"choices":[]}\n\n`,
    'two-done': `${whole}data: [DONE]\n\n`,
    'cr-only': whole.replaceAll('\n', '\r'),
    bom: `\ufeff: a comment\n\n${whole}`,
    'no-space': whole.replaceAll('data: ', 'data:'),
    'no-last-blank': whole.replace(/\n+$/, ''),
  };
  response.writeHead(200, ['content-type', 'text/event-stream', ...answer.headers]);
  response.end(bodies[kind] ?? bodies['json']);
}

/** One JSON string, or one event, of so many bytes, at the reader's pace. */
function huge(response: ServerResponse, answer: SimulatedAnswer, bytes: number): void {
  const block = 'a'.repeat(64 * 1024);
  const stream = isStream(answer);
  head(response, answer, null);
  response.write(stream ? 'data: {"choices":[],"x":"' : '{"object":"chat.completion","choices":[],"x":"');
  let left = bytes;
  const more = (): void => {
    while (left > 0) {
      if (response.destroyed) return;
      left -= block.length;
      if (!response.write(block)) {
        response.once('drain', more);
        return;
      }
    }
    response.end(stream ? '"}\n\ndata: [DONE]\n\n' : '"}');
  };
  more();
}

/** Announces more or fewer bytes than it sends; written past node:http, which refuses that. */
function wrongLength(socket: Socket, answer: SimulatedAnswer, by: number): void {
  const bytes = bytesOf(answer);
  // One byte fewer than sent leaves a byte, and then a whole false answer, on the connection.
  const poison =
    by < 0
      ? 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 19\r\n\r\n{"poisoned":"reply"}'
      : '';
  socket.write(
    `HTTP/1.1 ${answer.status} OK\r\ncontent-type: ${answer.contentType}\r\ncontent-length: ${bytes.length + by}\r\n\r\n`,
  );
  socket.write(bytes);
  if (poison !== '') socket.write(poison);
  if (by > 0) socket.end();
}
