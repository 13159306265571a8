import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';

/** Request lines that have ended a server before, or that a parser of addresses takes for something else. */
const knownLines = [
  'GET // HTTP/1.1',
  'GET /// HTTP/1.1',
  'GET //[ HTTP/1.1',
  'GET http://[ HTTP/1.1',
  'GET http://[::1 HTTP/1.1',
  'GET http://:0 HTTP/1.1',
  'GET http://a:99999/ HTTP/1.1',
  'GET \\\\ HTTP/1.1',
  'GET ? HTTP/1.1',
  'GET # HTTP/1.1',
  'GET /% HTTP/1.1',
  'GET /v1/models/%E0%A4%A HTTP/1.1',
  'GET /v2/models/%ff HTTP/1.1',
  'GET /readyz?exclude=%ff%&exclude=__proto__ HTTP/1.1',
  'GET /readyz?verbose&exclude HTTP/1.1',
  'HEAD /metrics HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'GET * HTTP/1.1',
  'CONNECT example.com:443 HTTP/1.1',
  'CONNECT / HTTP/1.1',
  'CONNECT [ HTTP/1.1',
  'PRI * HTTP/2.0',
  'GET / HTTP/0.9',
  'GET / HTTP/9.9',
  'GET /',
  'GET',
  '',
  ' ',
  '\0',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  `GET /${'a'.repeat(100_000)} HTTP/1.1`,
  `${'A'.repeat(100_000)} / HTTP/1.1`,
];

/** Of HTTP/2; frames follow it. */
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

const methods = [
  'GET',
  'POST',
  'HEAD',
  'PUT',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'TRACE',
  'PROPFIND',
  'get',
  'M-SEARCH',
];
const starts = [
  '/',
  '//',
  '///',
  'http://',
  'http://[',
  '*',
  '',
  '?',
  '/v1/',
  '/v1/models/',
  '/openai/',
  '/model/',
  '/livez',
];
const versions = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/1.11', 'http/1.1', ''];
const headers = [
  'Host: x',
  'Host: //',
  'Host: [',
  'Connection: close',
  'Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'Expect: nothing-known',
  'Content-Length: 3',
  'Transfer-Encoding: chunked',
  'X-Simulate: 429=2',
];
const characters = `/.:?#[]@!$&'()*+,;=%%%-_~abz019 "<>\\^\`{|}\0\x01\x08\t\x0b\x1b\x7f\x80\xa0\xff`;

/** The known lines, and after them random ones; the same for the same `random`. Without the end of the line. */
export function* requestLines(count: number, random: () => number): Generator<string> {
  const pick = <T>(list: ArrayLike<T>): T => list[Math.floor(random() * list.length)] as T;
  const text = (most: number): string =>
    Array.from({ length: Math.floor(random() * most) }, () => pick(characters)).join('');
  for (let i = 0; i < count; i++) {
    if (i < knownLines.length) yield knownLines[i] as string;
    else if (random() < 0.1) yield text(60);
    else if (random() < 0.05) yield preface + text(200);
    else {
      const method = random() < 0.9 ? pick(methods) : text(10);
      const target = pick(starts) + text(random() < 0.01 ? 20_000 : 20);
      yield `${method} ${target} ${pick(versions)}`;
    }
  }
}

/** How long an answer is waited for: a server may wait for the rest of what it takes for a head. Milliseconds. */
const answerMs = 100;

/** Sends one request line, with random headers, on a connection of its own; resolves when it was answered or refused. */
function send(port: number, line: string, random: () => number): Promise<void> {
  const some = headers.filter(() => random() < 0.2);
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const late = setTimeout(() => socket.destroy(), answerMs);
    socket.on('connect', () =>
      socket.write(Buffer.from(`${[line, ...some].join('\r\n')}\r\n\r\n`, 'latin1')),
    );
    socket.on('data', () => socket.destroy());
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(late);
      resolve();
    });
  });
}

const together = async (count: number, each: () => Promise<boolean>): Promise<void> => {
  await Promise.all(
    Array.from({ length: count }, async () => {
      while (await each());
    }),
  );
};

/** Sends request lines to a port, several at once; returns how many. */
export async function sendLines(port: number, count: number, random: () => number): Promise<number> {
  const lines = requestLines(count, random);
  let sent = 0;
  await together(32, async () => {
    const { value, done } = lines.next();
    if (done === true) return false;
    await send(port, value, random);
    sent++;
    return true;
  });
  return sent;
}

/** Random bytes as gRPC frames a message: mostly with their true length, not always. */
function message(random: () => number): Buffer {
  const bytes = Buffer.from(
    Array.from({ length: Math.floor(random() * 40) }, () => Math.floor(random() * 256)),
  );
  const head = Buffer.alloc(5);
  head[0] = random() < 0.9 ? 0 : 1;
  head.writeUInt32BE(random() < 0.9 ? bytes.length : Math.floor(random() * 2 ** 32), 1);
  return Buffer.concat([head, bytes]);
}

/**
 * Sends the same kind of targets to a port as HTTP/2 requests, over several connections, and `paths` of real gRPC methods
 * among them with random bytes for a message; returns how many.
 */
export async function sendHttp2(
  port: number,
  count: number,
  random: () => number,
  paths: readonly string[],
): Promise<number> {
  const lines = requestLines(count, random);
  let sent = 0;
  await together(8, async () => {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    session.on('error', () => {});
    let more = true;
    for (let i = 0; i < 50 && more && !session.destroyed; i++) {
      const { value, done } = lines.next();
      more = done !== true;
      if (!more) break;
      sent++;
      const isCall = random() < 0.4;
      const [method = '', target = ''] = value.split(' ');
      const path = isCall ? (paths[Math.floor(random() * paths.length)] as string) : target;
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, answerMs);
        try {
          const stream = session.request({
            ':method': isCall ? 'POST' : method || 'GET',
            ':path': path,
            ...((isCall || random() < 0.7) && { 'content-type': 'application/grpc' }),
          });
          stream.on('error', () => {});
          stream.on('close', () => {
            clearTimeout(late);
            resolve();
          });
          stream.resume();
          stream.end(isCall ? message(random) : 'x');
        } catch {
          // The client's own library refuses some of them.
          clearTimeout(late);
          resolve();
        }
      });
    }
    session.destroy();
    return more;
  });
  return sent;
}
