import { expect } from 'chai';
import { SecretFailure } from '../../src/common/http/secret-access.js';
import type { Forget } from '../../src/common/ipc/messages.js';
import type { SecretReferenceRecord } from '../../src/common/ipc/records.js';
import type { FetchedSecret } from '../../src/control-plane/secret-references/secret-source.js';
import {
  type SecretTimes,
  SecretValues,
  usualTimes,
} from '../../src/control-plane/secret-references/secret-values.js';
import { eventually, pause } from '../support/gateway.js';
import { expectWithinMs } from '../support/time-limits.js';
import { VirtualTime } from '../support/virtual-time.js';

const reference = (revision = 1, id = 'r'): SecretReferenceRecord => ({
  id,
  revision,
  organisationId: 'o',
  slug: `slug-${id}`,
  managerType: 'env',
  auth: {},
  secretPath: 'X',
  secretKey: null,
  isAllowed: true,
});
const record = (name: string): Forget => ({ kind: 'provider', workspace: 'w', name });

const quick: SecretTimes = {
  freshMs: 40,
  graceMs: 60_000,
  fetchMs: 60_000,
  waitMs: [60_000, 60_000],
  retryMs: [10, 20],
  unusedMs: 60_000,
  refusedMs: 60_000,
};

describe('Values of secret references', () => {
  let fetches: number;
  let forgotten: string[];
  let logged: object[];
  let answer: () => Promise<FetchedSecret>;
  let values: SecretValues;

  function start(times: Partial<SecretTimes> = {}): void {
    fetches = 0;
    forgotten = [];
    logged = [];
    answer = async () => 'first';
    const log = (fields: object): unknown => logged.push(fields);
    values = new SecretValues({
      fetch() {
        fetches += 1;
        return answer();
      },
      forget: (what) => forgotten.push(...what.map(({ name }) => name)),
      log: { debug: log, info: log, warn: log, error: log } as never,
      times: { ...quick, ...times },
    });
  }
  beforeEach(() => start());
  afterEach(() => values.close());

  const get = (name = 'a') => values.get(reference(), record(name));
  const fails = async (): Promise<never> => {
    throw new SecretFailure('its manager is away');
  };

  it('are fetched once for however many ask', async () => {
    const found = await Promise.all(Array.from({ length: 500 }, (_, i) => get(`p${i}`)));
    expect(found.every(({ secret }) => secret === 'first')).to.equal(true);
    expect(fetches).to.equal(1);
  });

  it('are fetched again in the background, and workers forget the records that have another value', async () => {
    await get('a');
    await get('b');
    answer = async () => 'second';
    await eventually('workers forget', async () => forgotten.length === 2);
    expect(forgotten.sort()).to.deep.equal(['a', 'b']);
    expect(await get()).to.deep.equal({ secret: 'second' });
  });

  it('that are the same after a fetch change nothing', async () => {
    await get();
    await eventually('some fetches', async () => fetches >= 4);
    expect(forgotten).to.deep.equal([]);
  });

  it('serve on while their manager is away, until the grace is over', async () => {
    start({ graceMs: 150 });
    await get();
    answer = fails;
    await eventually('a fetch that failed', async () => fetches >= 2);
    expect(await get()).to.deep.equal({ secret: 'first' });
    await eventually('the end of the grace', async () => forgotten.length > 0);
    expect(await get()).to.deep.equal({ failure: 'its manager is away' });
    answer = async () => 'again';
    await eventually('a value', async () => (await get()).secret === 'again');
  });

  it('end with their five minutes where there is no grace, and are fetched again before', () => {
    const { freshMs, graceMs } = usualTimes(0);
    expect(freshMs + graceMs).to.equal(300_000);
    expect(freshMs).to.be.lessThan(300_000);
    expect(usualTimes(3_600_000)).to.include({ freshMs: 300_000, graceMs: 3_600_000 });
  });

  it('that cannot be fetched are fetched again with the first call after a pause', async () => {
    start({ retryMs: [100, 200] });
    answer = fails;
    expect(await get()).to.deep.equal({ failure: 'its manager is away' });
    for (let i = 0; i < 50; i++) await get();
    expect(fetches).to.equal(1);
    await eventually('workers ask again', async () => forgotten.length > 0);
    answer = async () => 'there';
    await eventually('a value', async () => (await get()).secret === 'there');
  });

  it('that come too late are a failure for who waits, and serve those that ask later', async () => {
    start({ waitMs: [10, 10] });
    let give: (secret: string) => void = () => {};
    answer = () => new Promise((resolve) => (give = resolve));
    expect(await get()).to.deep.equal({ failure: 'its secret manager does not answer in time' });
    give('late');
    await eventually('workers ask again', async () => forgotten.length > 0);
    expect(await get()).to.deep.equal({ secret: 'late' });
    expect(fetches).to.equal(1);
  });

  it('of a manager that never answers are a failure, for which later calls wait less', async () => {
    start({ fetchMs: 30, waitMs: [60_000, 5], retryMs: [0, 0] });
    answer = () => new Promise(() => {});
    const failure = { failure: 'its secret manager does not answer in time' };
    expect(await get()).to.deep.equal(failure);
    const asked = performance.now();
    expect(await get()).to.deep.equal(failure);
    expectWithinMs(performance.now() - asked, 20);
    // The fetch of the second call goes on.
    expect(fetches).to.equal(2);
  });

  it('of a changed reference are fetched again, and an older state of it does not come back', async () => {
    await get();
    answer = async () => 'of the second revision';
    expect(await values.get(reference(2), record('a'))).to.deep.equal({ secret: 'of the second revision' });
    expect(await values.get(reference(1), record('a'))).to.deep.equal({ secret: 'of the second revision' });
    expect(fetches).to.equal(2);
    expect(values.size).to.equal(1);
  });

  it('that no record has any more are no longer fetched', async () => {
    await get();
    values.forgotten([{ kind: 'provider', workspace: null, name: '*' }]);
    await eventually('it is dropped', async () => values.size === 0);
    expect(fetches).to.equal(1);
  });

  it('that no call has used for long are asked for again by the workers that still do', async () => {
    start({ unusedMs: 20 });
    await get();
    await eventually('workers forget', async () => forgotten.length > 0);
    await eventually('it is dropped', async () => values.size === 0);
  });

  it('are fetched again at once when a provider refuses them, but not for each refusal', async () => {
    start({ freshMs: 60_000 });
    await get();
    answer = async () => 'rotated';
    for (let i = 0; i < 20; i++) values.refused(record('a'));
    values.refused(record('another'));
    await eventually('workers forget', async () => forgotten.length > 0);
    await get();
    for (let i = 0; i < 20; i++) values.refused(record('a'));
    await pause(20);
    expect(fetches).to.equal(2);
  });

  it('are bounded in number and in bytes', async () => {
    const text = 'x'.repeat(256 * 1024);
    answer = async () => text;
    for (let i = 0; i < 200; i++) await values.get(reference(1, `r${i}`), record(`p${i}`));
    expect(values.size).to.be.lessThan(50);
    // Workers do not keep what would not be fetched again.
    expect(forgotten.length).to.equal(200 - values.size);
  });

  it('are named in the log by their reference, once for each time that they fail, and never shown', async () => {
    answer = async () => 'canary';
    await get();
    answer = fails;
    await eventually('some fetches', async () => fetches >= 4);
    expect(logged).to.deep.equal([{ reference: 'slug-r', manager: 'env', why: 'its manager is away' }]);
  });

  describe('over hours with ten askers a second', () => {
    const second = 1000;
    let time: VirtualTime;
    let underWay: number;
    let mostUnderWay: number;
    /** When fetches began. Milliseconds. */
    let fetchedAt: number[];

    beforeEach(() => {
      time = new VirtualTime().install();
      underWay = 0;
      mostUnderWay = 0;
      fetchedAt = [];
    });
    afterEach(() => time.restore());

    /** A manager that takes so long, and fails where it has no value. */
    function manager(ms: number, value: () => string | null): void {
      answer = async () => {
        fetchedAt.push(performance.now());
        underWay += 1;
        mostUnderWay = Math.max(mostUnderWay, underWay);
        await new Promise<void>((done) => setTimeout(done, ms));
        underWay -= 1;
        const found = value();
        return found ?? fails();
      };
    }

    /** Asks for so long; `seen` gets each answer, and how long it took. */
    async function ask(
      seconds: number,
      seen: (found: string, waitedMs: number, at: number) => void,
    ): Promise<void> {
      for (let i = 0; i < seconds; i++) {
        const at = performance.now();
        for (let asker = 0; asker < 10; asker++)
          void get(`p${asker}`).then((found) =>
            seen('secret' in found ? String(found.secret) : 'failure', performance.now() - at, at),
          );
        await new Promise<void>((done) => setTimeout(done, second));
      }
    }

    /** Lets that happen in virtual time. */
    async function passes(work: () => Promise<void>): Promise<void> {
      const done = work();
      await time.run();
      await done;
    }

    it('one fetch at a time is under way, none waits for the next one, and a rotation is seen within five minutes', async () => {
      start(usualTimes(3_600_000));
      manager(5 * second, () => (performance.now() < 1800 * second ? 'before' : 'after'));
      let longest = 0;
      let lastBefore = 0;
      await passes(() =>
        ask(3600, (found, waited, at) => {
          if (at > 10 * second) longest = Math.max(longest, waited);
          if (found === 'before') lastBefore = at;
        }),
      );
      expect(longest).to.equal(0);
      expect(mostUnderWay).to.equal(1);
      // Every 285 to 300 s, and 5 s that it takes.
      expect(fetchedAt.length).to.be.within(12, 14);
      expect(lastBefore).to.be.within(1800 * second, 2110 * second);
    });

    for (const grace of [0, 3600])
      it(`fetches are further and further apart while all fail; the value ends with a grace of ${grace} s`, async () => {
        start(usualTimes(grace * second));
        const deadFrom = 100 * second;
        manager(second, () => (performance.now() < deadFrom ? 'value' : null));
        const last: Record<string, number> = {};
        const first: Record<string, number> = {};
        await passes(() =>
          ask(5400, (found, _, at) => {
            first[found] ??= at;
            last[found] = at;
          }),
        );
        expect(mostUnderWay).to.equal(1);
        // The value came after a second.
        expect(last['value']).to.be.within((299 + grace) * second, (301 + grace) * second);
        expect(first['failure']).to.be.within((300 + grace) * second, (302 + grace) * second);
        const apart = fetchedAt.slice(1).map((at, i) => at - fetchedAt[i]!);
        // From the begin of the first that failed: 5, 10, 20, then 30 s, and the second that each takes.
        expect(Math.min(...apart.slice(1))).to.be.at.least(5 * second);
        expect(Math.min(...apart.slice(5))).to.be.at.least(30 * second);
        expect(fetchedAt.length).to.be.within(140, 180);
      });
  });
});
