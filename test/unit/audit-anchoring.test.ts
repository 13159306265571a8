import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { acceptPresentEnds } from '../../src/cli/audit-anchors.js';
import { AnchorFile } from '../../src/control-plane/store/files/anchor-file.js';
import { AnchorKey, type AuditAnchor } from '../../src/control-plane/store/files/audit-anchors.js';
import type { AuditStore } from '../../src/control-plane/store/store.js';
import { type Anchoring, startAnchoring } from '../../src/process/audit-anchoring.js';

describe('anchoring of the audit logs', () => {
  const key = new AnchorKey(randomBytes(32));
  let folder: string;
  let file: AnchorFile;
  /** As the store's clock shows it. */
  let now: number;
  /** Number of the last row, by organisation; an absent one was set back. */
  let ends: Record<string, number>;
  let verified: number;
  let required: Record<string, number>;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-anchoring-'));
    file = new AnchorFile(join(folder, 'audit-anchors.jsonl'));
    now = Date.UTC(2030, 0, 1);
    ends = { o1: 1, o2: 1 };
    verified = 0;
    required = {};
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const audit = {
    ends: async () =>
      Object.entries(ends).map(([organisation, seq]) => ({
        organisation,
        seq,
        hash: 'a'.repeat(64),
        time: new Date(now).toISOString(),
        restored: false,
      })),
    signAnchor: (anchor: AuditAnchor) => key.sign(anchor),
    readAnchor: (line: string) => {
      verified++;
      return key.read(line);
    },
    requireAnchor: ({ organisation, seq }: AuditAnchor) => {
      required[organisation] = seq;
    },
  } as unknown as AuditStore;
  const settings = () => ({ dataDir: folder, auditAnchors: ['file'], auditAnchorFile: null }) as never;
  const log = { info() {}, warn() {}, error() {} };
  const start = (of = file): Anchoring => startAnchoring({ audit, file: of, toLog: false, log });
  const newest = async (): Promise<Record<string, number>> => {
    const { history } = await file.read((line) => key.read(line));
    return Object.fromEntries(history.newest().map(({ organisation, seq }) => [organisation, seq]));
  };

  it('records rows, and accepts a restore, after the clock was set back before the newest anchor', async () => {
    const first = start();
    await first.started;
    now -= 86_400_000;
    ends = { o1: 5, o2: 1 };
    await first.stop();
    expect(await newest()).to.deep.equal({ o1: 5, o2: 1 });
    ends = { o1: 2, o2: 1 };
    const accepted = await acceptPresentEnds(audit, settings());
    expect(accepted.map(({ organisation, lost }) => [organisation, lost])).to.deep.equal([
      ['o1', 3],
      ['o2', 0],
    ]);
    expect(await newest()).to.deep.equal({ o1: 2, o2: 1 });
    const second = start();
    await second.loaded;
    expect(required).to.deep.equal({ o1: 2, o2: 1 });
    await second.stop();
  });

  it('keeps the anchor of a log that was set back, however often the file is renamed', async () => {
    const small = new AnchorFile(file.path, 1);
    const anchoring = start(small);
    await anchoring.started;
    delete ends['o2'];
    for (let row = 2; row <= 5; row++) {
      ends['o1'] = row;
      await anchoring.recordNow();
    }
    await anchoring.stop();
    expect(await newest()).to.deep.equal({ o1: 5, o2: 1 });
  });

  it('verifies the newest anchor of each organisation at start, and not all of a large file', async () => {
    const lines = Array.from({ length: 2000 }, (_, i) =>
      key.sign({
        organisation: i % 2 === 0 ? 'o1' : 'o2',
        seq: i,
        hash: 'a'.repeat(64),
        time: new Date(now - 1_000_000 + i).toISOString(),
        restored: false,
      }),
    );
    // A forged anchor, later than all others, does not stand in for the newest one.
    const forged = (lines.at(-1) as string).replace('"seq":1999', '"seq":9999').replace('2029', '2031');
    await file.append([...lines, forged, 'no anchor', '{"organisation":"o1"'], () => []);
    const anchoring = start();
    await anchoring.loaded;
    expect(required).to.deep.equal({ o1: 1998, o2: 1999 });
    expect(verified).to.be.lessThan(10);
    await anchoring.stop();
  });
});
