// lane: not quick
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { run } from '../support/command.js';
import { root } from '../support/root.js';

const loader = join(root, 'tools/bundle-loader.cjs');
/** Long enough to be kept. `code` is what makes the difference. */
const scriptOf = (code: string) => `${'// as long as a script that is kept\n'.repeat(300)}${code}\n`;

describe('the loader of the bundle', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-loader-'));
    cpSync(loader, join(folder, 'load.cjs'));
    writeFileSync(join(folder, 'start.cjs'), "require('./load.cjs').load(__dirname + '/script.cjs');");
  });
  afterEach(() => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true });
  });

  const write = (code: string) => writeFileSync(join(folder, 'script.cjs'), scriptOf(code));
  const start = async () => {
    const { code, stdout, stderr } = await run(process.execPath, [join(folder, 'start.cjs')]);
    expect(stderr).to.equal('');
    expect(code).to.equal(0);
    return stdout;
  };
  const keptFile = () => {
    const [tag = ''] = readdirSync(join(folder, 'cache'));
    return join(folder, 'cache', tag, 'script.cjs.bin');
  };

  it('keeps compiled code, which the next start leaves as it is', async () => {
    write('console.log("one")');
    expect(await start()).to.equal('one\n');
    const kept = readFileSync(keptFile());
    expect(await start()).to.equal('one\n');
    expect(readFileSync(keptFile()).equals(kept)).to.equal(true);
    expect(readdirSync(join(keptFile(), '..'))).to.deep.equal(['script.cjs.bin']);
  });

  it('runs a script that was replaced by one of the same length', async () => {
    write('console.log("one")');
    await start();
    const kept = readFileSync(keptFile());
    write('console.log("two")');
    expect(await start()).to.equal('two\n');
    expect(readFileSync(keptFile()).equals(kept)).to.equal(false);
    expect(await start()).to.equal('two\n');
  });

  it('replaces kept code that is damaged', async () => {
    write('console.log("one")');
    await start();
    const kept = readFileSync(keptFile());
    for (const damaged of [
      kept.subarray(0, 100),
      Buffer.from(kept).fill(7, kept.length - 20),
      Buffer.alloc(0),
    ]) {
      writeFileSync(keptFile(), damaged);
      expect(await start()).to.equal('one\n');
      expect(readFileSync(keptFile()).subarray(0, 32).equals(kept.subarray(0, 32))).to.equal(true);
      expect(readFileSync(keptFile()).length).to.be.greaterThan(kept.length / 2);
    }
  });

  it('keeps code where other users cannot write, whatever the umask', async () => {
    write('console.log("one")');
    await run('/bin/sh', ['-c', 'umask 0 && exec "$0" "$1"', process.execPath, join(folder, 'start.cjs')]);
    for (const path of [keptFile(), dirname(keptFile()), join(folder, 'cache')])
      expect(statSync(path).mode & 0o022, path).to.equal(0);
  });

  it('runs a script where nothing can be kept', async () => {
    write('console.log("one")');
    writeFileSync(join(folder, 'cache'), 'a file in the place of the folder');
    expect(await start()).to.equal('one\n');
    expect(await start()).to.equal('one\n');
  });

  it('keeps the code of no more than eight kinds of starts', async () => {
    write('console.log("one")');
    for (let megabytes = 300; megabytes < 310; megabytes++) {
      const flags = [`--max-old-space-size=${megabytes}`, `--stack-size=${megabytes + 600}`];
      const { stdout } = await run(process.execPath, [...flags, join(folder, 'start.cjs')]);
      expect(stdout).to.equal('one\n');
    }
    expect(readdirSync(join(folder, 'cache'))).to.have.length(8);
  });

  it('gives scripts each other, packages and import()', async () => {
    writeFileSync(
      join(folder, 'other.cjs'),
      'exports.name = "other"; exports.again = () => require("./other.cjs") === exports;',
    );
    write(`const other = require('./other.cjs');
      importOutside('node:path').then(({ sep }) => console.log(other.name, other.again(), sep, bundleUrl.startsWith('file:')));`);
    expect(await start()).to.equal('other true / true\n');
  });
});
