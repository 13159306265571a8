// mocha's spec reporter, which also writes its results where tools/test/mocha-run.mjs finds them: counts, the seconds of each
// file with those of the processor, and the failures. Without such a path it is the spec reporter alone.
const { existsSync, readFileSync, writeFileSync } = require('node:fs');
const { SourceMap } = require('node:module');
const { join, relative } = require('node:path');
const { format } = require('node:util');
const { reporters, Runner } = require('mocha');

/** How often the count of a run that goes on is written. */
const liveMs = 500;

/** Seconds of the processor that have been counted, of those of this process: the first file has what was loaded. */
let counted = 0;

module.exports = class Counting extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    // Of a process that runs several lanes each has its own.
    const { results = process.env.TEST_RESULTS, lane = process.env.TEST_LANE } =
      options?.reporterOption ?? {};
    this.lane = lane;
    if (results === undefined) return;
    const began = performance.now();
    const { EVENT_SUITE_BEGIN, EVENT_SUITE_END, EVENT_TEST_PASS, EVENT_RUN_END } = Runner.constants;
    const files = {};
    const processor = {};
    const passed = [];
    let fileBegan = began;
    let writtenAt = 0;
    // The suites right below the root: their hooks are part of what a file takes.
    const isOfFile = (suite) => suite.parent?.root === true;
    runner.on(EVENT_SUITE_BEGIN, (suite) => {
      if (isOfFile(suite)) fileBegan = performance.now();
    });
    runner.on(EVENT_SUITE_END, (suite) => {
      if (!isOfFile(suite)) return;
      const file = fileOf(suite);
      files[file] = (files[file] ?? 0) + (performance.now() - fileBegan) / 1000;
      // From the end of the file before on: its share of what was loaded and cleaned up is in it.
      const used = processorSeconds();
      processor[file] = (processor[file] ?? 0) + used - counted;
      counted = used;
    });
    runner.on(EVENT_TEST_PASS, (test) => {
      passed.push(test.fullTitle());
      if (performance.now() - writtenAt < liveMs) return;
      writtenAt = performance.now();
      writeFileSync(`${results}.live`, String(passed.length));
    });
    runner.once(EVENT_RUN_END, () => {
      const { passes, failures, pending } = this.stats;
      const seconds = (performance.now() - began) / 1000;
      const failed = this.failures.map((test) => described(test));
      const counts = { passes, failures, pending, seconds };
      writeFileSync(results, JSON.stringify({ ...counts, files, processor, passed, failed }));
    });
  }

  epilogue() {
    if (this.lane === undefined) super.epilogue();
  }
};

/** Of this process and of those that it has started and that have ended; of this one alone where there is no /proc. */
function processorSeconds() {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    // After the name, which may hold anything: from the eleventh on, ticks of 10 ms.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}

/** The source of a test. */
const fileOf = ({ file }) => relative(process.cwd(), file ?? '').replace(/^dist\/(.*)\.js$/, '$1.ts');

/** Do tests load what was built (lane-process.mjs)? The lines in their errors are then those of the build. */
const isBuilt = process.argv[1]?.endsWith('lane-process.mjs');

/** A stack with the lines of the sources. */
function inSources(stack) {
  return stack.replace(/(?:file:\/\/)?(\/[^\s():]+)\.[jt]s:(\d+):(\d+)/g, (whole, path, line, column) => {
    const source = relative(process.cwd(), path).replace(/^dist\//, '');
    const map = join(process.cwd(), 'dist', `${source}.js.map`);
    if (!existsSync(map)) return whole;
    const found = new SourceMap(JSON.parse(readFileSync(map, 'utf8'))).findEntry(line - 1, column - 1);
    return `${source}.ts:${found.originalLine + 1}:${found.originalColumn + 1}`;
  });
}

function described(test) {
  if (isBuilt && typeof test.err?.stack === 'string') test.err.stack = inSources(test.err.stack);
  const isHook = test.type === 'hook';
  const suite = test.parent?.fullTitle() ?? '';
  return {
    file: fileOf(test),
    title: test.fullTitle(),
    suite,
    isHook,
    // mocha's own, and the TimeLimitError of test/support/time-limits.ts.
    isTimeLimit: test.err?.code === 'ERR_MOCHA_TIMEOUT' || test.err?.code === 'TIME_LIMIT',
    list: listed([test]),
  };
}

/** As mocha would print them. */
function listed(failures) {
  const { Base } = reporters;
  const print = Base.consoleLog;
  let text = '';
  Base.consoleLog = (...parts) => {
    text += `${format(...parts)}\n`;
  };
  Base.list(failures);
  Base.consoleLog = print;
  return text;
}
