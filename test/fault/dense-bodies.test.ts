// lane: slow
import { expect } from 'chai';
import type { RunningGateway } from '../support/gateway.js';
import { type ProbedGateway, startProbed } from '../support/probed-gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

/** Milliseconds that one turn of a data worker's event loop may take, whatever a caller sends. */
const most = 20;

const listOf = (count: number, item: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join();
const chat = (more: string): string =>
  `{"model":"some-model","max_tokens":16,"messages":[{"role":"user","content":"hi"}],${more}}`;
const called = (args: string): string =>
  JSON.stringify({
    model: 'some-model',
    max_tokens: 16,
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: args } }],
      },
      { role: 'tool', tool_call_id: 'c', content: args },
    ],
  });
const typed = (type: string): string =>
  JSON.stringify({ model: 'some-model', max_tokens: 16, messages: [{ role: 'user', content: [{ type }] }] });

/** By name: how the body is made, when it is needed, and its status at a provider of OpenAI's format and at others. */
const bodies: Readonly<Record<string, readonly [() => string, number, number]>> = {
  'many members': [() => chat(listOf(400_000, (i) => `"key${i}":"v${i}"`)), 400, 400],
  'many members inside': [() => chat(`"foo":{${listOf(400_000, (i) => `"key${i}":"v${i}"`)}}`), 400, 400],
  'a long name': [() => chat(`"${'k'.repeat(9_000_000)}":1`), 200, 200],
  'a long number': [() => chat(`"foo":${'123'.repeat(3_000_000)}`), 400, 400],
  'a million numbers': [() => chat(`"foo":[${listOf(900_000, () => '12345678')}]`), 400, 400],
  'numbers of one MiB': [() => chat(`"foo":[${listOf(98_000, () => '1.2345e-5')}]`), 200, 200],
  'many arguments of a tool': [() => called(`{"a":[${listOf(1_000_000, () => '1e5')}]}`), 200, 400],
  'deep arguments of a tool': [() => called(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), 200, 400],
  'a long type': [() => typed('a'.repeat(9_000_000)), 200, 400],
};

describe('bodies that are expensive to read', () => {
  let gateway: RunningGateway;
  let probed: ProbedGateway;

  before(async function () {
    this.timeout(30_000);
    // The probe asks Linux what the processor has done for a thread.
    if (process.platform !== 'linux') this.skip();
    probed = await startProbed();
    ({ gateway } = probed);
  });

  after(async () => {
    await probed?.close();
  });

  for (const [name, [make, same, converted]] of Object.entries(bodies)) {
    describe(name, () => {
      let body = '';
      after(() => {
        body = '';
      });

      // What is refused wherever it goes is refused before it is known where.
      for (const slug of same === 400 ? ['openai', 'anthropic'] : ['openai', 'anthropic', 'gemini']) {
        it(`to ${slug}: no turn of the event loop takes ${most} ms`, async function () {
          this.timeout(30_000);
          body ||= make();
          let best = Number.POSITIVE_INFINITY;
          // The best of a few: what the collector of garbage does is not this body's.
          for (let i = 0; i < 5 && best >= most; i++) {
            await probed.longestTurn();
            const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
              method: 'POST',
              headers: {
                'content-type': 'application/json',
                'x-gateway-api-key': gateway.workspaceKey,
                'x-gateway-provider': `@${slug}`,
              },
              body,
            });
            const text = await answer.text();
            expect(answer.status, text.slice(0, 300)).to.equal(slug === 'openai' ? same : converted);
            // It quotes no more of the body than is needed.
            if (answer.status !== 200) expect(text.length).to.be.below(2000);
            best = Math.min(best, await probed.longestTurn());
          }
          expectWithinMs(best, most);
        });
      }
    });
  }

  it('records of dropped fields the beginning', async () => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@anthropic',
        'x-gateway-explain': 'true',
      },
      body: chat(`"${'k'.repeat(5000)}":1,${listOf(500, (i) => `"key${i}":1`)}`),
    });
    expect(answer.status).to.equal(200);
    const dropped = answer.headers.get('x-gateway-dropped-fields')?.split(', ') ?? [];
    expect(dropped[0]).to.match(/^k{199}/);
    expect(dropped.length).to.be.within(2, 101);
  });
});
