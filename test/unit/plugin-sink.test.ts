import { expect } from 'chai';
import { PluginSink } from '../../src/data-plane/pipeline/plugins/live/plugin-sink.js';
import { eventually } from '../support/gateway.js';

/** The listeners to `abort` that were added to signals with a controller since, and not removed. */
function countListeners(): () => number {
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  const open = new Set<unknown>();
  EventTarget.prototype.addEventListener = function (...given: never[]) {
    if (given[0] === 'abort') open.add(given[1]);
    return addEventListener.apply(this, given as never);
  };
  EventTarget.prototype.removeEventListener = function (...given: never[]) {
    open.delete(given[1]);
    return removeEventListener.apply(this, given as never);
  };
  return () => {
    Object.assign(EventTarget.prototype, { addEventListener, removeEventListener });
    return open.size;
  };
}

describe('the sink of a plugin', () => {
  const quiet = { info() {}, warn() {}, error() {} };
  const value = (sink: PluginSink<never>, name: string): number =>
    sink.metrics().find((metric) => metric.name === name)!.value;

  it('hands records over in batches and in order, and the same batch again after a failure', async () => {
    const batches: (readonly number[])[] = [];
    let failures = 1;
    const sink = new PluginSink<number>(
      'mine',
      {
        name: 'out',
        batch: 3,
        everyMs: 20,
        async deliver(batch) {
          batches.push(batch);
          if (failures-- > 0) throw new Error('away');
        },
      },
      quiet,
    );
    for (let n = 1; n <= 5; n++) expect(sink.add(n)).to.equal(true);
    await eventually(
      'all is delivered',
      async () => value(sink as never, 'gateway_sink_delivered_total') === 5,
    );
    expect(batches).to.deep.equal([
      [1, 2, 3],
      [1, 2, 3],
      [4, 5],
    ]);
    expect(value(sink as never, 'gateway_sink_queued_bytes')).to.equal(0);
  });

  it('keeps no more than its bytes: the oldest go, and are counted', async () => {
    let go!: () => void;
    const wait = new Promise<void>((resolve) => {
      go = resolve;
    });
    const seen: string[] = [];
    const sink = new PluginSink<string>(
      'mine',
      {
        name: 'out',
        batch: 2,
        maxBytes: 50,
        async deliver(batch) {
          await wait;
          seen.push(...batch);
        },
      },
      quiet,
    );
    for (let n = 0; n < 10; n++) sink.add(`record ${n}`);
    expect(sink.add('x'.repeat(60))).to.equal(false);
    expect(sink.add(1n as never)).to.equal(false);
    expect(value(sink as never, 'gateway_sink_queued_bytes')).to.be.at.most(50);
    expect(value(sink as never, 'gateway_sink_dropped_total')).to.equal(7);
    go();
    await sink.close();
    expect(seen.slice(-5)).to.deep.equal([5, 6, 7, 8, 9].map((n) => `record ${n}`));
    expect(sink.add('late')).to.equal(false);
  });

  it('gives a batch up after so many attempts, and delivers what waits when it is closed', async () => {
    const seen: number[] = [];
    const errors: string[] = [];
    const sink = new PluginSink<number>(
      'mine',
      {
        name: 'out',
        batch: 1,
        attempts: 1,
        deliver(batch) {
          if (batch[0] === 1) throw new Error('no');
          seen.push(...batch);
        },
      },
      { ...quiet, error: (_fields, message) => void errors.push(message) },
    );
    sink.add(1);
    sink.add(2);
    await sink.close();
    expect(seen).to.deep.equal([2]);
    expect(errors).to.deep.equal([
      'the sink out of the plugin mine could not deliver a batch, which is dropped',
    ]);
  });

  it('keeps no listener after a wait between attempts', async () => {
    let attempts = 0;
    const sink = new PluginSink<number>(
      'mine',
      {
        name: 'out',
        batch: 1,
        attempts: 2,
        deliver() {
          attempts++;
          throw new Error('no');
        },
      },
      quiet,
    );
    const listeners = countListeners();
    sink.add(1);
    await eventually('it is given up', async () => attempts === 2);
    await sink.close();
    expect(listeners()).to.equal(0);
  });
});
