import fs, { mkdtempSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Bodies, type LoggedHeaders, providerBodiesId } from '../../src/common/ledger/record.js';
import { BodyAppender } from '../../src/control-plane/ingestion/body-appender.js';
import { findBodies } from '../../src/control-plane/ingestion/body-reader.js';

describe('files of logged bodies', () => {
  let dir: string;
  const { readFile } = fs.promises;
  let reads = 0;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'bodies-'));
    reads = 0;
    fs.promises.readFile = ((...given: Parameters<typeof readFile>) => {
      reads++;
      return readFile(...given);
    }) as typeof readFile;
    syncBuiltinESMExports();
  });
  afterEach(() => {
    fs.promises.readFile = readFile;
    syncBuiltinESMExports();
    rmSync(dir, { recursive: true });
  });

  const at = Date.now();
  const bodies = (id: string, headers?: LoggedHeaders): Bodies => ({
    ...{ id, at, org: 'org', workspace: null, request: `asked ${id}`, response: null, cut: false },
    ...(headers && { headers }),
  });
  const converted: LoggedHeaders = {
    request: {},
    call: { url: 'https://example.com', status: 200, same: [0, 0] },
  };

  it('are read once for a call that was converted', async () => {
    const client = bodies('one', converted);
    const provider = bodies(providerBodiesId('one'));
    await new BodyAppender(dir).add([bodies('other'), provider, client, bodies('last')]);
    expect(await findBodies(dir, 'org', 'one', at, at)).to.deep.equal({ client, provider });
    expect(reads).to.equal(1);
  });

  it('have the two records of a call in any order, and in two files', async () => {
    const client = bodies('one', converted);
    const provider = bodies(providerBodiesId('one'));
    await new BodyAppender(dir).add([provider]);
    // The next file's name has a later time.
    await new Promise((later) => setTimeout(later, 2));
    await new BodyAppender(dir).add([client]);
    expect(await findBodies(dir, 'org', 'one', at, at)).to.deep.equal({ client, provider });
    expect(await findBodies(dir, 'org', 'one', at, at, ['client'])).to.deep.equal({ client, provider: null });
  });
});
