import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { fileText, jsonText, printable, printableLines } from '../../src/cli/output/output.js';
import { headgateHere } from '../support/cli-bench.js';
import { root } from '../support/root.js';

/** What a terminal would obey, and what turns the order of words. */
const hostile = 'no\u001b[2J\u009b31m\u0007\u202eon\u2066\u200e\u061c\u007f\nheadgate: all is well\r';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const active = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

describe('what the command line prints', () => {
  let folder: string;
  let server: Http2Server;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-output-'));
    server = createServer();
    // Refuses every call in words of its own.
    server.on('stream', (stream) => {
      stream.respond(
        {
          ':status': 200,
          'content-type': 'application/grpc',
          'grpc-status': '3',
          'grpc-message': encodeURIComponent(hostile),
        },
        { endStream: true },
      );
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  });

  after(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const file = (text: string): string => {
    const path = join(folder, `${readdirSync(folder).length}.yaml`);
    writeFileSync(path, text);
    return path;
  };

  it("of a server's error cannot steer the terminal, nor look like a line of its own", async () => {
    const key = file('key');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stdout, stderr } = await headgateHere([
      'labels',
      'list',
      '--workspace',
      'w',
      '--address',
      address,
      '--admin-key-file',
      key,
    ]);
    expect([code, stdout]).to.deep.equal([1, '']);
    expect(stderr).to.match(/^headgate: no\\u001b\[2J\\u009b31m\\u0007\\u202eon.*\n$/);
    expect(stderr).to.not.match(active);
  });

  it('of what was typed wrongly cannot either', async () => {
    for (const args of [
      ['\u001b[2Jserve'],
      ['labels', 'list', '--\u009b31m'],
      ['serve', '--port', '\u202e1'],
    ]) {
      const { code, stderr } = await headgateHere(args);
      expect(code).to.equal(2);
      expect(stderr).to.not.equal('').and.not.match(active);
    }
  });

  it('is the same JSON for programs, without characters that a terminal obeys', () => {
    const value = { text: hostile, [hostile]: ['\u2028', 'é', '😀'] };
    for (const indent of [undefined, 2]) {
      expect(jsonText(value, indent)).to.not.match(active);
      expect(JSON.parse(jsonText(value, indent))).to.deep.equal(value);
    }
  });

  it('keeps letters of all languages, and lines where there may be several', () => {
    const text = 'é 你好 שלום مرحبا 😀 e\u0301';
    expect(printable(text)).to.equal(text);
    expect(printableLines('a\nb\r\n')).to.equal('a\nb\\u000d\n');
    expect(printable('a\nb')).to.equal('a\\nb');
  });

  it('of a file is the file itself, and escaped where it is shown in a terminal', () => {
    const bytes = Buffer.from(hostile);
    expect(fileText(false)(bytes)).to.equal(bytes);
    const shown = fileText(true);
    const accented = Buffer.from('é\u001b');
    expect(`${shown(accented.subarray(0, 1))}${shown(accented.subarray(1))}`).to.equal('é\\u001b');
  });

  it('is printed by one file of the command line alone', () => {
    const cli = join(root, 'src/cli');
    for (const name of readdirSync(cli, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts') || name === 'output/output.ts') continue;
      // Questions at the terminal, and files that are passed on, are escaped where they are written.
      const text = readFileSync(join(cli, name), 'utf8');
      expect(text, name).to.not.match(/\bconsole\.(?:log|error|warn|info)\(/);
      for (const [line] of text.matchAll(/process\.std(?:out|err)\.write\(.*/g))
        expect(line, name).to.match(/write\((?:printable\(question\)|'\\n'|piece)\)/);
    }
  });

  describe('of a file of settings that would fill memory or the stack', () => {
    const refusal = async (yaml: string): Promise<string> => {
      const { code, stdout, stderr } = await headgateHere(['serve', '--config', file(yaml)], {}, folder);
      expect(code, yaml.slice(0, 80)).to.equal(2);
      expect(stdout).to.equal('');
      expect(stderr.trimEnd().split('\n')).to.have.length(1);
      return stderr;
    };

    it('is one line, whatever its aliases expand to', async () => {
      let bomb = `a: &a [${Array(9).fill('lol')}]\n`;
      for (const [i, name] of [...'bcdefghi'].entries())
        bomb += `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[i]}`)}]\n`;
      expect(await refusal(bomb)).to.match(/^headgate: \d+\.yaml: not valid YAML: Excessive alias count/);
      expect(await refusal('plugins: &a {x: [*a, *a]}\n')).to.include('nested more than 100 levels deep');
      expect(await refusal('port: *nowhere\n')).to.include('Unresolved alias');
    });

    it('is one line, however deep it is nested', async () => {
      for (const yaml of [
        `plugins: ${'['.repeat(20_000)}`,
        `plugins: ${'['.repeat(3000)}${']'.repeat(3000)}`,
        `plugins: ${'{a: '.repeat(150)}1${'}'.repeat(150)}`,
        `${'- '.repeat(5000)}1`,
      ])
        expect(await refusal(yaml)).to.include('is nested more than 100 levels deep');
    });

    it('is one line where it is longer than any settings are', async () => {
      expect(await refusal(`# ${'x'.repeat(1024 * 1024)}`)).to.include('is longer than 1 MiB');
    });
  });

  it('of a body that is nested too deeply is one line', async () => {
    const deep = file(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`);
    const key = file('key');
    for (const args of [
      ['labels', 'create', '--name', 'x', '--body', `@${deep}`],
      ['api-keys', 'create', '--defaults', `@${deep}`],
    ]) {
      const { code, stderr } = await headgateHere([
        ...args,
        '--admin-key-file',
        key,
        '--address',
        '127.0.0.1:1',
      ]);
      expect(stderr).to.match(/nested more than 100 levels deep\.\n$/);
      expect(stderr.split('\n')).to.have.length(2);
      expect(code).to.equal(2);
    }
    const { code, stderr } = await headgateHere(['serve'], {
      HEADGATE_PLUGINS: `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
    });
    expect([code, stderr]).to.deep.equal([
      2,
      'headgate: HEADGATE_PLUGINS: is nested more than 100 levels deep, which no setting needs.\n',
    ]);
  });
});
