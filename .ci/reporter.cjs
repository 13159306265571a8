// mocha's spec reporter, which also leaves its counts where .ci/test.mjs finds them, and its failures if they are to be
// listed there.
const { writeFileSync } = require('node:fs');
const { format } = require('node:util');
const { reporters, Runner } = require('mocha');

const { TEST_COUNTS: file, TEST_LANE: lane } = process.env;

module.exports = class Counting extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const began = performance.now();
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures, pending } = this.stats;
      const seconds = (performance.now() - began) / 1000;
      writeFileSync(
        file,
        JSON.stringify({ passes, failures, pending, seconds, list: listed(this.failures) }),
      );
    });
  }

  epilogue() {
    if (lane === undefined) super.epilogue();
  }
};

/** As mocha would print them. */
function listed(failures) {
  const { Base } = reporters;
  const print = Base.consoleLog;
  let text = '';
  Base.consoleLog = (...parts) => {
    text += `${format(...parts)}\n`;
  };
  if (failures.length > 0) Base.list(failures);
  Base.consoleLog = print;
  return text;
}
