import uws from 'uWebSockets.js';
import { createHash } from 'node:crypto';
import { Pool } from 'undici';

/**
 * What a proxy of these two libraries costs with nothing in between: no key, no parsing, no record. `json`: it hashes the
 * key and the body, and parses the body and the whole answer, which is the least that a gateway has to do.
 */
const origin = process.argv[2];
const isJson = process.argv[3] === 'json';
if (origin === undefined) throw new Error('usage: bare-proxy <origin> [json]');
const pool = new Pool(origin, { connections: 256, pipelining: 1 });

/** What was seen; kept so that nothing of it can be left out. */
const seen = { hash: '', model: '', tokens: 0 };

function readRequest(key: string, body: Buffer): void {
  seen.hash = createHash('sha256').update(key).update(body).digest('base64url');
  seen.model = (JSON.parse(body.toString()) as { model: string }).model;
}

function readAnswer(whole: readonly Buffer[]): void {
  const { usage } = JSON.parse(Buffer.concat(whole).toString()) as { usage: { total_tokens: number } };
  seen.tokens += usage.total_tokens;
}

const app = uws.App();
app.any('/*', (res, req) => {
  let gone = false;
  res.onAborted(() => {
    gone = true;
  });
  const path = req.getUrl();
  const method = req.getMethod().toUpperCase();
  const key = isJson ? req.getHeader('x-gateway-api-key') : '';
  let body: Buffer | null = null;
  res.onData((part, last) => {
    const copy = Buffer.from(part.slice(0));
    body = body === null ? copy : Buffer.concat([body, copy]);
    if (!last) return;
    if (isJson) readRequest(key, body);
    let status = 200;
    let type = '';
    let begun = false;
    const whole: Buffer[] = [];
    pool.dispatch(
      { path, method: method as 'POST', headers: ['content-type', 'application/json'], body },
      {
        onConnect() {},
        onHeaders(code, headers) {
          status = code;
          for (let i = 0; i < headers.length; i += 2) {
            if (headers[i]!.toString().toLowerCase() === 'content-type') type = headers[i + 1]!.toString();
          }
          return true;
        },
        onData(chunk) {
          if (gone) return true;
          if (!type.startsWith('text/event-stream')) {
            whole.push(chunk);
            return true;
          }
          res.cork(() => {
            if (!begun) {
              begun = true;
              res.writeStatus(String(status));
              res.writeHeader('content-type', type);
            }
            res.write(chunk);
          });
          return true;
        },
        onComplete() {
          if (gone) return;
          if (isJson && !begun) readAnswer(whole);
          res.cork(() => {
            if (begun) return void res.end();
            res.writeStatus(String(status));
            res.writeHeader('content-type', type);
            res.end(whole.length === 1 ? whole[0] : Buffer.concat(whole));
          });
        },
        onError() {
          if (!gone) res.close();
        },
      },
    );
  });
});
app.listen('127.0.0.1', 0, (socket) => {
  if (!socket) process.exit(1);
  process.send?.({ port: uws.us_socket_local_port(socket) });
});
