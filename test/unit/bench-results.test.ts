import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type BenchRow, changesBetween, median, movedFloors, variedFloors } from '../../bench/comparison.js';
import { lastRun, record, summary } from '../../bench/results.js';

const row = (server: string, cpu: number[], more: Partial<BenchRow> = {}): BenchRow => ({
  work: 'chat',
  server,
  isFloor: server === 'nginx',
  figures: { cpu_us: cpu, p99_ms: [1, 2, 3] },
  ...more,
});

describe('the results of a benchmark', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-results-'));
  after(() => rmSync(folder, { recursive: true }));

  it('are the median of the rounds', () => {
    expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([])]).to.deep.equal([2, 3, 0]);
  });

  it('show the change of each figure of each row that both runs have', () => {
    const before = [row('nginx', [10, 10, 10]), row('headgate', [40, 50, 60]), row('gone', [1])];
    const now = [row('nginx', [10, 10, 10]), row('headgate', [30, 40, 41]), row('new', [1])];
    const changes = changesBetween(before, now).map(
      ({ server, figure, before, now, percent }) => `${server} ${figure} ${before} ${now} ${percent}`,
    );
    expect(changes).to.deep.equal([
      'nginx cpu_us 10 10 0',
      'nginx p99_ms 2 2 0',
      'headgate cpu_us 50 40 -20',
      'headgate p99_ms 2 2 0',
    ]);
  });

  it('keep rows of the same server apart by the work', () => {
    const before = [row('headgate', [40]), row('headgate', [800], { work: 'stream' })];
    const now = [row('headgate', [880], { work: 'stream' })];
    expect(changesBetween(before, now).map(({ figure, percent }) => [figure, Math.round(percent)])).to.eql([
      ['cpu_us', 10],
      ['p99_ms', 0],
    ]);
  });

  it('are noisy where a floor varies by more than 15 % over the rounds', () => {
    expect(variedFloors([row('nginx', [20, 21.5, 23])])).to.deep.equal([]);
    expect(variedFloors([row('nginx', [20, 21, 24])])).to.deep.equal([
      'nginx varied by 19 % between the rounds (chat)',
    ]);
  });

  it('are not noisy for what varies in the gateway itself', () => {
    expect(variedFloors([row('nginx', [20, 20, 20]), row('headgate', [40, 60, 80])])).to.deep.equal([]);
  });

  it('are noisy where a floor differs by more than 15 % from the run before, up or down', () => {
    const of = (cpu: number): BenchRow[] => [row('nginx', [cpu]), row('headgate', [2 * cpu])];
    expect(movedFloors(of(20), of(22.9))).to.deep.equal([]);
    expect(movedFloors(of(20), of(24))).to.deep.equal(['nginx differs by 20 % from the run before (chat)']);
    expect(movedFloors(of(24), of(20))).to.deep.equal(['nginx differs by 20 % from the run before (chat)']);
  });

  it('are written to a file that the next run of the same command compares with', () => {
    const run = (command: string, nginx: number[], headgate: number[], minute: number) =>
      record(
        { command, options: { rounds: 3 }, rows: [row('nginx', nginx), row('headgate', headgate)] },
        folder,
        new Date(Date.UTC(2026, 10, 22, 12, minute)),
      );
    const first = run('bench', [10, 10, 10], [50, 50, 50], 0);
    expect(summary(first)[0]).to.include('No run of this command before');
    run('bench-admin', [10], [70], 1);
    // A file that was cut off does not stop the next run.
    writeFileSync(join(folder, '2026-11-22T12-02-00-bench.json'), '{"rows": [');
    const second = run('bench', [10, 10, 13], [45, 45, 45], 3);
    const lines = summary(second).join('\n');
    expect(lines).to.include('2026-11-22T12:00:00.000Z');
    expect(lines).to.include('chat, headgate: cpu_us 50.0 → 45.0 (−10.0 %)');
    expect(lines).to.include('noisy: nginx varied by 30 % between the rounds (chat)');
    expect(lines).to.include('2026-11-22T12-03-00-bench.json');
    const { machine, version, noisy } = lastRun('bench', folder)!;
    expect(machine).to.include.all.keys('cpu', 'cores', 'node', 'nginx');
    expect(version).to.match(/^\d+\.\d+\.\d+/);
    expect(noisy).to.have.length(1);
    expect(readdirSync(folder)).to.have.length(4);
  });

  it('show that the previous run was noisy or had other options', () => {
    const of = (seconds: number, nginx: number[], minute: number) =>
      record(
        { command: 'other', options: { seconds }, rows: [row('nginx', nginx)] },
        folder,
        new Date(Date.UTC(2026, 10, 22, 13, minute)),
      );
    of(5, [10, 10, 20], 0);
    const lines = summary(of(1, [10, 10, 10], 1)).join('\n');
    expect(lines).to.include('seconds 5 then, 1 now');
    expect(lines).to.include('noisy: the run before was noisy: nginx varied by 100 %');
  });
});
