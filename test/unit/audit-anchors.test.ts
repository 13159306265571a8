import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { AnchorFile } from '../../src/control-plane/store/files/anchor-file.js';
import {
  AnchorHistory,
  AnchorKey,
  type AuditAnchor,
} from '../../src/control-plane/store/files/audit-anchors.js';

const anchor = (seq: number, minute: number, more: Partial<AuditAnchor> = {}): AuditAnchor => ({
  organisation: 'o1',
  seq,
  hash: String(seq).padStart(64, '0'),
  time: new Date(Date.UTC(2030, 0, 1, 0, minute)).toISOString(),
  restored: false,
  ...more,
});

describe('anchors of the audit log', () => {
  const key = new AnchorKey(randomBytes(32));
  const seqs = (history: AnchorHistory): number[] => history.of('o1').map(({ seq }) => seq);

  it('are recognised as signed by this store, also within a line of the process log', () => {
    const line = key.sign(anchor(7, 1));
    expect(key.read(line)).to.deep.equal(anchor(7, 1));
    const logged = JSON.stringify({ level: 30, anchor: JSON.parse(line), msg: 'audit anchor' });
    expect(key.read(logged)).to.deep.equal(anchor(7, 1));
  });

  it('are refused where any part was changed, another store signed them, or the line is something else', () => {
    const line = key.sign(anchor(7, 1));
    for (const altered of [
      line.replace('"seq":7', '"seq":6'),
      line.replace('"o1"', '"o2"'),
      line.replace('"restored":false', '"restored":true'),
      line.replace('2030', '2031'),
      new AnchorKey(randomBytes(32)).sign(anchor(7, 1)),
      line.slice(0, -9),
      'null',
      '[]',
      '{"anchor":null}',
    ]) {
      expect(key.read(altered), altered).to.equal(null);
    }
  });

  it('of later rows no longer apply after a restore; an old restore that is copied to the end changes nothing', () => {
    const history = new AnchorHistory();
    for (const one of [anchor(10, 1), anchor(20, 2), anchor(30, 3)]) history.add(one);
    history.add(anchor(15, 4, { restored: true }));
    expect(seqs(history)).to.deep.equal([10, 15]);
    history.add(anchor(40, 5));
    history.add(anchor(15, 4, { restored: true }));
    expect(seqs(history)).to.deep.equal([10, 15, 40]);
    expect(history.newest()).to.deep.equal([anchor(40, 5)]);
  });

  describe('in a file', () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'headgate-anchors-'));
    });
    afterEach(() => rmSync(folder, { recursive: true, force: true }));
    const read = (file: AnchorFile) => file.read((line) => key.read(line));

    it('survive a line that was written in part, and are none where the file is missing', async () => {
      const file = new AnchorFile(join(folder, 'anchors.jsonl'));
      expect((await read(file)).history.newest()).to.deep.equal([]);
      await file.append([key.sign(anchor(1, 1))], () => []);
      appendFileSync(file.path, key.sign(anchor(2, 2)).slice(0, 40));
      await file.append([key.sign(anchor(3, 3))], () => []);
      const { history, rejected } = await read(file);
      expect(rejected).to.equal(1);
      expect(seqs(history)).to.deep.equal([1, 3]);
    });

    it('move to a second file when the first is full, which begins with the newest of all organisations', async () => {
      const file = new AnchorFile(join(folder, 'anchors.jsonl'), 100);
      const newest = () => [key.sign(anchor(2, 2)), key.sign(anchor(9, 1, { organisation: 'o2' }))];
      await file.append([key.sign(anchor(1, 1))], newest);
      await file.append([key.sign(anchor(2, 2))], newest);
      expect(readFileSync(file.path, 'utf8').trim().split('\n')).to.deep.equal(newest());
      const { history } = await read(file);
      expect(seqs(history)).to.deep.equal([1, 2]);
      writeFileSync(file.previousPath, '');
      expect((await read(file)).history.newest()).to.have.length(2);
    });
  });
});
