import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { KeyRecord, ProviderRecord } from '../../src/common/ipc/records.js';
import { KnownRecords } from '../../src/control-plane/store/known/known-records.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { folder } from '../support/stores.js';

const masterKey = new MasterKey(randomBytes(32));
const keys = { pepper: randomBytes(32), audit: randomBytes(32) };
const point = { seq: 7, mark: 'm' };

const keyOf = (keyId: string, more: Partial<KeyRecord> = {}): KeyRecord => ({
  organisationId: 'o',
  workspaceId: 'w',
  keyId,
  keyName: 'key',
  keyType: 'workspace-service',
  userId: null,
  scopes: [],
  expiresAt: null,
  blockInline: false,
  defaults: { configId: null, allowConfigOverride: true, metadata: {} },
  ...more,
});
const provider = {
  id: 'p',
  slug: 'main',
  workspaceId: 'w',
  credential: 'sk-very-secret',
} as unknown as ProviderRecord;

describe('records that are known while the store is away', () => {
  let path: string;
  const open: KnownRecords[] = [];
  const problems: unknown[] = [];
  const openKnown = (
    more: { maxBytes?: number; staleMs?: number; masterKey?: MasterKey } = {},
  ): KnownRecords => {
    const onProblem = (error: unknown): void => void problems.push(error);
    const known = new KnownRecords({ path, masterKey, staleMs: 60_000, onProblem, ...more });
    open.push(known);
    return known;
  };
  const begun = async (more = {}): Promise<KnownRecords> => {
    const known = openKnown(more);
    await known.begin(keys);
    known.current(point);
    return known;
  };
  const keep = (known: KnownRecords, name: string, more: Partial<KeyRecord> = {}): void =>
    known.answered(known.ask('key', null, name), keyOf(name, more));
  const has = (known: KnownRecords, name: string): boolean => known.find('key', null, name)?.keyId === name;

  beforeEach(() => {
    path = join(folder(), 'known.sealed');
    problems.length = 0;
  });
  afterEach(() => {
    for (const known of open.splice(0)) known.close();
    expect(problems).to.deep.equal([]);
  });

  it('are there at the next start, with the keys of their store and the change up to which they are true', async () => {
    const known = await begun();
    keep(known, 'a');
    known.answered(known.ask('provider', 'w', 'main'), provider);
    known.close();
    expect(statSync(path).mode & 0o777).to.equal(0o600);
    for (const secret of ['sk-very-secret', 'main', keys.pepper.toString('hex')])
      expect(readFileSync(path).includes(secret), secret).to.equal(false);
    const again = openKnown();
    expect([again.keys, again.point]).to.deep.equal([keys, point]);
    expect(again.find('provider', 'w', 'main')).to.deep.equal(provider);
    expect(has(again, 'a')).to.equal(true);
    expect(again.find('key', null, 'unknown')).to.equal(undefined);
  });

  it('are forgotten for good at once, also where the process is killed right afterwards', async () => {
    const known = await begun();
    for (const name of ['a', 'b', 'c']) keep(known, name, { workspaceId: name === 'b' ? 'other' : 'w' });
    keep(known, 'd', { userId: 'u' });
    known.forget([{ kind: 'key', workspace: null, name: 'a' }]);
    known.forget([{ kind: 'key', workspace: 'other', name: '*' }]);
    known.forget([{ kind: 'key', workspace: null, user: 'u', name: '*' }]);
    // Not closed: as after kill -9.
    const again = openKnown();
    for (const one of [known, again])
      expect(['a', 'b', 'c', 'd'].map((name) => has(one, name))).to.deep.equal([false, false, true, false]);
    known.forget([{ kind: 'key', workspace: null, name: '*' }]);
    expect(openKnown().size).to.equal(0);
  });

  it('are not kept where they were forgotten while they were asked for', async () => {
    const known = await begun();
    const [a, b] = [known.ask('key', null, 'a'), known.ask('key', null, 'b')];
    known.forget([{ kind: 'key', workspace: null, name: 'a' }]);
    known.answered(a, keyOf('a'));
    known.answered(b, keyOf('b'));
    expect([has(known, 'a'), has(known, 'b')]).to.deep.equal([false, true]);
    const c = known.ask('key', null, 'c');
    known.forget([{ kind: 'key', workspace: 'w', name: '*' }]);
    known.answered(c, keyOf('c'));
    expect(known.size).to.equal(0);
  });

  it('are not used once the store has been away for too long, nor at a start after that', async () => {
    const known = await begun({ staleMs: 150 });
    keep(known, 'a');
    expect(has(known, 'a')).to.equal(true);
    known.close();
    await new Promise((wait) => setTimeout(wait, 200));
    expect([known.isStale, has(known, 'a')]).to.deep.equal([true, false]);
    expect(openKnown({ staleMs: 150 }).keys).to.equal(null);
    expect(openKnown({ staleMs: 60_000 }).keys).to.deep.equal(keys);
    known.current(point);
    expect(has(known, 'a')).to.equal(true);
  });

  it('are those of one store: of another nothing is known', async () => {
    const known = await begun();
    keep(known, 'a');
    known.close();
    const again = openKnown();
    await again.begin({ ...keys, pepper: randomBytes(32) });
    expect([again.isNew, again.size]).to.deep.equal([true, 0]);
    expect(openKnown({ masterKey: new MasterKey(randomBytes(32)) }).keys).to.equal(null);
  });

  it('take the bytes they may, in memory and in the file, and those used last stay', async () => {
    const maxBytes = 200_000;
    const known = await begun({ maxBytes });
    const metadata = { text: 'x'.repeat(4000) };
    for (let i = 0; i < 2000; i++) {
      keep(known, `k${i}`, { defaults: { configId: null, allowConfigOverride: true, metadata } });
      if (i % 20 === 0) {
        expect(has(known, `k${i}`)).to.equal(true);
        known.current(point);
        await new Promise((turn) => setImmediate(turn));
        expect(has(known, 'k0')).to.equal(true);
      }
    }
    known.current(point);
    known.close();
    expect(statSync(path).size).to.be.lessThan(3 * maxBytes + 1024 * 1024);
    const again = openKnown({ maxBytes });
    expect(again.size).to.be.within(20, 60);
    expect([has(again, 'k0'), has(again, 'k1999'), has(again, 'k1000')]).to.deep.equal([true, true, false]);
  });

  it('are read up to where the file was cut off or altered', async () => {
    const known = await begun();
    for (const name of ['a', 'b']) keep(known, name);
    known.close();
    const whole = readFileSync(path);
    truncateSync(path, whole.length - 3);
    let again = openKnown();
    expect([has(again, 'a'), has(again, 'b')]).to.deep.equal([true, false]);
    const altered = Buffer.from(whole);
    altered[whole.length - 40]! ^= 1;
    writeFileSync(path, altered);
    again = openKnown();
    expect([has(again, 'a'), has(again, 'b')]).to.deep.equal([true, false]);
    for (const bytes of [Buffer.alloc(0), randomBytes(1000), whole.subarray(0, 30)]) {
      writeFileSync(path, bytes);
      expect(openKnown().keys).to.equal(null);
    }
  });

  it('are known as before where the file cannot be written', async () => {
    path = join(path, 'nowhere');
    const known = await begun();
    keep(known, 'a');
    expect(has(known, 'a')).to.equal(true);
    expect(problems.splice(0)).to.have.length.greaterThan(0);
  });
});
