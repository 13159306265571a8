import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

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
         jobs: { primes, forever() { for (;;); }, fails() { throw new RangeError('no such number'); } },
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
