// lane: slow
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

  /**
   * Each second of the processor counts as five, in threads as well: the limit of 8 s is reached sooner. Loading the
   * program takes less than a fifth of it.
   */
  const faster = `data:text/javascript,${encodeURIComponent(`
    const real = process.cpuUsage.bind(process);
    process.cpuUsage = (from = { user: 0, system: 0 }) => {
      const { user, system } = real();
      return { user: user * 5 - from.user, system: system * 5 - from.system };
    };`)}`;
  const command = (name: string, code: string) => {
    const file = join(folder, 'index.ts');
    writeFileSync(file, code);
    return run(process.execPath, ['--import', faster, mainFile, 'plugin', name, file]);
  };

  it('check names the checks that a plugin brings, and no hooks that it lacks', async () => {
    const { code, stdout, stderr } = await command(
      'check',
      "export default { name: 'brings', options: {}, setup: () => ({ checks: { short: { run: () => true } } }) };",
    );
    expect(code, stderr).to.equal(0);
    expect(stdout)
      .to.match(/checks +brings\.short/)
      .and.not.include('it does nothing');
    const idle = await command('check', "export default { name: 'idle', options: {}, setup: () => ({}) };");
    expect(idle.stdout).to.include('none: it does nothing');
  });

  it('test ends for a hook that loops without end, and names it', async () => {
    const { code, stderr } = await command(
      'test',
      "export default { name: 'loops', options: {}, setup: () => ({ request() { for (;;); } }) };",
    );
    expect(code, stderr).to.not.equal(0);
    expect(stderr).to.include('does not come to an end in request of loops: it computed for 8 s.');
  });

  it('check ends for a file that loops without end', async () => {
    const { code, stderr } = await command('check', 'for (;;); export default {};');
    expect(code, stderr).to.not.equal(0);
    expect(stderr).to.include('does not come to an end: it computed for 8 s.');
  });
});
