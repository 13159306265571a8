// lane: slow
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { makeGatewayKey } from '../../src/common/access/gateway-key.js';
import type { FromControl, FromWorker } from '../../src/common/ipc/messages.js';
import type { RestAnswer, RestRequest } from '../../src/control-plane/administration/rest/request.js';
import { createNodeTransport } from '../../src/data-plane/transport/node/node.js';
import type { Transport } from '../../src/data-plane/transport/transport.js';
import { createUwsTransport } from '../../src/data-plane/transport/uws/uws.js';
import { AdminForwarder } from '../../src/process/worker/admin-forwarder.js';
import { AdminRelay } from '../../src/process/workers/admin-relay.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { RawClient } from '../support/raw-http.js';
import { expectWithinMs } from '../support/time-limits.js';

const mib = 1024 * 1024;

const keyHeader = 'x-gateway-api-key';
const key = makeGatewayKey('organisation-service');

type ForwardedMessage = Parameters<AdminRelay['take']>[0];

for (const [name, create] of [
  ['uws', createUwsTransport],
  ['node', createNodeTransport],
] as const) {
  describe(`the hand-over of administration requests, ${name}`, () => {
    let transport: Transport;
    let forwarder: AdminForwarder;
    let port: number;
    /** Does the control process hear? */
    let isAwake: boolean;
    let answer: (request: RestRequest) => Promise<RestAnswer>;
    let told: FromWorker[];
    /** Long, but where a test waits for their end. */
    let waits: { uploadMs: number; answerMs: number };

    beforeEach(async () => {
      isAwake = true;
      told = [];
      waits = { uploadMs: 10_000, answerMs: 10_000 };
      answer = async ({ body }) => ({ status: 200, headers: [], body });
      const turn = (run: () => void): void => void setImmediate(run);
      const relay = new AdminRelay(
        (message: FromControl) => turn(() => forwarder.answered(message as never)),
        (request) => answer(request),
        { info: () => {}, warn: () => {}, error: () => {} },
      );
      const send = (message: FromWorker, sent: () => void): void => {
        told.push(message);
        if (!isAwake) return;
        turn(() => {
          relay.take(message as ForwardedMessage);
          sent();
        });
      };
      forwarder = new AdminForwarder(send, ['x-gateway-'], waits);
      transport = await create({
        handler: (call) => forwarder.open(call, call.path),
        maxHeaderBytes: 80 * 1024,
        writeTimeoutMs: 5000,
        onProblem: () => {},
      });
      port = await transport.listen('127.0.0.1', 0, false);
    });

    afterEach(async () => {
      await eventually('no call is left', async () => transport.inFlight === 0);
      transport.close();
    });

    const post = (body: Buffer | string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}/v1/configs`, { method: 'POST', body, headers: { [keyHeader]: key } });
    const get = `GET /v1/configs HTTP/1.1\r\nHost: a\r\n${keyHeader}: ${key}\r\n\r\n`;

    it('brings 4 MiB over and back unchanged, and refuses one byte more', async () => {
      const body = Buffer.alloc(4 * mib, 'ab\n');
      const response = await post(body);
      expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), body)).to.equal(0);
      const more = await post(Buffer.alloc(4 * mib + 1));
      expect(more.status).to.equal(413);
      expect(await more.json()).to.have.nested.property('data.errorCode', 'AB01');
    });

    it('answers 503 with Retry-After, where the control process does not answer', async () => {
      isAwake = false;
      waits.answerMs = 300;
      const response = await post('{}');
      expect(response.status).to.equal(503);
      expect(response.headers.get('retry-after')).to.equal('1');
      expect(await response.json()).to.have.nested.property('data.errorCode', 'unavailable');
      expect(told.at(-1)?.t).to.equal('admin-gone');
    });

    it('answers 503 at once, where the control process has died', async () => {
      isAwake = false;
      const waiting = post('{}');
      await eventually('the call is there', async () => told.length > 0);
      forwarder.lost();
      expect((await waiting).status).to.equal(503);
    });

    it('gives up on a body that does not come to its end', async () => {
      waits.uploadMs = 300;
      const client = await RawClient.connect(port);
      client.send(
        `POST /v1/configs HTTP/1.1\r\nHost: a\r\n${keyHeader}: ${key}\r\nContent-Length: 100\r\n\r\n{"name":`,
      );
      await client.until(() => client.answers().length === 1, 'an answer');
      expect(client.answers()[0]?.status).to.equal(408);
      expect(told).to.deep.equal([]);
      client.destroy();
    });

    it('keeps room for the body of a key that was accepted, while others fill theirs with uploads', async () => {
      const upload = (): string =>
        `POST /v1/configs HTTP/1.1\r\nHost: a\r\n${keyHeader}: ${makeGatewayKey('workspace-user')}\r\nContent-Length: ${4 * mib}\r\n\r\n{`;
      expect((await post('{}')).status).to.equal(200);
      const clients = await Promise.all(Array.from({ length: 9 }, () => RawClient.connect(port)));
      for (const client of clients) client.send(upload());
      await eventually('one is too many', async () =>
        clients.some((client) => client.answers().length === 1),
      );
      const [refused, ...others] = clients.flatMap((client) => client.answers());
      expect(others).to.deep.equal([]);
      expect(refused?.status).to.equal(429);
      expect(refused?.headers['retry-after']).to.equal('1');
      const body = Buffer.alloc(4 * mib, 'a');
      expect((await post(body)).status).to.equal(200);
      for (const client of clients) client.destroy();
    });

    /** An answer without end; says how much of it was taken, and whether it was let go. */
    function endless(): { taken: number; isOver: boolean; gone: AbortSignal | null } {
      const state = { taken: 0, isOver: false, gone: null as AbortSignal | null };
      async function* pieces(): AsyncGenerator<Buffer> {
        try {
          for (;;) {
            state.taken += 48 * 1024;
            yield Buffer.alloc(48 * 1024);
            await pause(0);
          }
        } finally {
          state.isOver = true;
        }
      }
      answer = async ({ gone }) => {
        state.gone = gone;
        return { status: 200, headers: [], body: pieces() };
      };
      return state;
    }

    it('takes of a large answer only what its client reads', async () => {
      const state = endless();
      const socket: Socket = connect(port, '127.0.0.1');
      socket.write(get);
      await eventually('it begins', async () => state.taken > 0);
      let before = -1;
      await eventually('it stops', async () => {
        const isStill = before === state.taken;
        before = state.taken;
        await pause(100);
        return isStill;
      });
      expect(state.taken).to.be.lessThan(16 * mib);
      socket.resume();
      await eventually('it goes on', async () => state.taken > before + mib);
      socket.destroy();
      await eventually('it is let go', async () => state.isOver);
      expect(state.gone?.aborted).to.equal(true);
    });

    it('cuts an answer that breaks, so that no part of it passes for the whole', async () => {
      answer = async () => ({
        status: 200,
        headers: [],
        body: (async function* () {
          yield 'a part';
          throw new Error('the store is away');
        })(),
      });
      const response = await post('{}');
      const text = await response.text().catch(() => 'cut');
      expect(text).to.equal('cut');
    });

    it('notifies the control process that a client disconnected before the answer', async () => {
      let gone: AbortSignal | null = null;
      answer = (request) => {
        gone = request.gone;
        return new Promise(() => {});
      };
      const socket = connect(port, '127.0.0.1');
      socket.write(get);
      await eventually('it is asked', async () => gone !== null);
      socket.destroy();
      await eventually('it is told', async () => gone?.aborted === true);
    });

    it('lets go of an answer that is ready only when its client has gone', async () => {
      const state = endless();
      const ready = answer;
      let letGo: () => void = () => {};
      let asked = false;
      answer = async (request) => {
        asked = true;
        await new Promise<void>((go) => {
          letGo = go;
        });
        return ready(request);
      };
      const socket = connect(port, '127.0.0.1');
      socket.write(get);
      await eventually('it is asked', async () => asked);
      socket.destroy();
      await eventually('it is noticed', async () => told.some(({ t }) => t === 'admin-gone'));
      letGo();
      await eventually('it is let go', async () => state.isOver);
    });
  });
}

describe('the data plane without its control process', () => {
  let provider: SimulatedProvider;
  let gateway: RunningGateway;

  before(async () => {
    provider = await startSimulated({ record: false });
  });
  beforeEach(async function () {
    this.timeout(20_000);
    // One that the test before has left alive will do.
    if (gateway?.process.exitCode === null && gateway.process.signalCode === null) return;
    gateway = await startGateway();
    await gateway
      .admin()
      .providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url: `${provider.url}/v1` });
  });
  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const chat = (model: string, stream = false): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@main',
      },
      body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hello' }] }),
    });
  const admin = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${gateway.url}${path}`, { headers: { 'x-gateway-api-key': gateway.adminKey, ...headers } });

  it('serves on while that is stopped; administration waits, and is answered when it goes on', async () => {
    expect((await chat('gpt-4o-mini')).status).to.equal(200);
    gateway.process.kill('SIGSTOP');
    const waiting = admin('/v1/configs');
    for (let i = 0; i < 5; i++) expect((await chat('gpt-4o-mini')).status).to.equal(200);
    gateway.process.kill('SIGCONT');
    expect((await waiting).status).to.equal(200);
  });

  it('passes a stream of changes on as it comes, in lines or as events, and lets go of it to stop', async () => {
    const lines = (await admin('/v1/watch')).body!.pipeThrough(new TextDecoderStream()).getReader();
    const response = await admin('/v1/watch', { accept: 'text/event-stream' });
    expect(response.headers.get('content-type')).to.equal('text/event-stream');
    const events = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect(JSON.parse((await lines.read()).value!)).to.include({ action: 'start' });
    expect((await events.read()).value).to.match(/^data: \{"action":"start",.*\}\n\n$/);
    await gateway.admin().configs.create({ name: 'seen', config: { retry: { attempts: 1 } } });
    expect(JSON.parse((await lines.read()).value!)).to.include({ action: 'create', kind: 'config' });
    expect((await events.read()).value).to.match(/^data: \{"action":"create",/);
    const began = performance.now();
    expect(await gateway.stop()).to.equal(0);
    // The drain alone would wait for half a minute.
    expectWithinMs(performance.now() - began, 15_000);
  });

  it('ends what it has begun when that is killed; administration gets 503', async function () {
    this.timeout(20_000);
    const stream = await chat('sim-fault:chunks=20,delay=120', true);
    const watching = await admin('/v1/watch');
    gateway.process.kill('SIGSTOP');
    const waiting = admin('/v1/configs');
    await pause(100);
    gateway.process.kill('SIGKILL');
    const refused = await waiting;
    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1']);
    expect(await watching.text().catch(() => 'cut')).to.equal('cut');
    expect((await stream.text()).trimEnd().endsWith('data: [DONE]')).to.equal(true);
  });
});
