// lane: slow
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

/** Throws where the request's metadata says so: in a phase, at once or later. */
const plugin = `export default {
  name: 'thrower',
  options: { type: 'object' },
  setup(_options, host) {
    host.metrics.show(() => { throw new Error('boom in metrics'); });
    // What arrives from the control process starts in no plugin.
    let armed = false;
    process.on('message', () => { if (armed) Promise.reject(new Error('boom of unknown origin')); });
    const at = (phase) => (x, event) => {
      if (x.metadata.throw === 'unknown') armed = true;
      if (x.metadata.throw === phase + '-forgotten') void Promise.reject(new Error('boom forgotten in ' + phase));
      if (x.metadata.throw === phase + '-fetch') void fetch('http://127.0.0.1:1/');
      if (x.metadata.throw === phase) throw new Error('boom in ' + phase);
      if (x.metadata.throw === phase + '-later') return Promise.reject(new Error('boom in ' + phase));
      if (x.metadata.throw === phase + '-odd') throw null;
      if (x.metadata.throw === phase + '-hostile') throw new Proxy({}, new Proxy({}, { get() { throw new Error('a trap'); } }));
      if (x.metadata.throw === phase + '-getter') throw { get message() { throw new Error('a trap'); }, get stack() { throw new Error('a trap'); }, toString() { throw new Error('a trap'); } };
      if (x.metadata.throw === phase + '-odd-promise') return Promise.reject(new Proxy({}, new Proxy({}, { get() { throw new Error('a trap'); } })));
      if (x.metadata.throw === phase + '-odd-forgotten') void Promise.reject(new Proxy({}, new Proxy({}, { get() { throw new Error('a trap'); } })));
      if (x.metadata.throw === phase + '-header') event?.headers?.push('x-broken', 'a\\r\\nb');
      if (x.metadata.throw === phase + '-symbol') throw Symbol('boom');
      if (x.metadata.throw === phase + '-revoked') { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy; }
      const end = { exit: () => process.exit(0), abort: () => process.abort(), really: () => process.reallyExit(3), kill: () => process.kill(process.pid, 'SIGKILL'), group: () => process.kill(0, 'SIGTERM'), parent: () => process.kill(process.ppid, 'SIGTERM'), disconnect: () => process.disconnect() };
      for (const [name, act] of Object.entries(end)) {
        if (x.metadata.throw === phase + '-end-' + name) act();
        if (x.metadata.throw === phase + '-end-' + name + '-promise') Promise.resolve().then(act);
      }
      if (x.metadata.throw === phase + '-emit') { process.emit('disconnect'); process.emit('message', { t: 'drain', deadlineMs: 0 }); }
      if (x.metadata.throw === phase + '-timer') setTimeout(() => { throw new Error('boom in a timer'); }, 5);
      if (x.metadata.throw === phase + '-timer-exit') setTimeout(() => process.exit(0), 5);
      if (x.metadata.throw === phase + '-bad') return phase === 'attempt' ? void 0 : { status: 200 };
      if (x.metadata.throw === phase + '-true') return true;
      if (x.metadata.throw === phase + '-abort') {
        x.signal.addEventListener('abort', () => { throw new Error('boom in a listener'); });
        x.signal.addEventListener('abort', async () => { throw new Error('boom in a later listener'); });
        x.onAbort(() => { throw new Error('boom in onAbort'); });
        x.onAbort(() => Promise.reject(new Error('boom in a later onAbort')));
      }
      if (x.metadata.throw === phase + '-twice') return { then: (ok, no) => { ok(phase === 'event' ? event : void 0); ok({ status: 204, headers: [], body: null }); no(new Error('boom twice')); } };
      if (x.metadata.throw === phase + '-after') setTimeout(() => Promise.reject(new Error('boom after ' + phase)), 300);
      if (x.metadata.throw === phase + '-thenable') return { then: (ok) => setImmediate(ok, { status: 99999, headers: [], body: {} }) };
    };
    return {
      request: at('request'),
      text: (x, piece) => at(piece.where === 'answer' ? 'answer' : 'text')(x),
      attempt: at('attempt'),
      reply: at('reply'),
      event: (x, event) => at('event')(x, event) ?? event,
      log: at('log'),
    };
  },
};`;

for (const transport of ['uws', 'node'] as const) {
  describe(`a plugin that throws (transport ${transport})`, () => {
    let gateway: RunningGateway;
    let dir: string;

    before(async function () {
      this.timeout(20_000);
      dir = mkdtempSync(join(tmpdir(), 'headgate-plugin-'));
      writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
      writeFileSync(join(dir, 'thrower.js'), plugin);
      gateway = await startGateway({
        env: {
          HEADGATE_TRANSPORT: transport,
          HEADGATE_SIMULATED: 'true',
          HEADGATE_PLUGINS: JSON.stringify({
            directory: dir,
            insert: [{ name: 'thrower', after: 'config' }],
          }),
        },
      });
    });

    after(async () => {
      await gateway?.stop();
      rmSync(dir, { recursive: true, force: true });
    });

    const hookOf = (phase: string): string => (phase === 'answer' ? 'text' : phase);

    const ask = (
      where: string,
      stream = false,
      { model = 'gpt-4o-mini', signal = null }: { model?: string; signal?: AbortSignal | null } = {},
    ): Promise<Response> =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        signal,
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': '@simulated',
          'x-gateway-metadata': JSON.stringify({ throw: where }),
        },
        body: JSON.stringify({
          model,
          stream,
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      });

    const workerPid = async (): Promise<string> =>
      readFileSync(`/proc/${gateway.process.pid}/task/${gateway.process.pid}/children`, 'utf8');

    for (const phase of ['request', 'text', 'attempt', 'answer', 'reply']) {
      for (const how of ['', '-later', '-odd']) {
        it(`in the ${phase} phase${how}: that request gets a 500 whose id is in the log, the next is served`, async () => {
          const before = await workerPid();
          const answer = await ask(phase + how);
          expect(answer.status).to.equal(500);
          const { error } = (await answer.json()) as {
            error: { code: string; message: string; request_id: string };
          };
          expect(error.code).to.equal('internal');
          expect(error.message).to.not.include('boom');
          expect(answer.headers.get('x-request-id')).to.equal(error.request_id);
          await eventually('the id is in the log', async () => gateway.output().includes(error.request_id));
          if (how !== '-odd')
            await eventually('its cause is in the log', async () =>
              gateway.output().includes(`boom in ${phase}`),
            );
          expect((await ask('nowhere')).status).to.equal(200);
          expect(await workerPid()).to.equal(before);
        });
      }
    }

    for (const name of ['exit', 'abort', 'really', 'kill', 'group', 'parent', 'disconnect']) {
      it(`that asks the process to end (${name}) costs that request a 500, no more, and is named in the log`, async () => {
        const before = await workerPid();
        for (const phase of ['request', 'reply']) {
          const answer = await ask(`${phase}-end-${name}`);
          expect(answer.status).to.equal(500);
          const line = await refusedLine(answer);
          expect(JSON.parse(line)).to.deep.include({ plugin: 'thrower', hook: phase });
        }
        const later = await ask(`request-end-${name}-promise`);
        expect(later.status).to.equal(200);
        await refusedLine(later);
        expect((await ask('nowhere')).status).to.equal(200);
        expect(await workerPid()).to.equal(before);
      });
    }

    /** The log's line that says that the plugin may not end the process, for the request of this answer. */
    const refusedLine = (answer: Response): Promise<string> => {
      const id = answer.headers.get('x-request-id') ?? 'no id';
      return eventually('it is in the log', async () =>
        gateway
          .output()
          .split('\n')
          .find((text) => text.includes(id) && /called process\.\w+\(\), which was refused/.test(text)),
      );
    };

    it('that emits events of the process costs no request', async () => {
      const before = await workerPid();
      for (const where of ['request-emit', 'reply-emit', 'nowhere', 'nowhere'])
        expect((await ask(where)).status, where).to.equal(200);
      expect(await workerPid()).to.equal(before);
    });

    for (const [where, cause] of [
      ['request-timer', 'boom in a timer'],
      ['request-timer-exit', 'called process.exit()'],
    ] as const) {
      it(`in a timer (${where}) ends its worker with code 70, names the cause in the log, and is replaced`, async () => {
        const before = await workerPid();
        const from = gateway.output().length;
        await ask(where, true, { model: 'sim-fault:delay=500' })
          .then((answer) => answer.text())
          .catch(() => {});
        await eventually('another worker serves', async () => {
          const status = await ask('nowhere').then(
            (answer) => answer.status,
            () => 0,
          );
          return status === 200 && (await workerPid()) !== before;
        });
        const lines = gateway
          .output()
          .slice(from)
          .split('\n')
          .filter((line) => line.startsWith('{'))
          .map((line) => JSON.parse(line));
        const uncaught = lines.filter(({ msg }) => /^uncaught exception/.test(msg));
        expect(uncaught).to.have.length(1);
        expect(uncaught[0]).to.deep.include({ plugin: 'thrower', hook: 'request' });
        expect(uncaught[0].err.message).to.include(cause);
        expect(lines.filter(({ msg }) => /worker died/.test(msg)).map(({ code }) => code)).to.deep.equal([
          70,
        ]);
      });
    }

    for (const phase of ['request', 'text', 'attempt', 'answer', 'reply', 'log']) {
      for (const how of ['hostile', 'getter', 'symbol', 'revoked', 'odd', 'odd-promise']) {
        it(`with a value that cannot be read (${phase}-${how}) is named in the log with its request`, async () => {
          const before = await workerPid();
          const answer = await ask(`${phase}-${how}`);
          expect(answer.status).to.equal(phase === 'log' ? 200 : 500);
          const id = answer.headers.get('x-request-id') ?? 'no id';
          const line = await eventually('it is in the log', async () =>
            gateway
              .output()
              .split('\n')
              .find((text) => text.includes(id) && text.includes(`failed in ${hookOf(phase)}`)),
          );
          expect(JSON.parse(line)).to.deep.include({
            plugin: 'thrower',
            hook: hookOf(phase),
            request_id: id,
          });
          expect((await ask('nowhere')).status).to.equal(200);
          expect(await workerPid()).to.equal(before);
        });
      }
    }

    for (const phase of ['request', 'text', 'answer', 'reply']) {
      for (const how of ['-bad', '-true', '-thenable']) {
        it(`that answers with something that is no reply, or no text (${phase}${how}) costs that request a 500, no more`, async () => {
          const before = await workerPid();
          const answer = await ask(phase + how);
          expect(answer.status).to.equal(500);
          const id = answer.headers.get('x-request-id') ?? 'no id';
          await eventually('the id is in the log', async () => gateway.output().includes(id));
          expect((await ask('nowhere')).status).to.equal(200);
          expect(await workerPid()).to.equal(before);
        });
      }
    }

    it('in a listener, at once or later, when the client goes: it is in the log, the next is served', async () => {
      const before = await workerPid();
      const leave = new AbortController();
      const answer = await ask('request-abort', true, { model: 'sim-fault:delay=100', signal: leave.signal });
      const id = answer.headers.get('x-request-id') ?? 'no id';
      leave.abort();
      for (const where of ['a listener', 'a later listener', 'onAbort', 'a later onAbort']) {
        await eventually(`${where} is in the log`, async () =>
          gateway
            .output()
            .split('\n')
            .some((line) => line.includes(id) && line.includes(`boom in ${where}"`)),
        );
      }
      await eventually('a row', async () =>
        (await gateway.admin().logs.list({})).data.some((row) => row.id === id),
      );
      expect((await ask('nowhere')).status).to.equal(200);
      expect(await workerPid()).to.equal(before);
    });

    for (const phase of ['request', 'text', 'attempt', 'answer', 'reply', 'event', 'log']) {
      it(`in a promise of the ${phase} phase that it does not wait for costs no request, and is logged`, async () => {
        const before = await workerPid();
        for (const how of ['forgotten', 'odd-forgotten', 'fetch']) {
          const answer = await ask(`${phase}-${how}`, true);
          expect(answer.status).to.equal(200);
          expect(await answer.text()).to.include('[DONE]');
          const id = answer.headers.get('x-request-id') ?? 'no id';
          const line = await eventually('it is in the log', async () =>
            gateway
              .output()
              .split('\n')
              .find((text) => text.includes(id) && text.includes('"plugin":"thrower"')),
          );
          expect(JSON.parse(line)).to.deep.include({
            plugin: 'thrower',
            hook: hookOf(phase),
            request_id: id,
          });
        }
        expect(await workerPid()).to.equal(before);
      });
    }

    for (const phase of ['request', 'text', 'attempt', 'answer', 'reply', 'event', 'log']) {
      it(`that answers twice, or rejects after its request, in the ${phase} phase costs no request`, async () => {
        const before = await workerPid();
        const twice = await ask(`${phase}-twice`, true);
        expect([twice.status, (await twice.text()).includes('[DONE]')]).to.deep.equal([200, true]);
        const after = await ask(`${phase}-after`, true);
        expect([after.status, (await after.text()).includes('[DONE]')]).to.deep.equal([200, true]);
        const id = after.headers.get('x-request-id') ?? 'no id';
        const line = await eventually('it is in the log', async () =>
          gateway
            .output()
            .split('\n')
            .find((text) => text.includes(id) && text.includes(`boom after ${phase}`)),
        );
        expect(JSON.parse(line)).to.deep.include({
          plugin: 'thrower',
          hook: hookOf(phase),
          request_id: id,
        });
        expect(await workerPid()).to.equal(before);
      });
    }

    it('that sets a header with a line break is named in the log with its request', async () => {
      const answer = await ask('reply-header');
      expect([answer.status, answer.headers.get('x-broken')]).to.deep.equal([200, null]);
      const id = answer.headers.get('x-request-id') ?? 'no id';
      const lines = await eventually('both lines are in the log', async () => {
        const found = gateway
          .output()
          .split('\n')
          .filter((text) => text.includes(id) && text.includes('x-broken'));
        return found.length === 2 && found;
      });
      expect(JSON.parse(lines[0]!)).to.deep.include({ plugin: 'thrower', hook: 'reply', header: 'x-broken' });
    });

    it('in a metric source leaves the metrics of the gateway as they are, and is logged', async () => {
      await eventually('it is in the log', async () =>
        gateway.output().includes('a metric source of the plugin thrower is broken'),
      );
      const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
      expect(metrics).to.include('gateway_worker_ready{worker="0"} 1');
    });

    it('later, in the log phase, is written down and costs nothing', async () => {
      const before = await workerPid();
      expect((await ask('log-later')).status).to.equal(200);
      expect((await ask('nowhere')).status).to.equal(200);
      expect(await workerPid()).to.equal(before);
    });

    for (const how of ['event', 'event-later', 'answer', 'answer-later']) {
      it(`in the ${how} of a stream: the stream ends with an error event, the next is whole`, async () => {
        const text = await (await ask(how, true)).text();
        expect(text).to.include('event: error').and.not.include('[DONE]').and.not.include('boom');
        const whole = await (await ask('nowhere', true)).text();
        expect(whole.trimEnd().endsWith('data: [DONE]')).to.equal(true);
      });
    }

    it('in the log phase: the client sees no error, and the ledger still has its row', async () => {
      const answer = await ask('log');
      expect(answer.status).to.equal(200);
      const id = answer.headers.get('x-gateway-request-id');
      await eventually('a row', async () =>
        (await gateway.admin().logs.list({})).data.some((row) => row.id === id),
      );
      await eventually('it is in the log', async () => gateway.output().includes('boom in log'));
    });

    it('is not blamed for a rejection of unknown origin: that ends the worker, and another serves', async () => {
      const before = await workerPid();
      await ask('unknown');
      // Looked up by the control process, which answers.
      await fetch(`${gateway.url}/v1/models`, {
        headers: { 'x-gateway-api-key': gateway.workspaceKey, 'x-gateway-config': 'pc-unknown' },
      }).catch(() => null);
      await eventually('the worker has ended', async () => (await workerPid()) !== before);
      await eventually('its code is in the log', async () => gateway.output().includes('"code":70'));
      await eventually('its cause is in the log', async () =>
        gateway.output().includes('boom of unknown origin'),
      );
      await eventually(
        'another serves',
        async () => (await ask('nowhere').catch(() => null))?.status === 200,
      );
    });
  });
}
