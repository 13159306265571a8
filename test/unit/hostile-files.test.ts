// lane: slow
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CliError } from '../../src/cli/cli-error.js';
import { readDocuments } from '../../src/cli/input/documents.js';
import { readInput } from '../../src/cli/input/file-input.js';
import { ExportReader } from '../../src/common/reconciliation/export-reader.js';
import { readYaml } from '../../src/common/settings/settings-yaml.js';
import { readBounded } from '../../src/common/text/bounded-file.js';
import { AnchorFile } from '../../src/control-plane/store/files/anchor-file.js';
import { isWhole } from '../support/long-forms.js';
import { expectWithinMs } from '../support/time-limits.js';

describe('files that were made to do harm', () => {
  let folder: string;
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };

  before(function () {
    if (process.platform === 'win32') this.skip();
    folder = mkdtempSync(join(tmpdir(), 'headgate-files-'));
  });

  after(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  describe('as documents', () => {
    const ten = (name: string): string => `[${Array.from({ length: 10 }, () => `*${name}`).join()}]`;
    const names = [...'abcdefghi'];
    const texts: Readonly<Record<string, readonly [string, RegExp]>> = {
      'an alias bomb': [
        `a: &a [x,x]\n${names
          .slice(1)
          .map((name, i) => `${name}: &${name} ${ten(names[i]!)}\n`)
          .join('')}`,
        /Excessive alias count/,
      ],
      'an alias of itself': ['kind: Config\na: &a [*a]\n', /nested more than 100 levels/],
      'an unknown alias': ['a: *b\n', /Unresolved alias/],
      'brackets without end': ['['.repeat(100_000), /nested more than 100 levels/],
      'deep JSON': [`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`, /nested more than 100 levels/],
      'a name twice': ['kind: Config\nkind: Config\n', /This name appears twice in the mapping/],
      // Five seconds of the processor.
      ...(isWhole && {
        'millions of items': [
          '- a\n'.repeat(3_000_000),
          /more than 3,000,000 YAML tokens: split it into several files/,
        ],
      }),
      '16 MiB and more': ['#'.repeat(16 * 1024 * 1024 + 1), /is longer than 16 MiB/],
    };
    for (const [about, [text, problem]] of Object.entries(texts)) {
      it(`${about} is refused in one sentence`, function () {
        this.timeout(30_000);
        const began = process.cpuUsage();
        let thrown: unknown;
        try {
          readDocuments([file('hostile.yaml', text)]);
        } catch (error) {
          thrown = error;
        }
        const { user } = process.cpuUsage(began);
        expect(thrown).to.be.instanceOf(CliError);
        const { message, lines } = thrown as CliError & { lines?: readonly string[] };
        expect([message, ...(lines ?? [])].join('\n'))
          .to.match(problem)
          .and.have.length.below(2000);
        expectWithinMs(user / 1000, 5000);
      });
    }

    const many = isWhole ? 10_000 : 1000;
    it(`${many} of them in one file are read`, function () {
      this.timeout(60_000);
      const texts = Array.from(
        { length: many },
        (_, i) => `---
kind: ApiKey
name: key-${i}
spec:
  type: workspace
  sub_type: service
  workspace: w
  description: key of a service
  scopes:
    - completions.write
    - logs.view
  rate_limits:
    - type: requests
      unit: rpm
      value: 100
  defaults:
    metadata:
      team: a
      env: b
`,
      );
      expect(readDocuments([file('many.yaml', texts.join(''))])).to.have.length(many);
    });

    it('20,000 names of one mapping are compared in time', function () {
      this.timeout(30_000);
      const names = Array.from({ length: 20_000 }, (_, i) => `  k${i}: 1\n`).join('');
      const began = process.cpuUsage();
      const [document] = readDocuments([file('names.yaml', `kind: Config\nname: x\nspec:\n${names}`)]);
      expect(Object.keys(document?.json['spec'] as object).length).to.equal(20_000);
      expectWithinMs(process.cpuUsage(began).user / 1000, 2500);
    });

    it('a pipe or a device in a folder is refused, and not read', () => {
      const inner = join(folder, 'inner');
      mkdirSync(inner);
      execFileSync('mkfifo', [join(inner, 'a.yaml')]);
      expect(() => readDocuments([inner])).to.throw(CliError, 'is not a regular file');
    });
  });

  describe('as values and settings', () => {
    it('a device without end is refused', () => {
      expect(() => readInput('/dev/zero', 1024 * 1024)).to.throw(CliError, '/dev/zero is longer than 1 MiB.');
      const problems: string[] = [];
      expect(readYaml('/dev/zero', 'headgate.yaml', problems)).to.deep.equal({});
      expect(problems[0]).to.match(/^headgate.yaml: is longer than 1 MiB/);
    });

    it('a pipe is read to its end, and refused if no program writes to it', async function () {
      this.timeout(30_000);
      const pipe = join(folder, 'pipe');
      execFileSync('mkfifo', [pipe]);
      const writer = spawn('/bin/sh', ['-c', `(echo one; sleep 0.3; echo two) > ${pipe}`], {
        stdio: 'ignore',
      });
      expect(readBounded(pipe, 100)).to.equal('one\ntwo\n');
      await new Promise((ended) => writer.once('exit', ended));
      expect(() => readInput(pipe)).to.throw(CliError, 'is empty, or a pipe that no program writes to');
    });

    it('a pipe whose writer has it open is awaited for longer than one without a writer', async function () {
      this.timeout(30_000);
      const pipe = join(folder, 'slow');
      execFileSync('mkfifo', [pipe]);
      const writer = spawn('/bin/sh', ['-c', `(sleep 5.5; echo late) > ${pipe}`], { stdio: 'ignore' });
      expect(readBounded(pipe, 100)).to.equal('late\n');
      await new Promise((ended) => writer.once('exit', ended));
    });

    it('links that lead to each other cannot be read', () => {
      symlinkSync('b', join(folder, 'a'));
      symlinkSync('a', join(folder, 'b'));
      expect(() => readInput(join(folder, 'a'))).to.throw(
        CliError,
        'cannot be read: its links lead in a circle.',
      );
    });
  });

  it('as anchors of the audit log are refused if a line has no end', async () => {
    const anchors = new AnchorFile(file('anchors.jsonl', 'x'.repeat(5_000_000)), 1e9);
    const problem = await anchors
      .read(() => null)
      .then(
        () => 'none',
        (error: Error) => error.message,
      );
    expect(problem).to.match(/is not a file of anchors: it has a line of more than 4 Mi characters\.$/);
  });

  describe('as exports of usage', () => {
    const readAll = (pieces: Iterable<string>): unknown[] => {
      const reader = new ExportReader('generic');
      const lines: unknown[] = [];
      for (const piece of pieces) lines.push(...reader.read(piece));
      lines.push(...reader.end());
      return lines;
    };
    function* repeated(piece: string, times: number): Generator<string> {
      for (let i = 0; i < times; i++) yield piece;
    }

    it('blanks without end are refused', () => {
      expect(() => readAll(repeated(' '.repeat(64_000), 100))).to.throw(
        'begins with more than 1000000 blanks',
      );
    });

    it('one line of 64 MiB takes seconds, not minutes', function () {
      this.timeout(60_000);
      const began = process.cpuUsage();
      expect(() => readAll(['{"a":"', ...repeated('x'.repeat(64_000), 1060)])).to.throw(
        'is one JSON value of more',
      );
      expectWithinMs(process.cpuUsage(began).user / 1000, 5000);
    });

    it('lists within lists are refused', () => {
      for (const text of [
        '['.repeat(100_000) + ']'.repeat(100_000),
        '{"data":['.repeat(5000) + ']}'.repeat(5000),
      ])
        expect(() => readAll([text])).to.throw('nested more than 32 levels');
    });

    it('a file in pieces is the same as in one', () => {
      const rows = [1, 2, 3].map((i) =>
        JSON.stringify({
          date: `2026-01-0${i}`,
          model: 'm',
          key: 'k',
          input_tokens: i,
          output_tokens: 1,
          cost_usd: 1,
        }),
      );
      const whole = readAll([`\n ${rows.join('\n')}\n`]);
      expect(whole.length).to.equal(3);
      for (const text of [
        `\n ${rows.join('\n')}`,
        JSON.stringify(
          rows.map((row) => JSON.parse(row)),
          null,
          1,
        ),
      ])
        for (const size of [1, 7, 50]) {
          const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g'))!;
          expect(readAll(pieces)).to.deep.equal(whole);
        }
    });
  });
});
