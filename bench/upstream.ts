import uws from 'uWebSockets.js';
import { providers } from './exchanges.js';

/**
 * The provider of the benchmarks: answers `/v1/chat/completions` as fast as uWebSockets.js can, with 600 bytes of
 * JSON, or with 50 events two milliseconds apart when the body says `"stream":true`; calls of other formats' paths as
 * `exchanges.ts` has it. `"wait_ms": N` in the body makes it wait so long before it answers. Reports its port. With a
 * key and a certificate it listens with TLS: `upstream.js [KEY_FILE CERTIFICATE_FILE]`.
 */
const chunks = 50;
const intervalMs = 2;

const answer = JSON.stringify({
  id: 'chatcmpl-bench000000000000000000',
  object: 'chat.completion',
  created: 1700000000,
  model: 'gpt-4o-mini',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Lorem ipsum dolor sit amet, consectetur elit. '.repeat(6) },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 200, completion_tokens: 60, total_tokens: 260 },
});

const event = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-bench000000000000000000',
    object: 'chat.completion.chunk',
    created: 1700000000,
    model: 'gpt-4o-mini',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`;

const middle = event({ content: 'lorem ' }, null);
const usage = `data: ${JSON.stringify({ id: 'chatcmpl-bench000000000000000000', object: 'chat.completion.chunk', created: 1700000000, model: 'gpt-4o-mini', choices: [], usage: { prompt_tokens: 200, completion_tokens: 50, total_tokens: 250 } })}\n\n`;

/** By how a path ends. */
const others = [
  ['/messages', providers.anthropic],
  ['/responses', providers.responses],
  [':generateContent', providers.gemini],
  ['/converse', providers.bedrock],
  ['/chat', providers.cohere],
] as const;

function answerTo(path: string): string | Buffer {
  for (const [end, { whole }] of others) if (path.endsWith(end)) return whole.pieces[0]!;
  return answer;
}

const [keyFile, certificateFile] = process.argv.slice(2);
const app =
  keyFile === undefined || certificateFile === undefined
    ? uws.App()
    : uws.SSLApp({ key_file_name: keyFile, cert_file_name: certificateFile });
app.any('/*', (res, req) => {
  const whole = answerTo(req.getUrl());
  let gone = false;
  res.onAborted(() => {
    gone = true;
  });
  const parts: Buffer[] = [];
  res.onData((part, last) => {
    parts.push(Buffer.from(part.slice(0)));
    if (!last) return;
    const body = Buffer.concat(parts);
    if (!body.includes('"stream":true')) {
      const answer = (): void => {
        if (gone) return;
        res.cork(() => {
          res.writeHeader('content-type', 'application/json');
          res.end(whole);
        });
      };
      const wait = body.includes('"wait_ms":') ? Number(/"wait_ms":(\d+)/.exec(body.toString())?.[1]) : 0;
      if (wait > 0) setTimeout(answer, wait);
      else answer();
      return;
    }
    let sent = 0;
    res.cork(() => {
      res.writeHeader('content-type', 'text/event-stream');
      res.write(event({ role: 'assistant', content: '' }, null));
    });
    const timer = setInterval(() => {
      if (gone) return clearInterval(timer);
      sent++;
      res.cork(() => {
        if (sent < chunks - 1) {
          res.write(middle);
        } else {
          clearInterval(timer);
          res.write(event({}, 'stop'));
          res.write(usage);
          res.end('data: [DONE]\n\n');
        }
      });
    }, intervalMs);
  });
});
app.listen('127.0.0.1', 0, (socket) => {
  if (!socket) process.exit(1);
  process.send?.({ port: uws.us_socket_local_port(socket) });
});
