import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../support/command.js';
import { mainFile } from '../support/gateway.js';

describe('headgate plugin', function () {
  this.timeout(120_000);
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-plugin-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const command = (name: string, code: string) => {
    const file = join(folder, 'index.ts');
    writeFileSync(file, code);
    return run(process.execPath, [mainFile, 'plugin', name, file]);
  };

  it('test ends for a hook that loops without end, and names it', async () => {
    const { code, stderr } = await command(
      'test',
      "export default { name: 'loops', options: {}, setup: () => ({ request() { for (;;); } }) };",
    );
    expect(code, stderr).to.not.equal(0);
    expect(stderr).to.include('does not come to an end in request of loops');
  });

  it('check ends for a file that loops without end', async () => {
    const { code, stderr } = await command('check', 'for (;;); export default {};');
    expect(code, stderr).to.not.equal(0);
    expect(stderr).to.include('does not come to an end');
  });
});
