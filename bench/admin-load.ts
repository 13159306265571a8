import { connectAdmin } from '../src/client/index.js';
import { pause } from './servers.js';

/**
 * An administration busy at work, in a process of its own: `admin-load.js GRPC_PORT PORT KEY`. 200 changes a second
 * over gRPC, four lists of a thousand rows a second over REST. Says how much it got done every second.
 */
const [grpcPort = '', port = '', key = ''] = process.argv.slice(2);
const changesPerSecond = 200;
const listsPerSecond = 4;

const client = connectAdmin({ address: `127.0.0.1:${grpcPort}`, key });
const config = (attempts: number): object => ({
  retry: { attempts },
  metadata: { purpose: 'x'.repeat(100) },
});
const slugs: string[] = [];
for (let i = 0; i < 1000; i++)
  slugs.push((await client.configs.create({ name: `config ${i}`, config: config(1) })).data.slug);

const done = { changes: 0, lists: 0, failed: 0 };
async function count(what: 'changes' | 'lists', work: Promise<unknown>): Promise<void> {
  try {
    await work;
    done[what] += 1;
  } catch {
    done.failed += 1;
  }
}

/** As many a second, `atOnce` of them at a time. What falls behind is made up, but for what is more than a second late. */
async function repeat(perSecond: number, atOnce: number, work: (i: number) => Promise<void>): Promise<void> {
  const period = (1000 * atOnce) / perSecond;
  let next = 0;
  const lane = async (_: unknown, number: number): Promise<never> => {
    for (let due = performance.now() + (number / atOnce) * period; ; ) {
      await pause(Math.max(0, due - performance.now()));
      await work(next++);
      due = Math.max(due + period, performance.now() - 1000);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

const change = (i: number): Promise<void> => {
  const slug = slugs[i % slugs.length] ?? '';
  return count('changes', client.configs.update(slug, { config: config(1 + (i % 5)) }));
};
const list = (): Promise<void> =>
  count(
    'lists',
    fetch(`http://127.0.0.1:${port}/v1/configs?page_size=1000`, { headers: { 'x-gateway-api-key': key } })
      .then(async (response) => response.ok && (await response.text()))
      .then((text) => text || Promise.reject(new Error('refused'))),
  );

process.send?.({ ready: true });
setInterval(() => {
  process.send?.({ ...done });
  Object.assign(done, { changes: 0, lists: 0, failed: 0 });
}, 1000);
await Promise.all([repeat(changesPerSecond, 16, change), repeat(listsPerSecond, 4, list)]);
