import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  checkPrivacy,
  examineDataDir,
  judgeMasterKey,
  judgeOwnFile,
} from '../../src/control-plane/store/files/private-files.js';
import { isPrivateGroup } from '../../src/control-plane/store/files/private-groups.js';
import { RefusedStart } from '../../src/control-plane/store/files/refused-start.js';
import { loadMasterKey, prepareNextKey } from '../../src/control-plane/store/secrets/master-key.js';

describe('a data directory', () => {
  let folder: string;
  let dataDir: string;
  const at = (name: string): string => join(dataDir, name);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-private-'));
    dataDir = join(folder, 'data');
    mkdirSync(dataDir, { mode: 0o700 });
    loadMasterKey({ dataDir });
    mkdirSync(at('journal'), { mode: 0o700 });
    for (const name of ['headgate.db', 'first-keys.json']) writeFileSync(at(name), '', { mode: 0o600 });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** What a start says: the refusal, and what it only reports. */
  function start(isPrivate = false): { refused: string | null; reported: string[] } {
    const reported: string[] = [];
    try {
      checkPrivacy(
        dataDir,
        (message) => reported.push(message),
        () => isPrivate,
      );
      return { refused: null, reported };
    } catch (error) {
      expect(error).to.be.instanceOf(RefusedStart);
      return { refused: (error as Error).message, reported };
    }
  }

  it('as the gateway makes it is accepted without a message', () => {
    expect(start()).to.deep.equal({ refused: null, reported: [] });
  });

  for (const name of ['.', 'journal', 'headgate.db', 'first-keys.json']) {
    for (const bits of [0o020, 0o002]) {
      it(`is refused where others can write to ${name} (${bits.toString(8)})`, () => {
        chmodSync(at(name), (name.includes('.') && name !== '.' ? 0o600 : 0o700) | bits);
        expect(start().refused).to.include('Other users can write to it: chmod go-w').and.include(at(name));
      });
    }

    it(`is reported where others can read ${name}, and used`, () => {
      chmodSync(at(name), name.includes('.') && name !== '.' ? 0o640 : 0o750);
      const { refused, reported } = start();
      expect(refused).to.equal(null);
      expect(reported).to.have.length(1);
      expect(reported[0]).to.match(/mode 0[67][45]0\. Other users can read it: chmod (600|700) /);
    });
  }

  it('is refused where others can read the master key, or the one that is to follow', () => {
    chmodSync(at('master.key'), 0o640);
    expect(start().refused).to.include(`Other users can read it: chmod 600 ${at('master.key')}`);
    chmodSync(at('master.key'), 0o600);
    prepareNextKey(dataDir, null);
    chmodSync(at('master.key.new'), 0o604);
    expect(start().refused).to.include(`chmod 600 ${at('master.key.new')}`);
  });

  it('of a group without other users may be open to that group, its master key included; to others still not', () => {
    // What Kubernetes makes of a volume with `fsGroup` each time that it is mounted.
    for (const name of ['.', 'journal']) chmodSync(at(name), 0o2770);
    for (const name of ['headgate.db', 'first-keys.json', 'master.key']) chmodSync(at(name), 0o660);
    expect(start(true)).to.deep.equal({ refused: null, reported: [] });
    expect(start(false).refused).to.include('Other users can write to it');
    chmodSync(at('headgate.db'), 0o662);
    expect(start(true).refused).to.include('Other users can write to it').and.include(at('headgate.db'));
    chmodSync(at('headgate.db'), 0o660);
    chmodSync(at('master.key'), 0o664);
    expect(start(true).refused).to.include(`chmod 600 ${at('master.key')}`);
  });

  it('belongs to a group without other users where this process is in it, and the system names no one else', () => {
    const passwd =
      'root:x:0:0::/root:/bin/sh\nshutdown:x:6:0::/sbin:/sbin/halt\ngate:x:1000:1000::/:/bin/sh\nann:x:1001:100::/:/bin/sh\n';
    const group = 'root:x:0:\ngate:x:1000:gate,root\nusers:x:100:\nstaff:x:50:ann\nwheel:x:10:gate\n';
    const isPrivate = (gid: number, processGroups = [1000, 2000, 100, 50, 10]): boolean =>
      isPrivateGroup(gid, 1000, { passwd, group, processGroups });
    expect(
      [0, 1000, 2000, 10].filter((gid) => !isPrivate(gid)),
      'private',
    ).to.deep.equal([]);
    // ann's own group, a group with ann in it, a group of other processes.
    expect(
      [100, 50, 3000].filter((gid) => isPrivate(gid)),
      'shared',
    ).to.deep.equal([]);
    expect(isPrivate(0, [])).to.equal(true);
    expect(isPrivateGroup(0, 1000, { passwd, group: 'root:x:0:ann\n', processGroups: [0] })).to.equal(false);
  });

  it('is refused where its master key is a link, wherever that leads; no key is read or made through it', () => {
    const elsewhere = join(folder, 'elsewhere.key');
    renameSync(at('master.key'), elsewhere);
    rmSync(at('headgate.db'));
    for (const target of [elsewhere, join(folder, 'nothing')]) {
      symlinkSync(target, at('master.key'));
      expect(start().refused).to.include('a symbolic link').and.include('HEADGATE_MASTER_KEY_FILE');
      expect(() => loadMasterKey({ dataDir })).to.throw(RefusedStart, /a symbolic link/);
      rmSync(at('master.key'));
    }
    // A setting may name a link, as secrets that are mounted into a container are.
    symlinkSync(elsewhere, join(folder, 'mounted'));
    expect(loadMasterKey({ dataDir, file: join(folder, 'mounted') })).to.be.an('object');
  });

  it('is refused where a pipe is in the place of its master key, instead of waiting for a writer', () => {
    rmSync(at('master.key'));
    execFileSync('mkfifo', ['-m', '600', at('master.key')]);
    expect(() => loadMasterKey({ dataDir })).to.throw(RefusedStart, /no regular file/);
  });

  it('may be a link of its user, which is reported, and its database a link to another disk; targets are looked at', () => {
    const target = join(folder, 'target');
    renameSync(dataDir, target);
    symlinkSync(target, dataDir);
    const disk = join(folder, 'disk.db');
    renameSync(at('headgate.db'), disk);
    symlinkSync(disk, at('headgate.db'));
    expect(start().refused).to.equal(null);
    expect(start().reported).to.deep.equal([
      `${dataDir}: a symbolic link. Its target is what counts: name that with --data-dir.`,
    ]);
    chmodSync(disk, 0o606);
    expect(start().refused).to.include('Other users can write to it').and.include(at('headgate.db'));
    chmodSync(disk, 0o600);
    chmodSync(target, 0o703);
    expect(start().refused).to.include('Other users can write to it').and.include(dataDir);
  });

  it('that is not there yet has no findings', () => {
    expect(examineDataDir(join(folder, 'none'))).to.deep.equal([]);
  });

  it('may be owned by its user or the superuser; another owner is refused, or reported to the superuser', () => {
    const file = (uid: number) => ({ uid, gid: uid, mode: 0o100600, isDirectory: () => false });
    for (const [owner, user, own, key] of [
      [1000, 1000, null, null],
      [0, 1000, null, null],
      [1001, 1000, true, true],
      [1000, 0, false, true],
    ] as const) {
      expect(judgeOwnFile('f', file(owner), user)?.isRefused ?? null).to.equal(own);
      expect(judgeMasterKey('f', file(owner), user)?.isRefused ?? null).to.equal(key);
    }
    expect(judgeMasterKey('f', file(1001), 1000)).to.deep.equal({
      path: 'f',
      found: 'owned by user 1001',
      todo: 'Another user can change it: chown 1000 f',
      isRefused: true,
    });
  });
});
