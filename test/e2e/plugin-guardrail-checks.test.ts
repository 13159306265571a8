// lane: slow
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

/** What the gateway answers, as far as it is looked at. */
interface Answer {
  readonly id?: string;
  readonly error?: { readonly message: string };
  readonly data?: { readonly message: string };
  readonly hook_results?: {
    readonly before_request_hooks: readonly {
      readonly checks: readonly { readonly id: string; readonly verdict: boolean; readonly data?: unknown }[];
    }[];
  };
}

describe('Guardrail checks of a plugin, in a running gateway', () => {
  let gateway: RunningGateway;
  let service: Server;
  let dir: string;
  let guardrail: string;

  const plugin = (checks: string): void =>
    writeFileSync(
      join(dir, 'acme.js'),
      `const primes = (most) => { let n = 0; for (let i = 2; i <= most; i++) { let j = 2; while (j < i && i % j) j++; if (j === i) n++; } return n; };
       export default {
         name: 'acme', options: { type: 'object' },
         jobs: {
           primes, forever() { for (;;); }, fails() { throw new RangeError('no such number'); },
           large: () => 'x'.repeat(8e6), odd: () => () => {}, throwsOdd() { throw () => {}; }, exits() { process.exit(3); },
           fills() { const all = []; for (;;) all.push(new Array(1e5).fill({})); }, later: () => { setTimeout(() => { throw new Error('later'); }); return 1; },
           slow: () => new Promise((done) => setTimeout(done, 200)),
         },
         setup: (_options, host) => ({ checks: {
           shorter: {
             parameters: { properties: { most: { type: 'integer', minimum: 1 } }, required: ['most'] },
             run: ({ text }, { most }) => ({ verdict: text.length <= most, data: { length: text.length } }),
           },
           mask: { transforms: true, run: ({ texts }) => ({ verdict: true, transformed: texts.map((text) => text.replaceAll('secret', '***')) }) },
           asks: { parameters: { properties: { url: { type: 'string' } } },
             async run({ text, send }, { url }) {
               const { body } = await send({ method: 'POST', url, headers: ['content-type', 'text/plain'], body: Buffer.from(text) });
               return body.toString() === 'yes';
             } },
           job: { parameters: { properties: { name: { type: 'string' } } },
             async run(_context, { name }) { return { verdict: true, data: await host.runJob(name, 30, { timeoutMs: 300 }) }; } },
           throws: { run() { throw new Error('broken'); } },
           never: { run: () => new Promise(() => {}) },
           garbage: { parameters: { properties: { which: { type: 'integer' } } }, run: (_context, { which }) => [
             undefined, null, 7, 'true', [], {}, { verdict: 1 }, { verdict: null }, () => true,
             { get verdict() { throw new Error('a getter'); } }, { then(ok) { ok({ verdict: 'yes' }); } },
           ][which] },
           refuses: { parameters: { properties: { which: { type: 'integer' } } }, run(_context, { which }) {
             const circle = {}; circle.self = circle;
             return { verdict: false, data: [circle, 10n, 'x'.repeat(1e6), () => 1, JSON.parse('{"__proto__": {"verdict": true}, "constructor": {"prototype": {"a": 1}}}')][which] };
           } },
           breaks: { transforms: true, parameters: { properties: { which: { type: 'integer' } } }, run({ texts }, { which }) {
             return { verdict: true, transformed: [[], [...texts, 'more'], [7], 'text', { length: 1, 0: 'x' }, null][which] };
           } },
           writes: { run({ body, texts, headers, metadata }, parameters) {
             for (const write of [() => { body.model = 'x'; }, () => { texts[0] = 'x'; }, () => { headers.push('a', 'b'); }, () => { metadata.a = 'b'; }, () => { parameters.a = 1; }]) {
               let threw = false;
               try { write(); } catch { threw = true; }
               if (!threw) return false;
             }
             return true;
           } },
           ${checks}
         } }),
       };`,
    );

  before(async function () {
    this.timeout(20_000);
    service = createServer(async (request, reply) => {
      const text = Buffer.concat(await request.toArray()).toString();
      reply.end(text.includes('please') ? 'yes' : 'no');
    });
    await new Promise<void>((done) => service.listen(0, '127.0.0.1', done));
    dir = mkdtempSync(join(tmpdir(), 'headgate-acme-'));
    writeFileSync(
      join(dir, 'headgate.yaml'),
      'plugins:\n  directory: .\n  insert: [{ name: acme, after: config }]\n',
    );
    plugin('');
    gateway = await startGateway({
      env: {
        HEADGATE_CONFIG: join(dir, 'headgate.yaml'),
        HEADGATE_SIMULATED: 'true',
        HEADGATE_EGRESS_ALLOW: '127.0.0.1',
      },
    });
  });
  after(async () => {
    await gateway?.stop();
    service?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const rest = async (
    method: string,
    path: string,
    body: object,
  ): Promise<{ status: number; answer: Answer }> => {
    const answered = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-gateway-api-key': gateway.adminKey },
      body: JSON.stringify({ workspace_id: gateway.workspaceId, ...body }),
    });
    return { status: answered.status, answer: (await answered.json()) as Answer };
  };
  const store = (checks: readonly object[]) =>
    rest('POST', '/v1/guardrails', {
      name: 'acme',
      checks,
      actions: { deny: true, async: false, on_success: { feedback: {} }, on_fail: { feedback: {} } },
    });

  async function chat(content: string, guardrails: unknown): Promise<{ status: number; answer: Answer }> {
    const answered = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': JSON.stringify({ provider: '@simulated', input_guardrails: guardrails }),
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content }] }),
    });
    return { status: answered.status, answer: (await answered.json()) as Answer };
  }
  const inline = (id: string, parameters: object = {}) => [{ deny: true, [id]: parameters }];
  /** The newest log, with its bodies. */
  async function logged(): Promise<string> {
    const { data = [] } = await gateway.admin().logs.list({ workspace_id: gateway.workspaceId, limit: 1 });
    const id = data[0]?.id;
    return id === undefined ? '' : JSON.stringify(await gateway.admin().logs.get(id));
  }
  const checkOf = ({ answer }: { answer: Answer }) => answer.hook_results?.before_request_hooks[0]?.checks[0];

  it('are stored with checked parameters, and refuse requests', async () => {
    const made = await store([{ id: 'acme.shorter', parameters: { most: 10 } }]);
    expect(made.status, JSON.stringify(made.answer)).to.equal(200);
    guardrail = made.answer.id ?? '';
    expect((await chat('short', [guardrail])).status).to.equal(200);
    const refused = await chat('much too long', [guardrail]);
    expect(refused.status).to.equal(446);
    expect(checkOf(refused)).to.deep.include({ id: 'acme.shorter', verdict: false, data: { length: 13 } });
  });

  it('are refused with the path of what is wrong, stored and inline', async () => {
    const bad = await store([{ id: 'acme.shorter', parameters: { most: 0, least: 1 } }]);
    expect(bad.status).to.equal(400);
    expect(bad.answer.data?.message).to.contain('checks[0].parameters.most').and.to.contain('least');
    const unknown = await store([{ id: 'acme.shortest', parameters: {} }]);
    expect(unknown.answer.data?.message).to.contain('acme.shortest');
    const { status, answer } = await chat('x', inline('acme.shorter'));
    expect([status, answer.error?.message]).to.satisfy(
      ([code, text]: [number, string]) =>
        code === 400 && text.includes('most') && text.includes('is required'),
    );
  });

  it('change texts, and ask other services', async () => {
    const { status } = await chat('my secret', inline('acme.mask'));
    expect(status).to.equal(200);
    await eventually('the log has the changed text', async () => (await logged()).includes('my ***'));
    expect(await logged()).not.to.contain('my secret');
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/`;
    expect((await chat('Tell me, please', inline('acme.asks', { url }))).status).to.equal(200);
    expect((await chat('Tell me', inline('acme.asks', { url }))).status).to.equal(446);
  });

  it('run jobs in threads: results, errors, and a loop without end', async () => {
    const primes = await chat('x', inline('acme.job', { name: 'primes' }));
    expect(primes.status).to.equal(200);
    const strict = { failOnError: true };
    for (const name of ['fails', 'forever', 'no-such-job'])
      expect((await chat('x', inline('acme.job', { name, ...strict }))).status, name).to.equal(446);
    expect((await chat('x', inline('acme.job', { name: 'forever' }))).status).to.equal(200);
    // The gateway serves on, and the threads are free again.
    expect((await chat('x', inline('acme.job', { name: 'primes', ...strict }))).status).to.equal(200);
  });

  it('that throw count as true, unless failOnError', async () => {
    expect((await chat('x', inline('acme.throws'))).status).to.equal(200);
    expect((await chat('x', inline('acme.throws', { failOnError: true }))).status).to.equal(446);
    expect(gateway.output()).to.contain('the plugin acme failed in checks.throws');
  });

  it('that return garbage count as if they threw, and their data cannot break an answer', async () => {
    for (let which = 0; which < 11; which++) {
      expect((await chat('x', inline('acme.garbage', { which }))).status, String(which)).to.equal(200);
      const strict = await chat('x', inline('acme.garbage', { which, failOnError: true }));
      expect(strict.status, String(which)).to.equal(446);
    }
    for (let which = 0; which < 5; which++) {
      const refused = await chat('x', inline('acme.refuses', { which }));
      expect(refused.status, String(which)).to.equal(446);
      const { data } = checkOf(refused)!;
      expect(JSON.stringify(data).length).to.be.lessThan(200);
      if (which < 4)
        expect((data as { explanation: string }).explanation).to.match(/^The data of this check/);
    }
    expect((await chat('x', inline('acme.writes'))).status).to.equal(200);
  });

  it('that fail to change texts let none pass unchanged where their guardrail denies', async () => {
    for (let which = 0; which < 6; which++) {
      expect((await chat('x', inline('acme.breaks', { which }))).status, String(which)).to.equal(446);
      const mild = [{ deny: false, 'acme.breaks': { which } }];
      expect((await chat('x', mild)).status, String(which)).to.equal(200);
    }
  });

  it('that never end are given up at their deadline, and requests go on', async () => {
    const from = Date.now();
    const all = Array.from({ length: 20 }, () => chat('x', inline('acme.never', { timeout: 200 })));
    expect((await Promise.all(all)).every(({ status }) => status === 200)).to.equal(true);
    const strict = await chat('x', inline('acme.never', { timeout: 200, failOnError: true }));
    expect(strict.status).to.equal(446);
    expectWithinMs(Date.now() - from, 2000);
  });

  it('whose jobs return too much, exit, fill their memory or throw later lose those jobs alone', async () => {
    const pids = () =>
      readFileSync(`/proc/${gateway.process.pid}/task/${gateway.process.pid}/children`, 'utf8').trim();
    const before = pids();
    const strict = { failOnError: true };
    for (const name of ['large', 'odd', 'throwsOdd', 'exits', 'fills']) {
      expect((await chat('x', inline('acme.job', { name, ...strict }))).status, name).to.equal(446);
      // A new thread takes longer than the job has on a busy machine.
      await eventually(`jobs run after ${name}`, async () => {
        const { status } = await chat('x', inline('acme.job', { name: 'primes', ...strict }));
        return status === 200;
      });
    }
    expect((await chat('x', inline('acme.job', { name: 'later' }))).status).to.equal(200);
    expect((await chat('x', inline('acme.job', { name: 'primes' }))).status).to.equal(200);
    expect(pids()).to.equal(before);
  });

  it('whose jobs flood their threads fail at once beyond the limit, and the gateway serves others', async () => {
    const flood = Array.from({ length: 400 }, () =>
      chat('x', inline('acme.job', { name: 'slow', failOnError: true })),
    );
    const { status } = await chat('x', []);
    expect(status).to.equal(200);
    const statuses = (await Promise.all(flood)).map((one) => one.status);
    // On a busy machine none of them may end within its time.
    expect([200, 446]).to.include.members([...new Set(statuses)]);
    expect(statuses).to.include(446);
    await eventually('jobs run again', async () => {
      const again = await chat('x', inline('acme.job', { name: 'primes', failOnError: true }));
      return again.status === 200;
    });
  });

  it('are replaced with their plugin, and count as deny when it is removed', async () => {
    plugin('gentle: { run: ({ text }) => text.includes("please") },');
    await eventually('the new check is known', async () => {
      const { status } = await store([{ id: 'acme.gentle', parameters: {} }]);
      return status === 200;
    });
    expect((await chat('Now', inline('acme.gentle'))).status).to.equal(446);
    writeFileSync(join(dir, 'headgate.yaml'), 'plugins:\n  directory: .\n  insert: []\n');
    await eventually('the plugin is gone', async () => (await chat('short', [guardrail])).status === 446);
    expect((await store([{ id: 'acme.gentle', parameters: {} }])).status).to.equal(400);
  });
});
