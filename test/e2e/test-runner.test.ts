// lane: slow
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import { eventually, pause } from '../support/gateway.js';
import { root } from '../support/root.js';

interface Failure {
  readonly title: string;
  readonly isTimeLimit: boolean;
  /** As mocha prints it. */
  readonly list: string;
}

interface Result {
  passes: number;
  failures: number;
  /** Seconds of the processor by file. */
  readonly processor: Readonly<Record<string, number>>;
  readonly failed: readonly Failure[];
  readonly problem: string | null;
  readonly output: string;
}

interface Lane {
  readonly name: string;
  readonly files: readonly string[];
}

interface LaneRunner {
  run(lane: Lane, results: string): Promise<Result>;
  setTimeScale(timeScale: number): void;
  close(): Promise<readonly string[]>;
}

describe('the runner of the tests', function () {
  this.timeout(60_000);
  let folder: string;
  let runs = 0;
  // Plain JavaScript that runs before anything is built or installed: it has no types.
  let runMocha: (run: object) => Promise<Result>;
  let repeatFailures: (results: Result[], options: object) => Promise<void>;
  let measureTimeScale: () => Promise<number>;
  let watchTimeScale: (least: number, changed: (scale: number) => void, options: object) => () => void;
  let LaneRunner: new (runner: object) => LaneRunner;
  let chosenLanes: (
    choice: 'all' | 'usual' | 'quick',
    durations: Readonly<Record<string, number>>,
  ) => { readonly lanes: readonly Lane[]; readonly leftOut: number };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-runner-'));
    const load = (name: string) => import(join(root, 'tools/test', name));
    ({ runMocha } = await load('mocha-run.mjs'));
    ({ repeatFailures } = await load('repeats.mjs'));
    ({ measureTimeScale, watchTimeScale } = await load('calibration.mjs'));
    ({ LaneRunner } = await load('lane-runner.mjs'));
    ({ chosenLanes } = await load('lanes.mjs'));
  });
  after(() => rmSync(folder, { recursive: true }));

  /** Runs mocha on a file with that text. */
  function run(text: string, timeScale: number): Promise<Result> {
    const file = join(folder, `${++runs}.test.ts`);
    const limits = JSON.stringify(join(root, 'test/support/time-limits.ts'));
    writeFileSync(
      file,
      `import { existsSync, writeFileSync } from 'node:fs';
      import { expectWithinMs } from ${limits};
      const pause = (ms) => new Promise((done) => setTimeout(done, ms));
      /** Whether this is the first time that the file runs. */
      const isFirst = !existsSync(${JSON.stringify(`${file}.ran`)});
      writeFileSync(${JSON.stringify(`${file}.ran`)}, '');
      describe('a suite', () => {${text}});`,
    );
    const results = join(folder, `${runs}.json`);
    return runMocha({ words: [file], results, lane: 'runner', slot: 0, timeScale });
  }

  /** Repeats what failed; returns what is said about it. */
  async function repeat(result: Result): Promise<string> {
    const lines: string[] = [];
    await repeatFailures([result], { folder, timeScale: 1, say: (line: string) => lines.push(line) });
    return lines.join('\n');
  }

  const lateText = `
    it('asserts a lower bound', () => expectWithinMs(2, 400, { atLeast: 1.9 }));
    it('is late once', () => expectWithinMs(isFirst ? 2 : 1, 1));
    it('is late each time', () => expectWithinMs(2, 1));
    describe('with a hook', function () {
      this.timeout(50);
      before(() => pause(isFirst ? 200 : 0));
      it('is not run at first', () => {});
      it('nor is this, which has the limit of its suite', () => pause(isFirst ? 200 : 0));
    });`;

  it('multiplies the limits of mocha, of suites too, and asserted upper bounds by the time scale', async () => {
    expect(await run(lateText, 100)).to.include({ passes: 5, failures: 0 });
  });

  it('repeats once what failed by a time limit, with the tests that a hook kept from running', async () => {
    const result = await run(lateText, 1);
    expect(result).to.include({ passes: 1, failures: 3 });
    expect(result.failed.map(({ isTimeLimit }) => isTimeLimit)).to.deep.equal([true, true, true]);
    const listed = await repeat(result);
    expect(result.failed.map(({ title }) => title)).to.deep.equal(['a suite is late each time']);
    expect(result).to.include({ passes: 4, failures: 1 });
    expect(listed)
      .to.match(/passed: a suite is late once/)
      .and.match(/FAILED again: a suite is late each time/)
      .and.match(/passed: a suite with a hook "before all" hook/);
  });

  it('repeats the whole file where a test that was late fails alone: it may build on others', async () => {
    const result = await run(
      `let isReady = false;
      it('prepares', () => { isReady = true; });
      it('builds on it', () => { if (!isReady) throw new Error('not ready'); expectWithinMs(isFirst ? 2 : 1, 1); });`,
      1,
    );
    expect(result).to.include({ passes: 1, failures: 1 });
    const listed = await repeat(result);
    expect(listed)
      .to.match(/FAILED again: a suite builds on it/)
      .and.match(/passed: .*test\.ts, the whole of it/);
    expect(result).to.deep.include({ passes: 2, failures: 0, failed: [] });
  });

  it('repeats once the whole file of another failure', async () => {
    const wrong = "throw new Error('wrong')";
    const once = await run(
      `it('passes', () => {});
      it('is wrong once', () => { if (isFirst) ${wrong}; });
      it('is late once', () => expectWithinMs(isFirst ? 2 : 1, 1));`,
      1,
    );
    expect(await repeat(once)).to.match(/passed: .*test\.ts, which had failed beside others/);
    expect(once).to.deep.include({ passes: 3, failures: 0, failed: [] });

    const always = await run(
      `it('passes', () => {});
      it('is wrong', () => { ${wrong}; });`,
      1,
    );
    expect(await repeat(always)).to.match(/FAILED again: .*test\.ts, which had failed beside others/);
    expect(always).to.include({ passes: 1, failures: 1 });
  });

  it('runs lanes one after another in one process, and starts another where a test has ended it', async () => {
    const runner = new LaneRunner({ words: ['--no-color'], slot: 0, timeScale: 1 });
    const write = (text: string): string => {
      const file = join(folder, `${++runs}.test.mjs`);
      writeFileSync(file, `describe('a suite', () => {${text}});`);
      return relative(root, file);
    };
    const runLane = (...files: string[]) =>
      runner.run({ name: 'a lane', files }, join(folder, `${++runs}.json`));
    const prints = "it('prints', () => console.log('process', process.pid));";
    const first = await runLane(write(prints), write("it('fails', () => { throw new Error('wrong'); });"));
    expect(first).to.include({ passes: 1, failures: 1, problem: null });
    const second = await runLane(write(prints));
    const pidIn = ({ output }: Result) => /^process (\d+)$/m.exec(output)?.[1];
    expect(pidIn(second)).to.be.a('string').and.equal(pidIn(first));
    expect(second.output).to.not.include('fails');

    const missing = await runLane('test/unit/no-such.test.ts');
    expect(missing.problem).to.equal('The tests could not be loaded (a lane): see above.');
    const ended = await runLane(write("it('ends', () => process.exit(3));"));
    expect(ended.problem).to.equal('mocha ended with 3 (a lane).');
    const third = await runLane(write(prints));
    expect(third).to.include({ passes: 1, problem: null });
    expect(pidIn(third)).to.not.equal(pidIn(first));
    expect(await runner.close()).to.deep.equal([]);

    const late = await runLane(write("it('ends later', () => void setTimeout(() => process.exit(4), 50));"));
    expect(late).to.include({ passes: 1, problem: null });
    await new Promise((wait) => setTimeout(wait, 200));
    expect(await runner.close()).to.deep.equal([
      'mocha ended with 4 after its tests, of which the last were a lane.',
    ]);
  });

  it('names what a test has left open, and the lane', async () => {
    const runner = new LaneRunner({ words: [], slot: 0, timeScale: 0.1 });
    for (const text of ['', 'setTimeout(() => {}, 600_000)', '']) {
      const file = join(folder, `${++runs}.test.mjs`);
      writeFileSync(file, `it('is there', () => void ${text || 0});`);
      const lane = { name: `lane ${text === '' ? runs : 'of the timer'}`, files: [relative(root, file)] };
      expect(await runner.run(lane, join(folder, `${runs}.json`))).to.include({ passes: 1, problem: null });
    }
    const problems = await runner.close();
    expect(problems).to.have.length(1);
    expect(problems[0])
      .to.match(/^A test left a socket, timer or process open/)
      .and.include('1 × Timeout since lane of the timer');
  });

  it('takes lanes from the first lines of the files, else by their folder, and spreads them by their seconds', () => {
    const { lanes, leftOut } = chosenLanes('all', { 'test/fault/kill.test.ts': 1000 });
    expect(leftOut).to.equal(0);
    const laneOf = (file: string) => lanes.find(({ files }) => files.includes(file));
    expect(laneOf('test/e2e/headers.test.ts')?.name).to.equal('shared gateway');
    expect(laneOf('test/unit/router.test.ts')?.name).to.match(/^unit \d+\/\d+$/);
    expect(lanes[0]?.files).to.include('test/unit/bounded-memory.test.ts');
    expect(lanes[1]?.name).to.equal('shared gateway');
    expect(lanes[2]?.files).to.deep.equal(['test/fault/kill.test.ts']);
    const files = lanes.flatMap((lane) => lane.files);
    expect(new Set(files).size).to.equal(files.length);
    expect(laneOf('test/unit/package.test.ts')?.name).to.match(/^unit /);
    const quick = chosenLanes('quick', {}).lanes.flatMap((lane) => lane.files);
    expect(quick).to.not.include('test/unit/package.test.ts');
    for (const file of quick)
      expect(
        /^test\/(unit|golden|fuzz)\//.test(file) || laneOf(file)?.name === 'shared gateway',
        file,
      ).to.equal(true);
  });

  it('runs the slow files with --all alone, and counts those that are left out', () => {
    const [all, usual] = (['all', 'usual'] as const).map((choice) => chosenLanes(choice, {}));
    const filesOf = (lanes: readonly Lane[] = []) => lanes.flatMap(({ files }) => files);
    const left = filesOf(all?.lanes).filter((file) => !filesOf(usual?.lanes).includes(file));
    expect(left).to.include('test/fault/nodes-killed.test.ts').and.not.include('test/fault/kill.test.ts');
    expect(usual?.leftOut).to.equal(left.length);
  });

  it('has a reporter that writes no file where it is given no path for one', () => {
    const own = join(folder, 'own');
    mkdirSync(own);
    const file = join(own, 'one.test.cjs');
    // The count of passes is written half a second after the start.
    writeFileSync(file, "it('passes', (done) => void setTimeout(done, 600));");
    const mocha = join(root, 'node_modules/mocha/bin/mocha.js');
    const words = [mocha, '--no-config', '--reporter', join(root, 'tools/test/reporter.cjs'), file];
    const { TEST_RESULTS: _, ...env } = process.env;
    expect(execFileSync(process.execPath, words, { cwd: own, env, encoding: 'utf8' })).to.include(
      '1 passing',
    );
    expect(readdirSync(own)).to.deep.equal(['one.test.cjs']);
  });

  it('counts what a file uses of the processor, with the programs that it runs', async function () {
    if (process.platform !== 'linux') this.skip();
    const own = join(folder, 'own-seconds');
    const { processor } = await run(
      `it('starts a program', async () => {
        const { spawnSync } = await import('node:child_process');
        const work = 'while (process.cpuUsage().user < 3e5) for (let i = 0; i < 1e6; i++);';
        spawnSync(process.execPath, ['-e', work]);
        const { user, system } = process.cpuUsage();
        writeFileSync(${JSON.stringify(own)}, String((user + system) / 1e6));
      });`,
      1,
    );
    const [seconds = 0] = Object.values(processor);
    expect(seconds - Number(readFileSync(own, 'utf8'))).to.be.within(0.28, 60);
  });

  it('scales the limits of tests that run by how busy the machine has become, and back', async () => {
    let running = 0;
    const scales: number[] = [];
    const end = watchTimeScale(2, (scale) => scales.push(scale), { running: () => running, everyMs: 5 });
    running = 1e6;
    await eventually('it is busy', async () => scales.at(-1) === 10);
    running = 0;
    await eventually('it is quiet again', async () => scales.at(-1) === 2);
    end();
    const many = scales.length;
    running = 1e6;
    await pause(100);
    expect(scales).to.have.length(many);

    const file = join(folder, `${++runs}.test.mjs`);
    writeFileSync(
      file,
      `it('waits', async () => {
        console.log('runs');
        while (process.env.TEST_TIME_SCALE !== '7') await new Promise((next) => setTimeout(next, 10));
      });`,
    );
    const runner = new LaneRunner({ words: [], slot: 0, timeScale: 1 });
    const ran = runner.run({ name: 'a lane', files: [relative(root, file)] }, join(folder, `${runs}.json`));
    runner.setTimeScale(7);
    expect(await ran).to.include({ passes: 1, failures: 0 });
    expect(await runner.close()).to.deep.equal([]);
  });

  it('names the lines of the sources where what was built throws', async () => {
    const file = join(folder, `${++runs}.test.mjs`);
    const source = 'src/control-plane/tokens/parsed-token';
    writeFileSync(
      file,
      `import { parseToken } from ${JSON.stringify(join(root, 'dist', `${source}.js`))};
      it('throws', () => parseToken(null));`,
    );
    const runner = new LaneRunner({ words: ['--no-color'], slot: 0, timeScale: 1 });
    const { failed } = await runner.run(
      { name: 'a lane', files: [relative(root, file)] },
      join(folder, `${runs}.json`),
    );
    expect(await runner.close()).to.deep.equal([]);
    const line = readFileSync(join(root, `${source}.ts`), 'utf8')
      .split('\n')
      .findIndex((text) => text.includes('isTokenForm(text)'));
    expect(failed[0]?.list).to.include(`(${source}.ts:${line + 1}:`);
  });

  it('measures a scale that is never below 1, and at most 10', async () => {
    expect(await measureTimeScale()).to.be.within(1, 10);
  });
});
