import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { headgateHere } from '../support/cli-bench.js';

describe('headgate completion', () => {
  let script: string;
  before(async () => {
    const { code, stdout } = await headgateHere(['completion', 'bash']);
    expect(code).to.equal(0);
    script = stdout;
  });

  /** What bash offers after these words, the last of which is not complete. */
  function offered(...words: readonly string[]): string[] {
    const line = words.map((word) => `'${word}'`).join(' ');
    const shell = `${script}\nCOMP_WORDS=(headgate ${line}); COMP_CWORD=${words.length}; _headgate; echo "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', shell]).toString().trim().split(' ');
  }

  it('offers commands and resources', () => {
    expect(offered('wor')).to.deep.equal(['workspace-members', 'workspaces']);
    expect(offered('')).to.include.members(['serve', 'keys', 'api-keys', 'completion']);
  });

  it('offers what a resource has', () => {
    expect(offered('keys', 'reveal')).to.deep.equal(['reveal-rotated']);
    expect(offered('providers', '')).to.include.members(['add', 'list', '--help']);
  });

  it('offers the flags of a command, after arguments too, and none that help hides', () => {
    expect(offered('keys', 'create', '--exp')).to.deep.equal(['--expires']);
    expect(offered('configs', 'get', 'pc-x', '--work')).to.deep.equal(['--workspace']);
    expect(offered('keys', 'create', '--data')).to.deep.equal(['']);
  });

  it('is refused for a shell that it has no script for', async () => {
    const { code, stderr } = await headgateHere(['completion', 'tcsh']);
    expect([code, stderr]).to.deep.equal([
      2,
      'headgate: There are completions for bash and zsh, not for tcsh.\n',
    ]);
  });
});
