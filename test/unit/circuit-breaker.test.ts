import { expect } from 'chai';
import router from '../../plugins/router/index.js';
import type { Principal } from '../../src/common/access/principal.js';
import type { Endpoint } from '../../src/common/core/endpoint.js';
import { type ErrorCode, errorTable, GatewayError } from '../../src/common/core/errors.js';
import { type ClientRequest, Exchange, type Reply } from '../../src/common/core/exchange.js';
import type { ResolvedConfig, Target } from '../../src/common/core/target.js';
import type { FullHost, Hooks } from '../../src/common/plugin-host/plugin.js';
import { SharedBreakers } from '../../src/control-plane/shared-state/breakers.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';
import { SharedHub, silent } from '../support/shared.js';

type Step = number | ErrorCode | Promise<number>;
type Script = (target: Target, x: Exchange) => Step;

const compile = (config: object, version = '1'): ResolvedConfig =>
  compileConfig(JSON.stringify(config), { slug: 'pc-1', version, isProvider: () => true });

const breaker = (more: object = {}) => ({
  cb_config: { failure_threshold: 3, cooldown_interval: 5000, ...more },
});
const two = (more: object = {}) => ({
  strategy: { mode: 'fallback', ...breaker(more) },
  targets: [{ provider: 'openai' }, { provider: 'anthropic' }],
});

describe('a circuit breaker', () => {
  const now = Date.now;
  const elapsed = performance.now.bind(performance);
  /** Milliseconds that have passed besides real ones; those that the wall clock was set by. */
  let ahead = 0;
  let wallSet = 0;
  let random = () => 0.5;
  let hub: SharedHub;
  let board: SharedBreakers;

  beforeEach(() => {
    ahead = 0;
    wallSet = 0;
    random = () => 0.5;
    Date.now = () => now() + ahead + wallSet;
    performance.now = () => elapsed() + ahead;
    hub = new SharedHub();
    board = new SharedBreakers(hub.server, silent);
  });
  afterEach(() => {
    Date.now = now;
    performance.now = elapsed;
    board.close();
  });

  /** Waits until failures were told, added up, and what came of it told to everyone. */
  async function news(): Promise<void> {
    // A worker tells them 10 ms after the first.
    await new Promise((wait) => setTimeout(wait, 11));
    await hub.quiet();
  }

  /** A worker's router; the script says what comes of each attempt. */
  class Worker {
    readonly tried: string[] = [];
    readonly shared = hub.worker();
    readonly #hooks: Promise<Hooks>;

    constructor(readonly script: Script) {
      const host = {
        random: () => random(),
        shared: this.shared,
        metrics: { show() {} },
        attempt: (x: Exchange, target: Target) => this.#attempt(x, target),
      } as Partial<FullHost> as FullHost;
      this.#hooks = Promise.resolve(router.setup({ backoffMs: 0 }, host));
    }

    async #attempt(x: Exchange, target: Target): Promise<Reply> {
      this.tried.push(target.path.replace('config.targets', ''));
      const attempt = {
        target: target.path,
        provider: target.provider ?? '',
        status: 0,
        error: null as ErrorCode | null,
      };
      x.attempts.push(attempt as Exchange['attempts'][number]);
      const step = await this.script(target, x);
      if (typeof step === 'string') {
        attempt.error = step;
        throw x.aborted ?? new GatewayError(step, 'scripted');
      }
      attempt.status = step;
      return { status: step, headers: [], body: null, events: false, errorOrigin: null };
    }

    async ask(config: ResolvedConfig, more: { workspace?: string; x?: Exchange } = {}): Promise<Step> {
      const x = more.x ?? exchange(config, more.workspace);
      const hooks = await this.#hooks;
      try {
        const reply = (await hooks.request!(x)) as Reply;
        return reply.status;
      } catch (thrown) {
        return GatewayError.from(thrown).code;
      }
    }

    async log(x: Exchange, status: number, error: ErrorCode): Promise<void> {
      const hooks = await this.#hooks;
      hooks.log?.(x, { status, error: new GatewayError(error, 'scripted'), totalMs: 1 });
    }

    /** What is tried for the next request. */
    async tries(config: ResolvedConfig, workspace?: string): Promise<string[]> {
      this.tried.length = 0;
      await this.ask(config, workspace === undefined ? {} : { workspace });
      return this.tried;
    }

    async fail(config: ResolvedConfig, times: number): Promise<void> {
      for (let i = 0; i < times; i++) await this.ask(config);
      await news();
    }
  }

  function exchange(
    config: ResolvedConfig,
    workspace = 'ws-1',
    endpoint: Endpoint = { name: 'chat', format: 'openai-chat', body: 'json' },
  ): Exchange {
    const request = { headers: [], stream: null, json: {} } as Partial<ClientRequest> as ClientRequest;
    const x = new Exchange('req', endpoint, request);
    x.principal = { organisationId: 'org-1', workspaceId: workspace } as Principal;
    x.config = config;
    return x;
  }

  const firstFails: Script = ({ path }) => (path.endsWith('[0]') ? 503 : 200);

  it('opens at failure_threshold: from then on its target is not asked, and the next is', async () => {
    const worker = new Worker(firstFails);
    const config = compile(two());
    await worker.fail(config, 2);
    expect(await worker.tries(config)).to.deep.equal(['[0]', '[1]']);
    await news();
    expect(await worker.tries(config)).to.deep.equal(['[1]']);
  });

  it('opens at failure_threshold_percentage, once there were minimum_requests', async () => {
    const statuses = [503, 503, 503, 200, 200, 200, 200, 503];
    const worker = new Worker(({ path }) => (path.endsWith('[0]') ? (statuses.shift() ?? 200) : 200));
    const config = compile(
      two({ failure_threshold: undefined, failure_threshold_percentage: 50, minimum_requests: 8 }),
    );
    await worker.fail(config, 7);
    expect(board.list('org-1', null)).to.have.length(0);
    await worker.fail(config, 1);
    expect(board.list('org-1', null)[0]).to.include({ requests: 8, failures: 4, reason: '503' });
  });

  it('forgets failures that are older than a minute', async () => {
    const worker = new Worker(firstFails);
    const config = compile(two());
    await worker.fail(config, 2);
    ahead += 62_000;
    await worker.fail(config, 2);
    expect(await worker.tries(config)).to.deep.equal(['[0]', '[1]']);
  });

  it('judges a share by the last ten seconds, where there was enough to judge', async () => {
    let healthy = true;
    const worker = new Worker(({ path }) => (path.endsWith('[0]') && !healthy ? 503 : 200));
    const config = compile(two({ failure_threshold: undefined, failure_threshold_percentage: 50 }));
    await worker.fail(config, 100);
    ahead += 14_000;
    healthy = false;
    await worker.fail(config, 5);
    expect(await worker.tries(config)).to.deep.equal(['[1]']);
  });

  describe('counts', () => {
    const opens = async (config: object, step: Step): Promise<boolean> => {
      const worker = new Worker(() => step);
      await worker.fail(compile(config), 3);
      return board.list('org-1', null).length > 0;
    };
    const alone = (more: object = {}) => ({ provider: 'openai', ...breaker(more) });

    for (const status of [501, 502, 503, 504, 529]) {
      it(`a ${status}`, async () => {
        expect(await opens(alone(), status)).to.equal(true);
      });
    }
    for (const status of [200, 400, 401, 403, 404, 408, 413, 422, 429, 500]) {
      it(`no ${status}`, async () => {
        expect(await opens(alone(), status)).to.equal(false);
      });
    }
    for (const status of [401, 429, 500]) {
      it(`a ${status} that failure_status_codes lists`, async () => {
        expect(await opens(alone({ failure_status_codes: [status] }), status)).to.equal(true);
      });
    }
    for (const status of [400, 413, 422]) {
      it(`no ${status}, listed or not: that is the caller's`, async () => {
        expect(await opens(alone({ failure_status_codes: [status] }), status)).to.equal(false);
      });
    }
    const faults = Object.entries(errorTable).filter(([code, { blame }]) => {
      return blame === 'upstream' && code !== 'upstream_too_large' && code !== 'body_already_sent';
    });
    for (const code of Object.keys(errorTable) as ErrorCode[]) {
      const isFault = faults.some(([name]) => name === code);
      it(`${isFault ? 'a target that failed by' : 'no'} ${code}, whatever statuses are listed`, async () => {
        expect(await opens(alone({ failure_status_codes: [599] }), code)).to.equal(isFault);
      });
    }

    it('no failure of a request that its client gave up', async () => {
      const worker = new Worker((_target, x) => {
        x.abort(new GatewayError('client_gone', 'gone'), () => {});
        return 'upstream_reset';
      });
      await worker.fail(compile(alone()), 5);
      expect(board.list('org-1', null)).to.have.length(0);
    });

    it('a stream that broke off after its head', async () => {
      const worker = new Worker(() => 200);
      const config = compile(alone());
      for (let i = 0; i < 3; i++) {
        const x = exchange(config);
        await worker.ask(config, { x });
        x.attempts.at(-1)!.error = 'upstream_truncated';
        await worker.log(x, 200, 'upstream_truncated');
      }
      await news();
      expect(board.list('org-1', null)[0]).to.include({
        requests: 3,
        failures: 3,
        reason: 'upstream_truncated',
      });
    });

    it('an attempt that failed before its head once, not again when the request ends', async () => {
      const worker = new Worker(() => 'upstream_reset');
      const config = compile(alone({ failure_threshold: 4 }));
      for (let i = 0; i < 3; i++) {
        const x = exchange(config);
        await worker.ask(config, { x });
        await worker.log(x, 502, 'upstream_reset');
      }
      await news();
      expect(board.list('org-1', null)).to.have.length(0);
    });

    it('what all workers see', async () => {
      const workers = [new Worker(firstFails), new Worker(firstFails), new Worker(firstFails)];
      const config = compile(two());
      for (const worker of workers) await worker.ask(config);
      await news();
      for (const worker of workers) expect(await worker.tries(config)).to.deep.equal(['[1]']);
    });
  });

  describe('that is open', () => {
    it('lets one request probe after the cooldown, of all requests of all workers', async () => {
      let answer: (status: number) => void = () => {};
      let slow = false;
      const script: Script = ({ path }) => {
        if (!path.endsWith('[0]')) return 200;
        return slow ? new Promise<number>((resolve) => (answer = resolve)) : 503;
      };
      const workers = [new Worker(script), new Worker(script)];
      const config = compile(two());
      await workers[0]!.fail(config, 3);
      ahead += 4900;
      for (const worker of workers) expect(await worker.tries(config)).to.deep.equal(['[1]']);
      ahead += 200;
      slow = true;
      for (const worker of workers) worker.tried.length = 0;
      const all = Array.from({ length: 20 }, (_, i) => workers[i % 2]!.ask(config));
      await news();
      expect(board.list('org-1', null)[0]).to.include({ state: 'half_open' });
      const probes = (): number =>
        workers.flatMap(({ tried }) => tried).filter((path) => path === '[0]').length;
      expect(probes()).to.equal(1);
      answer(503);
      expect(await Promise.all(all)).to.deep.equal(Array(20).fill(200));
      await news();
      // It failed: the cooldown begins anew.
      expect(board.list('org-1', null)[0]).to.include({ state: 'open', failures: 4 });
      ahead += 4000;
      for (const worker of workers) await worker.ask(config);
      expect(probes()).to.equal(1);
    });

    it('lets a request probe after the cooldown although the clock was set back meanwhile', async () => {
      let healthy = false;
      const workers = [
        new Worker(({ path }) => (path.endsWith('[0]') && !healthy ? 503 : 200)),
        new Worker(() => 200),
      ];
      const config = compile(two());
      await workers[0]!.fail(config, 3);
      wallSet = -3_600_000;
      healthy = true;
      for (const worker of workers) expect(await worker.tries(config)).to.deep.equal(['[1]']);
      const [report] = board.list('org-1', null);
      expect(report!.nextProbeAt - Date.now()).to.be.within(0, 5000);
      ahead += 5100;
      expect(await workers[0]!.tries(config)).to.deep.equal(['[0]']);
      await news();
      expect(board.list('org-1', null)).to.deep.equal([]);
    });

    it('closes for every worker when the probe does well', async () => {
      let healthy = false;
      const script: Script = ({ path }) => (path.endsWith('[0]') && !healthy ? 503 : 200);
      const workers = [new Worker(script), new Worker(script)];
      const config = compile(two());
      await workers[0]!.fail(config, 3);
      healthy = true;
      ahead += 5100;
      expect(await workers[1]!.tries(config)).to.deep.equal(['[0]']);
      await news();
      for (const worker of workers) expect(await worker.tries(config)).to.deep.equal(['[0]']);
      expect(board.list('org-1', null)).to.have.length(0);
    });

    it('restarts its counts when it has closed', async () => {
      let healthy = false;
      const worker = new Worker(({ path }) => (path.endsWith('[0]') && !healthy ? 503 : 200));
      const config = compile(two());
      await worker.fail(config, 3);
      healthy = true;
      ahead += 5100;
      await worker.fail(config, 1);
      healthy = false;
      await worker.fail(config, 2);
      expect(board.list('org-1', null)).to.have.length(0);
      await worker.fail(config, 1);
      expect(board.list('org-1', null)).to.have.length(1);
    });

    it('is probed again when the worker whose request probed has died', async () => {
      let hangs = false;
      const script: Script = ({ path }) => {
        if (!path.endsWith('[0]')) return 200;
        return hangs ? new Promise<number>(() => {}) : 503;
      };
      const [dies, lives] = [new Worker(script), new Worker(script)];
      const config = compile(two());
      await lives.fail(config, 3);
      ahead += 5100;
      hangs = true;
      void dies.ask(config);
      await news();
      expect(await lives.tries(config)).to.deep.equal(['[1]']);
      hub.gone(dies.shared.number);
      board.workerGone(dies.shared.number);
      await news();
      hangs = false;
      expect(await lives.tries(config)).to.deep.equal(['[0]', '[1]']);
    });

    it('is not probed by a request to count tokens, which would prove nothing', async () => {
      const worker = new Worker(firstFails);
      const config = compile(two());
      await worker.fail(config, 3);
      ahead += 6000;
      worker.tried.length = 0;
      const counting = { name: 'count-tokens', format: 'anthropic-count-tokens', counts: true } as Endpoint;
      await worker.ask(config, { x: exchange(config, 'ws-1', counting) });
      expect(worker.tried).to.deep.equal(['[1]']);
      expect(await worker.tries(config)).to.deep.equal(['[0]', '[1]']);
    });

    it('is probed by another request where the leave to probe came too late for the first', async () => {
      const worker = new Worker(firstFails);
      const config = compile(two());
      await worker.fail(config, 3);
      ahead += 5100;
      const take = hub.server.take.bind(hub.server);
      hub.server.take = (message, from, reply) =>
        take(message, from, (answer) => void setTimeout(() => reply(answer), 230));
      expect(await worker.tries(config)).to.deep.equal(['[1]']);
      hub.server.take = take;
      await new Promise((wait) => setTimeout(wait, 60));
      await hub.quiet();
      expect(board.list('org-1', null)[0]).to.include({ state: 'open' });
      expect(await worker.tries(config)).to.deep.equal(['[0]', '[1]']);
    });

    it('is probed a cooldown later when no client waited for the probe', async () => {
      let gone = false;
      const worker = new Worker(({ path }, x) => {
        if (!path.endsWith('[0]')) return 200;
        if (gone) x.abort(new GatewayError('client_gone', 'gone'), () => {});
        return gone ? 'client_gone' : 503;
      });
      const config = compile(two());
      await worker.fail(config, 3);
      ahead += 5100;
      gone = true;
      expect(await worker.tries(config)).to.deep.equal(['[0]']);
      gone = false;
      await news();
      expect(await worker.tries(config)).to.deep.equal(['[1]']);
      ahead += 5100;
      expect(await worker.tries(config)).to.deep.equal(['[0]', '[1]']);
    });

    it('is sent to a worker that starts', async () => {
      const config = compile(two());
      await new Worker(firstFails).fail(config, 3);
      const later = new Worker(firstFails);
      await news();
      expect(await later.tries(config)).to.deep.equal(['[1]']);
    });

    it("is its workspace's alone, and that version's of its config", async () => {
      const worker = new Worker(firstFails);
      const config = compile(two());
      await worker.fail(config, 3);
      expect(await worker.tries(config)).to.deep.equal(['[1]']);
      expect(await worker.tries(config, 'ws-2')).to.deep.equal(['[0]', '[1]']);
      expect(await worker.tries(compile(two(), '2'))).to.deep.equal(['[0]', '[1]']);
      expect(board.list('org-1', 'ws-2')).to.have.length(0);
      expect(board.list('org-2', null)).to.have.length(0);
      expect(board.list('org-1', 'ws-1')[0]).to.include({
        slug: 'pc-1',
        path: 'config.targets[0]',
        provider: 'openai',
        reason: '503',
        failures: 3,
      });
    });

    it('is left out of a load balancer, whose others share what it had', async () => {
      const worker = new Worker(firstFails);
      const config = compile({
        strategy: { mode: 'loadbalance', ...breaker() },
        targets: [
          { provider: 'openai', weight: 2 },
          { provider: 'anthropic', weight: 0 },
          { provider: 'groq', weight: 1 },
          { provider: 'cohere', weight: 3 },
        ],
      });
      random = () => 0;
      await worker.fail(config, 3);
      random = Math.random;
      worker.tried.length = 0;
      for (let i = 0; i < 4000; i++) await worker.ask(config);
      const share = (path: string): number => worker.tried.filter((tried) => tried === path).length / 4000;
      expect([share('[0]'), share('[1]')]).to.deep.equal([0, 0]);
      expect(share('[2]')).to.be.closeTo(0.25, 0.04);
      expect(share('[3]')).to.be.closeTo(0.75, 0.04);
    });

    it('leaves nothing to ask beside a target of weight 0, so that another balancer takes over', async () => {
      const worker = new Worker(({ path }) => (path.endsWith('.targets[0].targets[0]') ? 503 : 200));
      const config = compile({
        strategy: { mode: 'loadbalance', ...breaker() },
        targets: [
          {
            strategy: { mode: 'loadbalance' },
            targets: [{ provider: 'openai' }, { provider: 'groq', weight: 0 }],
          },
          { provider: 'cohere' },
        ],
      });
      random = () => 0;
      await worker.fail(config, 3);
      worker.tried.length = 0;
      for (let i = 0; i < 20; i++) await worker.ask(config);
      random = Math.random;
      expect(new Set(worker.tried)).to.deep.equal(new Set(['[1]']));
    });

    it('is no reason to refuse: where every target is open all are asked, and one that answers is closed', async () => {
      let healthy = false;
      const worker = new Worker(({ path }) => (healthy && path.endsWith('[1]') ? 200 : 503));
      const config = compile(two());
      await worker.fail(config, 3);
      expect(board.list('org-1', null)).to.have.length(2);
      expect(await worker.tries(config)).to.deep.equal(['[0]', '[1]']);
      healthy = true;
      expect(await worker.tries(config)).to.deep.equal(['[0]', '[1]']);
      await news();
      expect(await worker.tries(config)).to.deep.equal(['[1]']);
      expect(board.list('org-1', null).map(({ path }) => path)).to.deep.equal(['config.targets[0]']);
    });

    it('is not retried', async () => {
      const worker = new Worker(() => 503);
      const config = compile({ provider: 'openai', retry: { attempts: 2 }, ...breaker() });
      expect(await worker.tries(config)).to.have.length(3);
      await news();
      expect(await worker.tries(config)).to.have.length(1);
    });

    it('gives back what the last target answered where the next is left alone', async () => {
      let second = 503;
      const worker = new Worker(({ path }) => (path.endsWith('[1]') ? second : 500));
      const config = compile(two());
      await worker.fail(config, 3);
      second = 200;
      // The first fails by a status that does not count; the second is open.
      expect(await worker.ask(config)).to.equal(500);
      ahead += 5100;
      expect(await worker.ask(config)).to.equal(200);
    });
  });

  it('keeps no more than a thousand of one tenant, whatever it sends', async () => {
    const worker = new Worker(() => 503);
    const text = (i: number) => ({ provider: 'openai', custom_host: `https://h${i}.example`, ...breaker() });
    for (let i = 0; i < 1010; i++) for (let times = 0; times < 3; times++) await worker.ask(compile(text(i)));
    await news();
    expect(board.list('org-1', null)).to.have.length(1000);
  });
});
