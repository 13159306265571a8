// lane: slow
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

/** The long form: `PLUGIN_RELOADS=100`, at `PLUGIN_RPS=500`. */
const reloads = Number(process.env['PLUGIN_RELOADS'] ?? 2);
const perSecond = Number(process.env['PLUGIN_RPS'] ?? 50);

describe('plugins of a running gateway', () => {
  let gateway: RunningGateway;
  let dir: string;

  const plugin = (version: string, request = ''): string => `
    interface Options { readonly word: string }
    export default {
      name: 'live', options: { type: 'object' }, replyHeaders: { version: 'Its version.' },
      setup: ({ word }: Options, host) => ({
        async request(x) {
          ${request}
          host.setReplyHeader(x, 'version', '${version} ' + word);
        },
      }),
    };`;
  const write = (text: string): void => writeFileSync(join(dir, 'live.ts'), text);
  const settings = (word: string, more = ''): void =>
    writeFileSync(
      join(dir, 'headgate.yaml'),
      `plugins:\n  directory: .\n  insert:\n    - { name: live, after: config, options: { word: ${word} }${more} }\n`,
    );

  before(async function () {
    this.timeout(20_000);
    dir = mkdtempSync(join(tmpdir(), 'headgate-live-'));
    settings('one');
    write(plugin('0'));
    gateway = await startGateway({
      env: {
        HEADGATE_CONFIG: join(dir, 'headgate.yaml'),
        HEADGATE_SIMULATED: 'true',
        HEADGATE_WORKERS: '2',
      },
    });
  });
  after(async () => {
    await gateway?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const ask = (metadata: object = {}, provider = '@simulated'): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: AbortSignal.timeout(20_000),
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': provider,
        authorization: 'Bearer k',
        'x-gateway-metadata': JSON.stringify(metadata),
      },
      body: '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}',
    });
  const version = async (): Promise<string | null> => {
    const answer = await ask();
    await answer.arrayBuffer();
    return answer.headers.get('x-gateway-version');
  };
  const runs = (wanted: string | null): Promise<unknown> =>
    eventually(`${wanted} runs everywhere`, async () => {
      // A worker that is being replaced cuts the connections to it.
      for (let i = 0; i < 6; i++) if ((await version().catch(() => undefined)) !== wanted) return false;
      return true;
    });
  const metrics = async (): Promise<string> => (await fetch(`${gateway.opsUrl}/metrics`)).text();

  /** Resident megabytes of both workers. */
  const memory = (): number => {
    const { pid } = gateway.process;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    const kilobytes = children.map((child) =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child}/status`, 'utf8'))?.[1]),
    );
    return Math.round(kilobytes.reduce((sum, one) => sum + one, 0) / 1024);
  };

  it(`are replaced ${reloads} times under load without a failed request`, async function () {
    this.timeout(60_000 + reloads * 3000);
    let sent = 0;
    let failed = 0;
    let middle = 0;
    const open = new Set<Promise<void>>();
    const timer = setInterval(() => {
      for (let i = 0; i < perSecond / 50; i++) {
        sent++;
        const one = ask()
          .then(async (answer) => {
            await answer.arrayBuffer();
            if (answer.status !== 200) failed++;
          })
          .catch(() => void failed++)
          .finally(() => open.delete(one));
        open.add(one);
      }
    }, 20);
    for (let n = 1; n <= reloads; n++) {
      write(plugin(String(n)));
      await eventually(`version ${n} runs`, async () => (await version()) === `${n} one`);
      if (n === Math.floor(reloads / 2)) middle = memory();
    }
    const grown = memory() - middle;
    clearInterval(timer);
    await Promise.all(open);
    expect(failed, `of ${sent}`).to.equal(0);
    expect(sent).to.be.greaterThan(perSecond / 4);
    console.log(
      `      ${sent} sent, ${reloads} reloads, ${failed} failed, ${grown} MB more in the second half`,
    );
    expect(grown).to.be.lessThan(40);
  });

  it('are not replaced by one that does not load: the log has file, line and reason, and a metric counts it', async () => {
    write(plugin('good'));
    await runs('good one');
    write(`${plugin('bad')}\n\nexport const = 1;`);
    await eventually('it is in the log', async () => /was not replaced.*live\.ts:13/.test(gateway.output()));
    await runs('good one');
    expect(await metrics()).to.include('gateway_plugin_reloads_total{plugin="live",result="failed"} 1');
  });

  it('get other options when the settings change, unless these are wrong', async () => {
    write(plugin('set'));
    await runs('set one');
    writeFileSync(join(dir, 'headgate.yaml'), 'plugins:\n  insert: 7\n');
    await eventually('it is in the log', async () => gateway.output().includes('plugins.insert'));
    await runs('set one');
    settings('two');
    await runs('set two');
  });

  it('that block a worker are named and switched off, and their worker is replaced within two seconds', async function () {
    this.timeout(60_000);
    const pids = async (): Promise<string[]> =>
      [...(await metrics()).matchAll(/gateway_worker_ready\{worker="(\d)"\} (\d)/g)].map(([, , up]) => up!);
    write(
      plugin(
        'loops',
        `if (x.metadata.loop === 'now') for (;;);
          if (x.metadata.loop === 'later') { await null; for (;;); }
          if (x.metadata.loop === 'short') { const until = Date.now() + 40; while (Date.now() < until); }`,
      ),
    );
    settings('two');
    await runs('loops two');
    await (await ask({ loop: 'short' })).arrayBuffer();
    await eventually('it is counted', async () =>
      /gateway_plugin_blocked_total\{.*plugin="live",hook="request"\} 1/.test(await metrics()),
    );
    for (const how of ['now', 'later']) {
      const from = Date.now();
      expect(await ask({ loop: how }).catch(() => 'broken')).to.equal('broken');
      const ended = Date.now() - from;
      await eventually(
        'it has ended',
        async () => gateway.output().split('a data worker died').length === (how === 'now' ? 2 : 3),
      );
      await eventually('both workers serve', async () => (await pids()).join() === '1,1');
      // Two seconds on a quiet machine; starting a worker takes longer beside other work.
      expectWithinMs(ended, 2000);
      expectWithinMs(Date.now() - from, 4000);
      console.log(`      ended after ${ended} ms, replaced after ${Date.now() - from} ms`);
      await eventually('it is in the log', async () =>
        gateway.output().includes('a data worker is blocked by the plugin live (request)'),
      );
      expect(await metrics()).to.include('gateway_plugin_off{plugin="live"} 1');
      await runs(null);
      write(`${plugin('again', `if (x.metadata.loop === 'later') { await null; for (;;); }`)}\n// ${how}`);
      await runs('again two');
      expect(await metrics()).to.include('gateway_plugin_off{plugin="live"} 0');
    }
  });

  it('that block a worker in a wire format of theirs are named with the format, and switched off', async function () {
    this.timeout(30_000);
    const provider = createServer((_request, reply) =>
      reply.writeHead(200, { 'content-type': 'application/json' }).end('{"said":"loop"}'),
    );
    await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
    const base = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    write(`
      export default {
        name: 'live', options: { type: 'object' }, replyHeaders: { version: 'Its version.' },
        providers: { loopy: { base: '${base}', paths: { talk: '/talk' } } },
        setup: ({ word }, host) => ({
          request(x) { host.setReplyHeader(x, 'version', 'format ' + word); },
          formats: { talk: {
            request: () => ({}),
            reply({ said }) { if (said === 'loop') for (;;); return { choices: [{ message: { content: said } }] }; },
          } },
        }),
      };`);
    settings('two');
    await runs('format two');
    expect(await ask({}, 'loopy').catch(() => 'broken')).to.equal('broken');
    await eventually('it is in the log', async () =>
      gateway.output().includes('a data worker is blocked by the plugin live (formats.talk)'),
    );
    expect(await metrics()).to.include('gateway_plugin_off{plugin="live"} 1');
    await runs(null);
    write(plugin('formatless'));
    await runs('formatless two');
    provider.close();
  });

  it('that are required let no request pass while they are switched off', async function () {
    this.timeout(30_000);
    settings('two', ', required: true');
    write(plugin('must', "if (x.metadata.loop === 'now') for (;;);"));
    await runs('must two');
    expect(await ask({ loop: 'now' }).catch(() => 'broken')).to.equal('broken');
    await eventually('no worker lets one pass', async () => {
      for (let i = 0; i < 6; i++) {
        const answer = await ask().catch(() => null);
        const text = (await answer?.text().catch(() => '')) ?? '';
        if (answer?.status !== 503 || !text.includes('plugin_off')) return false;
        expect(text).to.include('The plugin live');
      }
      return true;
    });
    expect(await metrics()).to.include('gateway_plugin_off{plugin="live"} 1');
    write(plugin('mended'));
    await runs('mended two');
  });
});
