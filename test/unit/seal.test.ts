import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { RefusedStart } from '../../src/control-plane/store/files/refused-start.js';
import { loadMasterKey, MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import {
  SealBroken,
  type SealedPlace,
  seal,
  sealedVersion,
  unseal,
} from '../../src/control-plane/store/secrets/seal.js';

const place: SealedPlace = { table: 'providers', row: 'r1', organisation: 'o1', field: 'credential' };

describe('sealed values', () => {
  const key = randomBytes(32);
  const clear = Buffer.from('sk-canary-1234567890');

  it('open where they were sealed, and have the version of their key', () => {
    const sealed = seal(key, 7, place, clear);
    expect(unseal(key, place, sealed)).to.deep.equal(clear);
    expect(sealedVersion(sealed)).to.equal(7);
    expect(unseal(key, place, seal(key, 1, place, Buffer.alloc(0)))).to.deep.equal(Buffer.alloc(0));
  });

  it('differ each time and never show their content', () => {
    const seals = Array.from({ length: 100 }, () => seal(key, 1, place, clear));
    expect(new Set(seals.map((sealed) => sealed.subarray(5, 17).toString('hex'))).size).to.equal(100);
    for (const sealed of seals) expect(sealed.includes('canary')).to.equal(false);
  });

  it('open in no other table, row, organisation or field', () => {
    const sealed = seal(key, 1, place, clear);
    for (const part of ['table', 'row', 'organisation', 'field'] as const) {
      expect(() => unseal(key, { ...place, [part]: 'other' }, sealed), part).to.throw(SealBroken);
    }
    // Parts must not run into each other.
    expect(() => unseal(key, { ...place, table: 'providersr', row: '1' }, sealed)).to.throw(SealBroken);
  });

  it('open under no other key and after no change of any byte', () => {
    const sealed = seal(key, 1, place, clear);
    expect(() => unseal(randomBytes(32), place, sealed)).to.throw(SealBroken);
    for (let i = 0; i < sealed.length; i++) {
      const altered = Buffer.from(sealed);
      altered[i] = altered[i]! ^ 1;
      expect(() => unseal(key, place, altered), `byte ${i}`).to.throw(SealBroken);
    }
    for (let end = 0; end < sealed.length; end++) {
      expect(() => unseal(key, place, sealed.subarray(0, end)), `cut at ${end}`).to.throw(SealBroken);
    }
  });
});

describe('the master key', () => {
  let dataDir: string;
  const hex = randomBytes(32).toString('hex');

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'headgate-master-key-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('is made once, readable by its owner alone, and found again', () => {
    const made = loadMasterKey({ dataDir });
    expect(statSync(join(dataDir, 'master.key')).mode & 0o777).to.equal(0o600);
    expect(loadMasterKey({ dataDir }).id).to.equal(made.id);
    expect(readdirSync(dataDir)).to.deep.equal(['master.key']);
  });

  it('is not made again for a store that has lost it', () => {
    writeFileSync(join(dataDir, 'headgate.db'), '');
    expect(() => loadMasterKey({ dataDir })).to.throw(RefusedStart, /has a database and no master\.key/);
    expect(existsSync(join(dataDir, 'master.key'))).to.equal(false);
    expect(loadMasterKey({ dataDir, env: hex })).to.be.instanceOf(MasterKey);
  });

  it('is the same key as hex, as base64 and in a file', () => {
    const path = join(dataDir, 'key');
    writeFileSync(path, `${hex}\n`, { mode: 0o600 });
    const { id } = loadMasterKey({ dataDir, env: hex });
    expect(loadMasterKey({ dataDir, file: path }).id).to.equal(id);
    expect(loadMasterKey({ dataDir, env: Buffer.from(hex, 'hex').toString('base64') }).id).to.equal(id);
    expect(existsSync(join(dataDir, 'master.key'))).to.equal(false);
  });

  it('may be a passphrase, not a weak one', () => {
    const { id } = loadMasterKey({ dataDir, env: 'correct horse battery staple' });
    expect(loadMasterKey({ dataDir, env: 'correct horse battery staple' }).id).to.equal(id);
    expect(loadMasterKey({ dataDir, env: 'correct horse battery stapler' }).id).to.not.equal(id);
    for (const weak of ['short', 'a'.repeat(64), '01'.repeat(32)]) {
      expect(() => loadMasterKey({ dataDir, env: weak }), weak).to.throw(RefusedStart, /too weak/);
    }
  });

  it('is refused in a file that others can read, and its text is in no error', () => {
    const path = join(dataDir, 'key');
    writeFileSync(path, hex);
    for (const mode of [0o604, 0o644, 0o606]) {
      chmodSync(path, mode);
      expect(() => loadMasterKey({ dataDir, file: path })).to.throw(RefusedStart, /chmod 600/);
    }
    expect(() => loadMasterKey({ dataDir, file: join(dataDir, 'none') })).to.throw(
      RefusedStart,
      /there is no such file/i,
    );
    expect(() => loadMasterKey({ dataDir, env: hex, file: path })).to.throw(RefusedStart, /not both/);
  });

  it('never prints itself', () => {
    const key = loadMasterKey({ dataDir, env: hex });
    const shown = [inspect(key, { depth: 9, showHidden: true }), String(key), JSON.stringify({ key })].join();
    expect(shown).to.not.include(hex.slice(0, 8));
    expect(key.pepper().toString('hex')).to.not.equal(key.wrappingKey().toString('hex'));
    expect(key.pepper(2)).to.not.deep.equal(key.pepper(1));
  });
});
