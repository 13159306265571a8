import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePorts, mainFile } from '../support/gateway.js';

describe('a gateway of which one part does not start', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('names the part in one line, exits with 1 and leaves no process', async () => {
    writeFileSync(join(dataDir, 'ledger.db'), 'no database'.repeat(100), { mode: 0o600 });
    const [port, grpcPort, opsPort] = await freePorts(3);
    const { status, stdout, stderr } = spawnSync(process.execPath, [mainFile, 'serve'], {
      env: {
        ...process.env,
        HEADGATE_PORT: String(port),
        HEADGATE_GRPC_PORT: String(grpcPort),
        HEADGATE_OPS_PORT: String(opsPort),
        HEADGATE_DATA_DIR: dataDir,
        HEADGATE_WORKERS: '2',
      },
      encoding: 'utf8',
      timeout: 20_000,
    });
    // Returns when nothing has the pipes open: workers have them too.
    expect(status, stderr).to.equal(1);
    expect(stderr).to.equal(
      `headgate: The ledger ${dataDir}/ledger.db cannot be opened: SQLITE_NOTADB: file is not a database (while starting the ledger)\n`,
    );
    expect(stdout).to.equal('');
  }).timeout(30_000);
});
