import { expect } from 'chai';
import type { ConfigRecord } from '../../src/common/ipc/records.js';
import { LookupChannel } from '../../src/data-plane/directory/channel.js';
import { WorkerDirectory } from '../../src/data-plane/directory/directory.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';

describe('a saved config', () => {
  /** A worker's directory over one config, and what was done to answer it. */
  function directory(text: () => string) {
    const seen = { asked: 0, compiled: 0 };
    const channel: LookupChannel = new LookupChannel((message) => {
      seen.asked++;
      if (message.t !== 'lookup') return;
      const record = { slug: 'pc-1', version: String(seen.asked), text: text() } as ConfigRecord;
      queueMicrotask(() => channel.answered(message.id, record));
    });
    const compile = ({ text: written, slug, version }: ConfigRecord) => {
      seen.compiled++;
      return compileConfig(written, { slug, version, isProvider: () => true });
    };
    return { seen, known: new WorkerDirectory({ channel, compile }) };
  }

  it('is compiled once in a worker, for all calls that name it at once and ever after', async () => {
    const { known, seen } = directory(() => '{"retry":{"attempts":1}}');
    const found = await Promise.all(Array.from({ length: 50 }, () => known.config('ws', 'pc-1')));
    for (const config of found) expect(config).to.equal(found[0]);
    for (let i = 0; i < 1000; i++) expect(known.config('ws', 'pc-1')).to.equal(found[0]);
    expect(seen).to.deep.equal({ asked: 1, compiled: 1 });
  });

  it('is compiled again once it was changed, and earlier calls keep what they began with', async () => {
    let attempts = 1;
    const { known, seen } = directory(() => `{"retry":{"attempts":${attempts}}}`);
    const first = await known.config('ws', 'pc-1');
    attempts = 2;
    known.forget([{ kind: 'config', workspace: 'ws', name: 'pc-1' }]);
    const second = await known.config('ws', 'pc-1');
    expect([first, second].map((config) => config?.root)).to.have.nested.property(
      '[0].target.retry.attempts',
      1,
    );
    expect(second?.root).to.have.nested.property('target.retry.attempts', 2);
    expect(second?.fingerprint).not.to.equal(first?.fingerprint);
    expect(seen).to.deep.equal({ asked: 2, compiled: 2 });
  });
});
