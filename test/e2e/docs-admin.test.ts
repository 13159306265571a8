// lane: slow
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { adminErrors } from '../../src/control-plane/administration/admin-error.js';
import { type Ran, run } from '../support/command.js';
import { type Example, examplesOf } from '../support/examples.js';
import { builtProgram, type RunningGateway, startGateway } from '../support/gateway.js';
import { root } from '../support/root.js';
import { runTyped } from '../support/typed-commands.js';

const page = 'docs/admin.md';

describe('docs/admin.md', function () {
  this.timeout(60_000);
  let gateway: RunningGateway;
  let folder: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-docs-'));
    gateway = await startGateway({ env: { HEADGATE_GRPC_REFLECTION: 'true' } });
  });

  after(async () => {
    await gateway?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs an example as written, but for the ports and folders, which are the test's own. */
  function type({ language, text }: Example): Promise<Ran> {
    const grpcurl = `${process.execPath} ${builtProgram('support/grpcurl')}`;
    const typed = text
      .replaceAll('http://127.0.0.1:8787', gateway.url)
      .replaceAll('127.0.0.1:50051', `127.0.0.1:${gateway.grpcPort}`)
      .replaceAll('./data/', `${gateway.dataDir}/`)
      .replaceAll('./dist/', `${root}/dist/`)
      .replaceAll('-import-path proto', `-import-path ${root}/proto`)
      .replace(/\bcurl /g, 'curl -sS --fail-with-body ')
      .replace(/^grpcurl /gm, `${grpcurl} `);
    const env = { ...gateway.env, ADMIN_KEY: gateway.adminKey, OPENAI_API_KEY: 'sk-of-the-docs-test' };
    if (language === 'sh') return runTyped(typed, { env, cwd: folder });
    const file = join(folder, 'example.mjs');
    writeFileSync(file, typed);
    return run(process.execPath, [file], { env });
  }

  it('has examples that work as they are typed, one after another', async () => {
    const examples = examplesOf(page);
    expect(examples.length).to.be.greaterThan(8);
    let said = '';
    for (const example of examples) {
      const { code, stdout, stderr } = await type(example);
      expect(code, `${example.text}\n${stdout}${stderr}`).to.equal(0);
      said += stdout;
    }
    expect(said).to.not.include('sk-of-the-docs-test');
    for (const word of [
      'invite_link',
      'ABORTED AB07',
      'headgate.admin.v1.Workspaces',
      '"Vision"',
      'research',
    ])
      expect(said).to.include(word);
    expect(readFileSync(join(folder, 'audit.csv'), 'utf8')).to.include('research');
  });

  it('lists the code and both statuses of every refusal', () => {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [code, { http }] of Object.entries(adminErrors).filter(([name]) => name.startsWith('AB')))
      expect(text).to.match(new RegExp(`^\\| ${code} \\| ${http} \\| \`[A-Z_]+\``, 'm'));
  });

  it('links to pages that are there', () => {
    for (const [, link = ''] of readFileSync(join(root, page), 'utf8').matchAll(/\]\(([^)#:]+)\)/g))
      expect(existsSync(join(root, 'docs', link)), link).to.equal(true);
  });
});
