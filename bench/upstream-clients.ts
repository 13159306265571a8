import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createUpstream } from '../src/data-plane/upstream/dispatch.js';
import { createUndiciUpstream } from '../src/data-plane/upstream/undici/undici-upstream.js';
import type { Upstream } from '../src/data-plane/upstream/upstream.js';

/**
 * `node dist/bench/upstream-clients.js [rounds]`: CPU of the gateway's own HTTP/1.1 client and of undici behind the same
 * interface, with and without TLS: whole answers, and streams of 50 events. In rounds that alternate; medians.
 */
const rounds = Number(process.argv[2] ?? 5);
const atOnce = 32;
const counts = { whole: 4_000, stream: 300 };

const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
const form = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
execFileSync('openssl', ['req', ...form, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
const ca = readFileSync(cert, 'utf8');

const providers = [];
const urls: Record<string, string> = {};
for (const [name, args] of Object.entries({ plain: [], TLS: [key, cert] })) {
  const provider = fork(new URL('./upstream.js', import.meta.url), args);
  const [{ port }] = (await once(provider, 'message')) as [{ port: number }];
  urls[name] = `${name === 'TLS' ? 'https' : 'http'}://127.0.0.1:${port}/v1/chat/completions`;
  providers.push(provider);
}

const options = { connectionsPerOrigin: 256, keepAliveMs: 30_000, egressAllow: [], ca };
const clients: Record<string, Upstream> = {
  own: createUpstream(options),
  undici: createUndiciUpstream(options),
};
const timeouts = { connectMs: 5_000, headersMs: 600_000, firstTokenMs: 60_000, idleMs: 60_000 };
const bodyOf = (stream: boolean): Buffer =>
  Buffer.from(
    JSON.stringify({
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'Lorem ipsum dolor sit amet. '.repeat(30) }],
      ...(stream ? { stream } : {}),
    }),
  );
const headers = ['content-type', 'application/json', 'authorization', 'Bearer sk-bench', 'accept', '*/*'];

/** CPU microseconds of each of `count` requests, `atOnce` at a time. */
async function measure(client: Upstream, url: string, body: Buffer, count: number): Promise<number> {
  const before = process.cpuUsage();
  let started = 0;
  const next = (): Promise<void> =>
    new Promise((done, failed) => {
      started += 1;
      const request = { method: 'POST', url, headers, body, callerChosen: false, timeouts, maxBodyBytes: 0 };
      client.send(
        { ...request, tenant: 'bench', account: 'bench' },
        { head() {}, data: () => true, end: done, error: failed },
      );
    });
  const worker = async (): Promise<void> => {
    while (started < count) await next();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!;
console.log('| µs of CPU for each | own | undici | ratio |\n| --- | --- | --- | --- |');
for (const [kind, count] of Object.entries(counts)) {
  for (const [name, url] of Object.entries(urls)) {
    const taken: Record<string, number[]> = { own: [], undici: [] };
    const body = bodyOf(kind === 'stream');
    for (const client of Object.values(clients)) await measure(client, url, body, count);
    for (let round = 0; round < rounds; round++)
      for (const [of, client] of Object.entries(clients))
        taken[of]!.push(await measure(client, url, body, count));
    const [own, undici] = [median(taken['own']!), median(taken['undici']!)];
    const what = kind === 'stream' ? 'a stream of 50 events' : 'a whole answer';
    console.log(
      `| ${what}, ${name} | ${own.toFixed(0)} | ${undici.toFixed(0)} | ${(undici / own).toFixed(2)} |`,
    );
  }
}
for (const client of Object.values(clients)) await client.close();
for (const provider of providers) provider.kill();
rmSync(folder, { recursive: true });
