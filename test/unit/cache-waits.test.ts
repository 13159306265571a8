import { expect } from 'chai';
import { SharedAnswers, serveAnswers } from '../../plugins/cache/control/shared-answers.js';
import type { CacheStore } from '../../plugins/cache/control/store.js';
import { SharedStore } from '../../plugins/cache/shared/shared-store.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Reply } from '../../src/common/core/exchange.js';
import { CacheStage, completion, usualFacts } from '../support/cache-stage.js';
import { pause } from '../support/gateway.js';
import { seeded } from '../support/seeded.js';
import { SharedHub, silent } from '../support/shared.js';

/** Milliseconds that a worker waits for the shared store. */
const waitMs = 25;

describe('calls of several workers that wait for one answer', function () {
  this.timeout(30_000);

  /** A store that answers when it is let to. */
  class SlowStore implements CacheStore {
    readonly kept = new Map<string, string>();

    constructor(readonly delay: () => Promise<unknown>) {}

    async read(key: string): Promise<string | null> {
      const entry = this.kept.get(key) ?? null;
      await this.delay();
      return entry;
    }

    write(key: string, entry: string): void {
      this.kept.set(key, entry);
    }

    async close(): Promise<void> {}
  }

  it('each go on in the end, with a slow store, failing calls, and clients and workers that leave', async () => {
    const random = seeded(23);
    const store = new SlowStore(() => pause(random() < 0.04 ? 3 * waitMs : 0));
    const hub = new SharedHub();
    const answers = serveAnswers(hub.server, store, null, silent);
    const open = async () => {
      const shared = hub.worker();
      const stage = await CacheStage.open({ shared: true, waitMs }, { shared });
      let die = (): void => {};
      const death = new Promise<null>((resolve) => {
        die = () => resolve(null);
      });
      return { number: shared.number, stage, death, die };
    };
    const workers = await Promise.all([open(), open(), open()]);
    const dead = new Set<number>();
    /** Calls that wait, and the worker that has each. */
    const waiting = new Map<object, number>();
    let calls = 0;

    async function call(): Promise<void> {
      const { stage, number, death } = workers[Math.floor(random() * workers.length)]!;
      // A few calls for each key: what one leaves behind is not cleared by later ones.
      const x = stage.call({ ...usualFacts, organisation: `${Math.floor(calls++ / 6 - random() * 60)}` });
      const gone = new GatewayError('client_gone', 'The client has gone.');
      let isOver = false;
      const over = (): void => {
        if (!isOver && !dead.has(number)) stage.over(x);
        isOver = true;
      };
      const leaving =
        random() < 0.3
          ? setTimeout(() => {
              if (x.company?.outlasts(over) === true) return;
              x.abort(gone, () => {});
              over();
            }, random() * 10)
          : undefined;
      waiting.set(x, number);
      const looked = Promise.resolve(stage.look(x)).catch(() => null);
      const reply = (await Promise.race([looked, death])) as Reply | null | undefined;
      waiting.delete(x);
      if (reply === undefined && !isOver) {
        await pause(random() * 3);
        if (!isOver && random() < 0.1) stage.answer(x, completion('an answer'));
      }
      clearTimeout(leaving);
      over();
    }

    const until = performance.now() + 2500;
    const clients = Array.from({ length: 24 }, async () => {
      while (performance.now() < until) await call();
    });
    const deaths = (async () => {
      for (let i = 0; i < 5; i++) {
        await pause(200);
        const at = Math.floor(random() * workers.length);
        const { number, die } = workers[at]!;
        workers[at] = await open();
        dead.add(number);
        die();
        hub.gone(number);
        answers.gone(number);
      }
    })();
    await Promise.race([Promise.all([...clients, deaths]), pause(8000)]);
    const left = [...waiting.values()].filter((number) => !dead.has(number));
    expect(left.length, `still waiting, of ${calls} calls`).to.equal(0);
  });

  const noStore = { read: async () => null, write() {}, close: async () => {} };
  const ended = <T>(wait: Promise<T> | T): Promise<T | 'waits'> =>
    Promise.race([wait, pause(100).then(() => 'waits' as const)]);

  it('do not wait for a call that ended before the store had answered it', async () => {
    const answers = new SharedAnswers(new SlowStore(() => pause(20)), () => {});
    const first = answers.read('key', 1);
    answers.over('key', 1);
    expect(await first).to.deep.equal({ entry: null, led: false });
    expect(await answers.read('key', 2)).to.deep.equal({ entry: null, led: false });
  });

  it('do not wait for a call of a worker that ended while it waited itself', async () => {
    const answers = new SharedAnswers(noStore, () => {});
    await answers.read('key', 1);
    const left = answers.wait('key', 2);
    const waits = answers.wait('key', 3);
    answers.gone(2);
    answers.over('key', 1);
    expect(await ended(left)).to.equal('waits');
    expect(await ended(waits)).to.deep.equal({ entry: null, led: false });
  });

  it('go on by themselves when the answer takes too long, and keep no others waiting after it', async () => {
    const hub = new SharedHub();
    serveAnswers(hub.server, noStore, null, silent);
    const [first, late, other] = [hub.worker(), hub.worker(), hub.worker()].map(
      (shared) => new SharedStore(shared, 1000, () => {}, shared.number === 1 ? 30 : 10_000),
    ) as [SharedStore, SharedStore, SharedStore];
    await first.read('key');
    const [gaveUp, waits] = [late.wait('key'), other.wait('key')];
    expect(await gaveUp).to.deep.equal({ entry: null, led: false });
    first.over('key');
    expect(await ended(waits)).to.deep.equal({ entry: null, led: false });
  });
});
