// lane: slow
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync } from 'node:zlib';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type ClientApi, clientApis } from '../support/client-apis.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

/** A fault of the simulated provider, and the error code in the log. */
type Fault = readonly [fault: string, code: string];

const whole: readonly Fault[] = [
  ['reset-mid-body', 'upstream_truncated'],
  ['huge=40000000', 'upstream_too_large'],
  ['bad-json', 'upstream_invalid_response'],
  ['html', 'upstream_invalid_response'],
  ['empty', 'upstream_invalid_response'],
  ['wrong-length-short', 'upstream_truncated'],
];

const streamed: readonly Fault[] = [
  ['reset-mid-stream', 'upstream_truncated'],
  ['eof-mid-stream', 'upstream_truncated'],
  ['stall-mid-stream', 'upstream_idle_timeout'],
];

const neverBegun: readonly Fault[] = [
  ['html', 'upstream_invalid_response'],
  ['empty', 'upstream_invalid_response'],
  ['bad-sse=json', 'upstream_invalid_response'],
];

/** Answers that are wrong before their body means anything. */
const oddHeads: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'ten thousand headers': (response) => {
    response.writeHead(
      200,
      Array.from({ length: 10_000 }, (_, i) => [`x-${i}`, 'v']),
    );
    response.end('{}');
  },
  'no content (204)': (response) => response.writeHead(204).end(),
  'a bomb': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'br' });
    response.end(bomb);
  },
  'a coding within a coding': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip, gzip, gzip' });
    response.end('nothing of the kind');
  },
};
/** By the number in the model's name. */
const heads: Readonly<Record<string, { readonly name: string; answer(response: ServerResponse): void }>> =
  Object.fromEntries(Object.entries(oddHeads).map(([name, answer], i) => [i, { name, answer }]));
const bomb = brotliCompressSync(Buffer.alloc(64 * 1024 * 1024, ' '));

describe('faults in every API', () => {
  let gateway: RunningGateway;
  let provider: SimulatedProvider;
  let odd: Server;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([
      startGateway({
        env: {
          HEADGATE_HEADERS_TIMEOUT_MS: '3000',
          HEADGATE_FIRST_TOKEN_TIMEOUT_MS: '3000',
          HEADGATE_IDLE_TIMEOUT_MS: '700',
        },
      }),
      startSimulated(),
    ]);
    // The model says how: it comes in the path or in the body.
    odd = createServer((request, response) => {
      let text = request.url ?? '';
      request.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      request.on('end', () => heads[/odd-head-(\d)/.exec(text)?.[1] ?? '']?.answer(response));
    });
    await new Promise<void>((done) => odd.listen(0, '127.0.0.1', done));
    const oddUrl = `http://127.0.0.1:${(odd.address() as AddressInfo).port}`;
    const { providers } = gateway.admin();
    for (const [slug, row, key, path] of [
      ['openai', 'openai', 'sk-sim', '/v1'],
      ['anthropic', 'anthropic', 'sk-ant-sim', '/v1'],
      ['gemini', 'google', 'AIza-sim', '/v1beta'],
    ] as const) {
      await providers.create({ slug, provider: row, key, base_url: provider.url + path });
      await providers.create({ slug: `odd-${slug}`, provider: row, key, base_url: oddUrl + path });
    }
  });

  after(async () => {
    await gateway?.stop();
    await provider?.close();
    odd?.closeAllConnections();
    odd?.close();
  });

  let traces = 0;

  interface Asked {
    readonly answer: Response;
    readonly text: string;
    readonly trace: string;
  }

  /** One call to an API, and its trace id. */
  async function ask(api: ClientApi, slug: string, stream: boolean, model = 'some-model'): Promise<Asked> {
    const trace = `api-${traces++}`;
    const answer = await fetch(gateway.url + api.path(stream), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': JSON.stringify({ provider: `@${slug}`, override_params: { model } }),
        'x-gateway-trace-id': trace,
      },
      body: JSON.stringify(api.body(stream)),
    });
    return { answer, text: await answer.text(), trace };
  }

  /** The only row of a call. */
  async function row(trace: string) {
    const { logs } = gateway.admin();
    const { data } = await eventually(`a row of ${trace}`, async () => {
      const found = await logs.list({ trace_id: trace });
      return found.data.length > 0 && found;
    });
    expect(data).to.have.lengthOf(1);
    return data[0]!;
  }

  for (const api of clientApis) {
    for (const slug of [api.native, api.other]) {
      describe(`${api.name} before ${slug}`, () => {
        /** What came of each fault. Rows and stalls take their time: all are asked for at once. */
        const asked = new Map<Fault, Promise<Asked>>();
        // Each API has the longest answers once: their bytes take their time.
        const isOther = slug === api.other;
        const wholeHere = whole.filter(([fault]) => isOther || !fault.startsWith('huge'));
        const headsHere = Object.entries(heads).filter(([, { name }]) => isOther || name !== 'a bomb');
        const askedOddly = new Map<string, Promise<Asked>>();
        let bytewise: Promise<Asked>;
        before(() => {
          for (const each of [...wholeHere, ...neverBegun, ...streamed]) {
            const chunks = streamed.includes(each) ? ',chunks=20' : '';
            const call = ask(api, slug, !whole.includes(each), `sim-fault:${each[0]}${chunks}`);
            call.catch(() => {});
            asked.set(each, call);
          }
          for (const [number] of headsHere) {
            const call = ask(api, `odd-${slug}`, false, `odd-head-${number}`);
            call.catch(() => {});
            askedOddly.set(number, call);
          }
          if (isOther) {
            bytewise = ask(api, slug, true, 'sim-fault:drip=0,chunks=3');
            bytewise.catch(() => {});
          }
        });

        for (const each of wholeHere) {
          const [fault, code] = each;
          it(`${fault}: an error in the client's shape`, async () => {
            const { answer, text, trace } = await asked.get(each)!;
            expect(answer.status, text).to.equal(502);
            expect(api.isError(JSON.parse(text), 502), text).to.equal(true);
            const { error, response_status_code, attempts } = await row(trace);
            expect({ error, status: response_status_code }).to.deep.equal({ error: code, status: 502 });
            expect(attempts.map((attempt) => attempt.error)).to.deep.equal([code]);
          });
        }

        for (const each of neverBegun) {
          const [fault, code] = each;
          it(`${fault}, streamed: an error before any event`, async () => {
            const { answer, text, trace } = await asked.get(each)!;
            expect(answer.status, text).to.equal(502);
            expect(api.isError(JSON.parse(text), 502), text).to.equal(true);
            expect((await row(trace)).error).to.equal(code);
          });
        }

        for (const each of streamed) {
          const [fault, code] = each;
          it(`${fault}: an error event last, no end, and what was seen is charged`, async () => {
            const { answer, text, trace } = await asked.get(each)!;
            expect(answer.status).to.equal(200);
            expect(text).to.not.match(api.end);
            const last = text
              .trimEnd()
              .split(/\r?\n\r?\n/)
              .at(-1)!;
            expect(api.isErrorEvent(last), last).to.equal(true);
            const entry = await row(trace);
            expect(entry.error).to.equal(code);
            expect(entry.usage_source).to.equal('counted');
            expect(entry.res_units).to.be.greaterThan(0);
            expect(entry.req_units).to.be.greaterThan(0);
          });
        }

        if (isOther) {
          it('a byte at a time: the whole answer', async function () {
            this.timeout(20_000);
            const { answer, text } = await bytewise;
            expect(answer.status).to.equal(200);
            expect(text).to.match(api.end);
          });
        }

        for (const [number, { name }] of headsHere) {
          it(`${name}: an error in the client's shape`, async () => {
            const { answer, text, trace } = await askedOddly.get(number)!;
            expect(answer.status, text).to.equal(502);
            expect(api.isError(JSON.parse(text), 502), text).to.equal(true);
            expect((await row(trace)).response_status_code).to.equal(502);
          });
        }

        it('bytes after an answer reach no client', async () => {
          await ask(api, slug, false, 'sim-fault:wrong-length-long');
          for (let i = 0; i < 5; i++) {
            const { answer, text } = await ask(api, slug, false);
            expect(answer.status, text).to.equal(200);
            expect(text).to.include(api.said).and.not.include('poisoned');
          }
        });
      });
    }
  }
});
