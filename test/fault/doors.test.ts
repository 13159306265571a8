import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync } from 'node:zlib';
import { expect } from 'chai';
import { type ClientDoor, clientDoors } from '../support/client-doors.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { type SimulatedProvider, startSimulated } from '../support/simulated/index.js';

/** A fault, and the code by which the log calls it. */
type Fault = readonly [id: string, fault: string, code: string];

const whole: readonly Fault[] = [
  ['F05', 'reset-mid-body', 'upstream_truncated'],
  ['F10', 'huge=40000000', 'upstream_too_large'],
  ['F12', 'bad-json', 'upstream_invalid_response'],
  ['F12', 'html', 'upstream_invalid_response'],
  ['F12', 'empty', 'upstream_invalid_response'],
  ['F15', 'wrong-length-short', 'upstream_truncated'],
];

const streamed: readonly Fault[] = [
  ['F06', 'reset-mid-stream', 'upstream_truncated'],
  ['F07', 'eof-mid-stream', 'upstream_truncated'],
  ['F09', 'stall-mid-stream', 'upstream_idle_timeout'],
];

const neverBegun: readonly Fault[] = [
  ['F12', 'html', 'upstream_invalid_response'],
  ['F12', 'empty', 'upstream_invalid_response'],
  ['F13', 'bad-sse=json', 'upstream_invalid_response'],
];

/** F11, F17, F18: answers that are wrong before their body means anything. */
const heads: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'F11 ten thousand headers': (response) => {
    response.writeHead(
      200,
      Array.from({ length: 10_000 }, (_, i) => [`x-${i}`, 'v']),
    );
    response.end('{}');
  },
  'F17 204': (response) => response.writeHead(204).end(),
  'F18 a bomb': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'br' });
    response.end(bomb);
  },
  'F18 a coding within a coding': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip, gzip, gzip' });
    response.end('nothing of the kind');
  },
};
const bomb = brotliCompressSync(Buffer.alloc(64 * 1024 * 1024, ' '));

describe('faults at every door', () => {
  let gateway: RunningGateway;
  let provider: SimulatedProvider;
  let odd: Server;
  let answerOddly: (response: ServerResponse) => void;

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
    odd = createServer((request, response) => {
      request.resume();
      answerOddly(response);
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

  /** One call through a door, and its trace id. */
  async function ask(door: ClientDoor, slug: string, stream: boolean, model = 'some-model'): Promise<Asked> {
    const trace = `door-${traces++}`;
    const answer = await fetch(gateway.url + door.path(stream), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': JSON.stringify({ provider: `@${slug}`, override_params: { model } }),
        'x-gateway-trace-id': trace,
      },
      body: JSON.stringify(door.body(stream)),
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

  for (const door of clientDoors) {
    for (const slug of [door.native, door.other]) {
      describe(`${door.name} before ${slug}`, () => {
        /** What came of each fault. Rows and stalls take their time: all are asked for at once. */
        const asked = new Map<Fault, Promise<Asked>>();
        before(() => {
          for (const each of [...whole, ...neverBegun, ...streamed]) {
            const chunks = streamed.includes(each) ? ',chunks=20' : '';
            const call = ask(door, slug, !whole.includes(each), `sim-fault:${each[1]}${chunks}`);
            call.catch(() => {});
            asked.set(each, call);
          }
        });

        for (const each of whole) {
          const [id, fault, code] = each;
          it(`${id} ${fault}: an error in the client's shape`, async () => {
            const { answer, text, trace } = await asked.get(each)!;
            expect(answer.status, text).to.equal(502);
            expect(door.isError(JSON.parse(text), 502), text).to.equal(true);
            const { error, response_status_code, attempts } = await row(trace);
            expect({ error, status: response_status_code }).to.deep.equal({ error: code, status: 502 });
            expect(attempts.map((attempt) => attempt.error)).to.deep.equal([code]);
          });
        }

        for (const each of neverBegun) {
          const [id, fault, code] = each;
          it(`${id} ${fault}, streamed: an error before any event`, async () => {
            const { answer, text, trace } = await asked.get(each)!;
            expect(answer.status, text).to.equal(502);
            expect(door.isError(JSON.parse(text), 502), text).to.equal(true);
            expect((await row(trace)).error).to.equal(code);
          });
        }

        for (const each of streamed) {
          const [id, fault, code] = each;
          it(`${id} ${fault}: an error event last, no end, and what was seen is charged`, async () => {
            const { answer, text, trace } = await asked.get(each)!;
            expect(answer.status).to.equal(200);
            expect(text).to.not.match(door.end);
            const last = text
              .trimEnd()
              .split(/\r?\n\r?\n/)
              .at(-1)!;
            expect(door.isErrorEvent(last), last).to.equal(true);
            const entry = await row(trace);
            expect(entry.error).to.equal(code);
            expect(entry.usage_source).to.equal('counted');
            expect(entry.res_units).to.be.greaterThan(0);
            expect(entry.req_units).to.be.greaterThan(0);
          });
        }

        if (slug === door.other) {
          it('F08 a byte at a time: the whole answer', async function () {
            this.timeout(20_000);
            const { answer, text } = await ask(door, slug, true, 'sim-fault:drip=0');
            expect(answer.status).to.equal(200);
            expect(text).to.match(door.end);
          });
        }

        for (const [name, how] of Object.entries(heads)) {
          it(`${name}: an error in the client's shape`, async () => {
            answerOddly = how;
            const { answer, text, trace } = await ask(door, `odd-${slug}`, false);
            expect(answer.status, text).to.equal(502);
            expect(door.isError(JSON.parse(text), 502), text).to.equal(true);
            expect((await row(trace)).response_status_code).to.equal(502);
          });
        }

        it('F15 and F16: bytes behind an answer reach nobody', async () => {
          await ask(door, slug, false, 'sim-fault:wrong-length-long');
          for (let i = 0; i < 5; i++) {
            const { answer, text } = await ask(door, slug, false);
            expect(answer.status, text).to.equal(200);
            expect(text).to.include(door.said).and.not.include('poisoned');
          }
        });
      });
    }
  }
});
