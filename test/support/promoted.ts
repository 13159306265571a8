import { createServer } from 'node:net';
import { getHeapSpaceStatistics } from 'node:v8';
import { createUpstream } from '../../src/data-plane/upstream/dispatch.js';

/**
 * Sends many requests, 32 at a time, and prints how many bytes the old generation has grown by: what is over belongs
 * to the young one, and dies there.
 */
const requests = 12_000;
const atOnce = 32;

/** So much is remembered of each request while it runs, and by nobody afterwards. */
const weight = (): object => Array.from({ length: 200 }, (_, i) => ({ i }));

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;

async function openUpstream(): Promise<() => Promise<void>> {
  const reply = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
  const server = createServer((socket) => socket.on('data', () => socket.write(reply)));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const upstream = createUpstream({
    connectionsPerOrigin: 64,
    keepAliveMs: 60_000,
    egressAllow: ['127.0.0.1'],
  });
  const timeouts = { connectMs: 10_000, headersMs: 10_000, firstTokenMs: 10_000, idleMs: 10_000 };
  const body = Buffer.from('{}');
  return () =>
    new Promise((over, failed) => {
      const kept = weight();
      upstream.send(
        {
          url: `http://127.0.0.1:${port}/v1/chat/completions`,
          method: 'POST',
          headers: [],
          body,
          timeouts,
          maxBodyBytes: 0,
          callerChosen: false,
          tenant: 'workspace',
          account: 'credential',
        },
        { head: () => {}, data: () => true, end: () => over(void kept), error: failed },
      );
    });
}

const one = await openUpstream();
const run = async (count: number): Promise<void> => {
  let left = count;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await one();
    }),
  );
};
await run(atOnce);
// Whatever is there to stay grows old, as it does in the quiet before the first requests.
for (let i = 0; i < 3; i++) (globalThis as unknown as { gc(how: object): void }).gc({ type: 'minor' });
const before = oldBytes();
await run(requests);
console.log(oldBytes() - before);
process.exit(0);
