// lane: slow
import type { Socket } from 'node:net';
import { expect } from 'chai';
import type { Resolve } from '../../src/data-plane/upstream/address/resolver.js';
import type { UpstreamOptions } from '../../src/data-plane/upstream/dispatch.js';
import type { Upstream, UpstreamRequest } from '../../src/data-plane/upstream/upstream.js';
import { HostileUpstream, okReply } from '../support/hostile-upstream.js';
import { isLong } from '../support/long-forms.js';
import { fly, sleep, until } from '../support/recorded-flight.js';
import { forEachUpstream } from '../support/upstreams.js';

/** Of each kind of answer there are seven, which every other round waits for. */
const rounds = isLong ? 400 : 84;

/** An upstream that records, of each connection, who has used it. */
class Observed {
  readonly users = new Map<Socket, Set<string>>();
  readonly server: HostileUpstream;

  /** `after`: called with what was asked once it has been answered. */
  constructor(after: (socket: Socket, user: string, number: number) => void = () => {}) {
    this.server = new HostileUpstream({
      request: (socket, { head, number }) => {
        const user = /x-user: (\S+)/.exec(head)?.[1] ?? '';
        const users = this.users.get(socket) ?? new Set();
        this.users.set(socket, users.add(user));
        socket.write(okReply(`for ${user}`));
        after(socket, user, number);
      },
    });
  }

  /** Those connections that more than one of them has used. */
  get shared(): string[][] {
    return [...this.users.values()].map((users) => [...users]).filter((users) => users.length > 1);
  }
}

describe('kept connections to an upstream', () => {
  forEachUpstream(({ name, create: createUpstream }) => {
    const open: (Upstream | HostileUpstream)[] = [];
    const real = performance.now;

    const gateway = (options: Partial<UpstreamOptions> = {}): Upstream => {
      const upstream = createUpstream({
        connectionsPerOrigin: 8,
        keepAliveMs: 30_000,
        egressAllow: ['127.0.0.0/8'],
        ...options,
      });
      open.push(upstream);
      return upstream;
    };
    const listening = async (observed: Observed): Promise<Observed> => {
      open.push(await observed.server.listen());
      return observed;
    };
    const ask = async (
      upstream: Upstream,
      url: string,
      user: string,
      more: Partial<UpstreamRequest> = {},
    ) => {
      const request = { tenant: user, headers: ['x-user', user], ...more };
      const flight = await fly(upstream, url, request).finished;
      // undici counts a connection as free some turns after it has reported the end of a reply.
      if (name === 'undici') await sleep(5);
      return flight;
    };
    /** As if so much more time had passed. */
    const pass = (ms: number): void => {
      performance.now = () => real.call(performance) + ms;
    };

    afterEach(async () => {
      performance.now = real;
      for (const one of open.splice(0)) await one.close();
    });

    for (const callerChosen of [false, true]) {
      const host = callerChosen ? 'a custom host' : 'a stored provider';

      it(`carry the requests of one workspace only, whatever ${host} sends unasked`, async function () {
        this.timeout(20_000);
        // A second answer that nobody asked for: at once, or some turns of the event loop later.
        const observed = await listening(
          new Observed((socket, user, number) => {
            if (user !== 'attacker') return;
            const send = (turns: number): void => {
              if (turns === 0) socket.write(okReply('stolen'));
              else setImmediate(send, turns - 1);
            };
            send(number % 7);
          }),
        );
        const upstream = gateway();
        let answered = 0;
        for (let round = 0; round < rounds; round++) {
          const more = { callerChosen };
          const attack = ask(upstream, observed.server.url, 'attacker', more);
          if (round % 2 === 0) await attack;
          const victim = await ask(upstream, observed.server.url, 'victim', more);
          await attack;
          expect(victim.failure).to.equal(null);
          expect(victim.text).to.equal('for victim');
          answered += 1;
        }
        expect(answered).to.equal(rounds);
        expect(observed.shared).to.deep.equal([]);
        // What was kept is used: the victim has not paid for a connection each time.
        const victims = [...observed.users.values()].filter((users) => users.has('victim'));
        expect(victims.length).to.be.below(10);
      });

      it(`to ${host} are not shared by two credentials of a workspace`, async () => {
        const observed = await listening(new Observed());
        const upstream = gateway();
        for (let i = 0; i < 20; i++) {
          const user = i % 2 === 0 ? 'first' : 'second';
          const answer = await ask(upstream, observed.server.url, user, {
            callerChosen,
            tenant: 'one',
            account: user,
          });
          expect(answer.text).to.equal(`for ${user}`);
        }
        expect(observed.shared).to.deep.equal([]);
        expect(observed.server.connections).to.equal(2);
      });

      it(`to ${host} are used again, and destroyed by bytes that come while they are idle`, async () => {
        const observed = await listening(new Observed());
        const upstream = gateway();
        for (let i = 0; i < 5; i++) await ask(upstream, observed.server.url, 'a', { callerChosen });
        expect(observed.server.connections).to.equal(1);
        for (const socket of observed.server.sockets) socket.write('H');
        await until(() => observed.server.sockets.size === 0);
        expect((await ask(upstream, observed.server.url, 'a', { callerChosen })).text).to.equal('for a');
        expect(observed.server.connections).to.equal(2);
      });
    }

    it('of all workspaces together are limited: the one unused for longest is closed', async function () {
      // With undici it closes whole pools, and takes those used within the same half second for equally old.
      if (name === 'undici') this.skip();
      const observed = await listening(new Observed());
      const upstream = gateway({ maxIdle: 3 });
      for (const user of ['a', 'b', 'c', 'a', 'd']) await ask(upstream, observed.server.url, user);
      await until(() => observed.server.sockets.size === 3);
      for (const user of ['a', 'c', 'd']) await ask(upstream, observed.server.url, user);
      expect(observed.server.connections).to.equal(4);
      await ask(upstream, observed.server.url, 'b');
      expect(observed.server.connections).to.equal(5);
      await until(() => observed.server.sockets.size === 3);
    });

    it('make room for the connections that requests need', async function () {
      // With undici it counts a connection as closed once its socket is, and closes more pools than needed meanwhile.
      if (name === 'undici') this.skip();
      const observed = await listening(new Observed());
      const silent = await new HostileUpstream({ request: () => {} }).listen();
      open.push(silent);
      const upstream = gateway({ maxOpen: 4 });
      for (const user of ['a', 'b', 'c']) await ask(upstream, observed.server.url, user);
      await ask(upstream, observed.server.url, 'd', { callerChosen: true });
      expect(observed.server.sockets.size).to.equal(4);
      // A connection counts as idle once its socket has been looked at after the answer.
      await sleep(20);
      const busy = [1, 2, 3].map(() => fly(upstream, silent.url));
      await until(() => silent.heads.length === 3 && observed.server.sockets.size === 1);
      await ask(upstream, observed.server.url, 'c');
      expect(observed.server.connections, 'the one used last is still there').to.equal(4);
      // Where no idle one is left, requests get theirs all the same.
      busy.push(fly(upstream, silent.url), fly(upstream, silent.url));
      await until(() => silent.heads.length === 5 && observed.server.sockets.size === 0);
      for (const { flight } of busy) flight.cancel();
      await until(() => silent.sockets.size === 0);
      for (const user of ['a', 'b', 'c', 'd']) await ask(upstream, observed.server.url, user);
      expect(observed.server.sockets.size).to.equal(4);
    });

    it('of one workspace that uses ever new credentials are limited before those of others', async function () {
      this.timeout(20_000);
      const observed = await listening(new Observed());
      const upstream = gateway();
      await ask(upstream, observed.server.url, 'quiet');
      for (let i = 0; i < 600; i++)
        await ask(upstream, observed.server.url, 'loud', { account: `credential ${i}` });
      await until(() => observed.server.sockets.size <= 513);
      const before = observed.server.connections;
      await ask(upstream, observed.server.url, 'quiet');
      expect(observed.server.connections).to.equal(before);
    });

    for (const callerChosen of [true, false]) {
      const host = callerChosen ? 'custom hosts' : 'providers';

      it(`to ${host} that are not open yet are few once their requests have ended`, async function () {
        // undici ends a connection that is being opened when its time is up, not when its request has gone.
        if (name === 'undici') this.skip();
        this.timeout(20_000);
        // It accepts connections, and never answers the handshake.
        const silent = await new HostileUpstream({}).listen();
        open.push(silent);
        const upstream = gateway();
        const url = silent.url.replace('http:', 'https:');
        const waiting = fly(upstream, url, { callerChosen, tenant: 'quiet' });
        for (let i = 0; i < 300; i++) {
          const { flight } = fly(upstream, url, { callerChosen, tenant: 'loud', account: `credential ${i}` });
          await until(() => silent.connections === i + 2);
          flight.cancel();
        }
        await until(() => silent.sockets.size <= 65);
        // It waits for its own, which is not among those that make room.
        expect(waiting.failure).to.equal(null);
        expect(silent.sockets.size).to.be.above(1);
        waiting.flight.cancel();
      });
    }

    it('that were begun for a request that has gone carry the next one', async function () {
      // undici opens another connection while one is being opened.
      if (name === 'undici') this.skip();
      const observed = await listening(new Observed());
      const upstream = gateway();
      fly(upstream, observed.server.url, { tenant: 'a', headers: ['x-user', 'gone'] }).flight.cancel();
      for (let i = 0; i < 3; i++) await ask(upstream, observed.server.url, 'a');
      expect(observed.server.connections).to.equal(1);
    });

    it('to a custom host are used for 4 s, or for as long as it announces', async function () {
      // undici's timers are real, this test's clock is not; `keepAliveTimeout` is set to the same 4 s.
      if (name === 'undici') this.skip();
      for (const [said, idleMs, connections] of [
        ['', 3_500, 1],
        ['', 4_500, 2],
        ['keep-alive: timeout=20', 15_000, 1],
      ] as const) {
        const server = await new HostileUpstream({
          request: (socket) => void socket.write(okReply('x', ...(said === '' ? [] : [said]))),
        }).listen();
        open.push(server);
        const upstream = gateway();
        const go = () => fly(upstream, server.url, { callerChosen: true }).finished;
        await go();
        await sleep(20);
        pass(idleMs);
        await go();
        expect(server.connections, `${said}, after ${idleMs} ms`).to.equal(connections);
        performance.now = real;
      }
    });

    it('to a custom host that stay unused are few', async function () {
      // undici cannot close some of the idle connections of a pool.
      if (name === 'undici') this.skip();
      const observed = await listening(new Observed());
      const upstream = gateway({ connectionsPerOrigin: 20 });
      const burst = Array.from({ length: 20 }, () =>
        ask(upstream, observed.server.url, 'a', { callerChosen: true }),
      );
      await Promise.all(burst);
      await until(() => observed.server.sockets.size <= 8, 5_000);
      expect(observed.server.sockets.size).to.equal(8);
    });

    describe('to a custom host with a name', () => {
      let asked: string[];
      let addresses: readonly string[];
      const resolve: Resolve = (name) => {
        asked.push(name);
        return Promise.resolve(addresses);
      };

      beforeEach(() => {
        asked = [];
        addresses = ['127.0.0.1'];
      });

      it('go by one check of its addresses for a minute at most, then by the next', async () => {
        const observed = await listening(new Observed());
        const upstream = gateway({ resolve });
        const url = `http://model.example.org:${observed.server.port}/`;
        const go = () => ask(upstream, url, 'a', { callerChosen: true });
        await go();
        pass(50_000);
        await go();
        expect(asked).to.have.length(1);
        pass(60_000);
        await go();
        expect(asked).to.have.length(2);
        expect(observed.server.connections).to.be.above(1);
      });

      it('are not used once the name leads elsewhere, nor is an address that is not allowed', async () => {
        const observed = await listening(new Observed());
        const upstream = gateway({ resolve, egressAllow: ['127.0.0.1/32'] });
        const url = `http://model.example.org:${observed.server.port}/`;
        const go = () => ask(upstream, url, 'a', { callerChosen: true });
        expect((await go()).text).to.equal('for a');
        addresses = ['127.0.0.2'];
        expect((await go()).text, 'checked a moment ago').to.equal('for a');
        pass(60_000);
        expect((await go()).failure?.code).to.equal('invalid_custom_host');
        expect(observed.server.heads).to.have.length(2);
        addresses = ['127.0.0.1'];
        expect((await go()).text).to.equal('for a');
      });

      it('that carry a request when the minute is over finish it, and are closed', async () => {
        let answer: () => void = () => {};
        const slow = await new HostileUpstream({
          request: (socket) => {
            answer = () => socket.write(okReply('late'));
          },
        }).listen();
        open.push(slow);
        const upstream = gateway({ resolve });
        const url = `http://model.example.org:${slow.port}/`;
        const first = fly(upstream, url, { callerChosen: true });
        await until(() => slow.heads.length === 1);
        pass(60_000);
        answer();
        expect((await first.finished).text).to.equal('late');
        const second = fly(upstream, url, { callerChosen: true });
        await until(() => slow.heads.length === 2);
        answer();
        await second.finished;
        expect(slow.connections).to.equal(2);
        expect(asked).to.have.length(2);
      });

      it('are checked for each workspace separately, and again for each URL', async () => {
        const observed = await listening(new Observed());
        const upstream = gateway({ resolve });
        const host = `http://model.example.org:${observed.server.port}`;
        await ask(upstream, `${host}/a/../b`, 'a', { callerChosen: true });
        await ask(upstream, `${host}/`, 'b', { callerChosen: true });
        expect(asked).to.have.length(2);
        expect(observed.server.heads[0]).to.match(/^POST \/b /);
        const refused = await ask(upstream, `${host}/\\x`, 'a', { callerChosen: true });
        expect(refused.failure?.code).to.equal('invalid_custom_host');
        await sleep(10);
        expect(observed.server.heads).to.have.length(2);
      });
    });
  });
});
