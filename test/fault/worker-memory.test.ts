// lane: slow
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { nodeTransportCanShare } from '../../src/data-plane/transport/node/node.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';

/**
 * `leaky` keeps 1.6 MB of every request that wants it, up to 165 MB, which is soon; `tidy` allocates as much and keeps
 * nothing.
 */
const leaky = `
const kept = [];
const large = (x) => Array.from({ length: 20_000 }, (_, i) => ({ i, id: x.id + i }));
export default { name: 'leaky', options: { type: 'object' }, setup: () => ({
  request(x) { if (x.metadata.leak && kept.length < 100) kept.push(large(x)); },
}) };`;
const tidy = leaky.replaceAll('leaky', 'tidy').replace('kept.push(large(x))', 'large(x)');

for (const transport of nodeTransportCanShare ? (['uws', 'node'] as const) : (['uws'] as const))
  for (const workers of transport === 'uws' && isLong ? [1, 2] : [1])
    describe(`a plugin that leaks memory (transport ${transport}, workers: ${workers})`, () => {
      let gateway: RunningGateway;
      let dir: string;

      before(async function () {
        this.timeout(20_000);
        dir = mkdtempSync(join(tmpdir(), 'headgate-leak-'));
        writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
        writeFileSync(join(dir, 'leaky.js'), leaky);
        writeFileSync(join(dir, 'tidy.js'), tidy);
        gateway = await startGateway({
          env: {
            HEADGATE_TRANSPORT: transport,
            HEADGATE_SIMULATED: 'true',
            HEADGATE_WORKERS: String(workers),
            HEADGATE_WORKER_MEMORY_MEGABYTES: '160',
            HEADGATE_PLUGINS: JSON.stringify({
              directory: dir,
              insert: ['leaky', 'tidy'].map((name) => ({ name, after: 'config' })),
            }),
          },
        });
      });
      after(async () => {
        await gateway?.stop();
        rmSync(dir, { recursive: true, force: true });
      });

      const pids = (): string[] =>
        readFileSync(`/proc/${gateway.process.pid}/task/${gateway.process.pid}/children`, 'utf8')
          .trim()
          .split(' ');

      /** Resolves with the status, or what went wrong. A stream is read to its end. */
      const ask = (agent: Agent | undefined, leak: boolean, model = 'gpt-4o-mini'): Promise<string> =>
        new Promise((done) => {
          const sent = request(
            `${gateway.url}/v1/chat/completions`,
            {
              method: 'POST',
              ...(agent && { agent }),
              headers: {
                'content-type': 'application/json',
                'x-gateway-api-key': gateway.workspaceKey,
                'x-gateway-provider': '@simulated',
                ...(leak && { 'x-gateway-metadata': '{"leak":"yes"}' }),
              },
            },
            (answer) => {
              let text = '';
              answer.on('data', (piece) => {
                text += piece;
              });
              answer.on('end', () =>
                done(String(answer.statusCode) + (text.includes('[DONE]') ? ' done' : '')),
              );
              answer.on('error', (error) => done(error.message));
            },
          );
          sent.on('error', (error) => done(error.message));
          const stream = model !== 'gpt-4o-mini';
          sent.end(JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hello' }] }));
        });

      it('has its workers replaced without a failed request, and is named', async function () {
        this.timeout(120_000);
        const before = pids();
        const counts = new Map<string, number>();
        const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
        const agent = new Agent({ keepAlive: true });
        const open = new Set<Promise<void>>();
        const isReplaced = (): boolean =>
          gateway.output().includes('MB, more than HEADGATE_WORKER_MEMORY_MEGABYTES; replacing it');
        // It lasts longer than the replacement.
        const stream = ask(undefined, false, 'sim-fault:delay=1000');
        const timer = setInterval(() => {
          const one = ask(open.size % 2 === 0 ? agent : undefined, !isReplaced())
            .then(count)
            .finally(() => open.delete(one));
          open.add(one);
        }, 40);
        await eventually('it is replaced', async () => isReplaced(), 40_000);
        await eventually(
          'the old worker has left',
          async () => before.some((pid) => !pids().includes(pid)),
          40_000,
        );
        clearInterval(timer);
        await Promise.all(open);
        // The system resets connections that wait in the moment in which the old worker closes its port.
        const reset = counts.get('read ECONNRESET') ?? 0;
        counts.delete('read ECONNRESET');
        expect([...counts.keys()], JSON.stringify([...counts])).to.deep.equal(['200']);
        expect(reset, 'connections that were reset').to.be.lessThan(counts.get('200')! / 100);
        expect(await stream).to.equal('200 done');
        expect(gateway.output()).to.not.include('a data worker died');
        const line = await eventually('it is named', async () =>
          gateway
            .output()
            .split('\n')
            .find((text) => text.includes('the plugin leaky has allocated much of the')),
        );
        const { plugins } = JSON.parse(line);
        expect(plugins[0].plugin).to.equal('leaky');
        expect(plugins[0].megabytes).to.be.greaterThan(30);
        const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
        expect(metrics).to.match(/gateway_worker_renewals_total [1-9]/);
        expect(metrics).to.match(/gateway_plugin_memory_suspected_total\{plugin="leaky"\} [1-9]/);
        expect(metrics.match(/gateway_worker_ready\{worker="\d"\} 1/g)).to.have.length(workers);
        expect(metrics).to.match(/gateway_worker_memory_bytes\{worker="\d"\} \d{7}/);
        console.log(`      ${counts.get('200')} requests, ${reset} connections reset, ${line.slice(0, 400)}`);
      });
    });
