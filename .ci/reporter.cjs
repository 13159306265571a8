// mocha's spec reporter, which also leaves its counts where .ci/test.mjs finds them.
const { writeFileSync } = require('node:fs');
const { reporters, Runner } = require('mocha');

module.exports = class Counting extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures, pending } = this.stats;
      writeFileSync(process.env.TEST_COUNTS, JSON.stringify({ passes, failures, pending }));
    });
  }
};
