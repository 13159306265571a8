// Required by mocha (.mocharc.json): multiplies every limit that it sets a test or a hook by the scale of the machine.
import Mocha from 'mocha';
import { timeScale } from './time-limits.js';

interface Timed {
  /** Milliseconds, not scaled; 0: no limit. */
  _timeout: number;
  timeout(ms?: number | string): number | Timed;
}

const runnable = Mocha.Runnable.prototype as unknown as Timed;
const timeout = runnable.timeout;

// Where the limit is read, not where it is set: a suite's limit is set again for each suite and test in it, and would be
// scaled each time.
runnable.timeout = function (this: Timed, ...ms: [] | [number | string]): number | Timed {
  return ms.length === 0 ? this._timeout * timeScale() : timeout.apply(this, ms);
};

// A test that is retried is a copy, whose limit is set to the one that is read of the first.
const test = Mocha.Test.prototype as unknown as Timed & { clone(): Timed };
const clone = test.clone;
test.clone = function (): Timed {
  const copy = clone.call(this);
  copy._timeout = this._timeout;
  return copy;
};
