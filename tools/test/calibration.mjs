// How many times slower than a quiet one the machine is now. The tests multiply their time limits by it.
import { pbkdf2 } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Milliseconds of one share of the work on a quiet core of the machine that the limits of the tests were chosen on. */
const quietWorkMs = 105;
const iterations = 570_000;
const rounds = 3;
const timerMs = 5;
const timers = 30;
/** A timer of 5 ms ends after 6 on a quiet machine. */
const quietTimerMs = 6.5;
/** Below this it is noise. */
const isQuiet = 1.4;
/** A test that needs more than ten times its limit is broken, however busy the machine. */
const mostScale = 10;

/** How often it is looked while the tests run, and how many looks ten seconds and three seconds have. */
const lookMs = 500;
const looksKept = 20;
const looksNow = 6;
/** Threads that the tests themselves keep running, for each core: the limits were chosen beside these. */
const usualRunning = 1.5;

const work = promisify(pbkdf2);

/** At least 1, in steps of a half; takes about half a second on a quiet machine. */
export async function measureTimeScale() {
  return scaleOf(Math.max(await slownessOfProcessor(), await slownessOfTimers()));
}

/**
 * Calls `changed` with another scale whenever the machine becomes busier or quieter than it was, from how many threads of all
 * programs want a processor; never with less than `least`. Does nothing where there is no /proc. Returns what ends it.
 */
export function watchTimeScale(least, changed, { running = runningThreads, everyMs = lookMs } = {}) {
  if (running() === null) return () => {};
  const seen = [];
  let last = least;
  const timer = setInterval(() => {
    seen.push(running());
    if (seen.length > looksKept) seen.shift();
    const many = Math.max(mean(seen), seen.length < looksNow ? 0 : mean(seen.slice(-looksNow)));
    const scale = Math.max(least, scaleOf(many / (usualRunning * cpus().length)));
    if (scale === last) return;
    last = scale;
    changed(scale);
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Those of this machine that run or could, besides the one that asks; null where this is not known. */
function runningThreads() {
  try {
    return Number(/ (\d+)\/\d+ /.exec(readFileSync('/proc/loadavg', 'utf8'))[1]) - 1;
  } catch {
    return null;
  }
}

const mean = (numbers) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

function scaleOf(slowness) {
  if (slowness < isQuiet) return 1;
  return Math.min(mostScale, Math.ceil(slowness * 2) / 2);
}

/** All cores work at the same time, as they do in the tests: one that another process uses makes its share slower. */
async function slownessOfProcessor() {
  const cores = Math.min(3, availableParallelism());
  const took = [];
  for (let i = 0; i < rounds; i++) {
    const began = performance.now();
    await Promise.all(Array.from({ length: cores }, () => work('secret', 'salt', iterations, 32, 'sha256')));
    took.push(performance.now() - began);
  }
  return middle(took) / quietWorkMs;
}

async function slownessOfTimers() {
  const took = [];
  for (let i = 0; i < timers; i++) {
    const began = performance.now();
    await setTimeout(timerMs);
    took.push(performance.now() - began);
  }
  // The latest of ten: what a test meets that waits for several.
  took.sort((a, b) => a - b);
  return took[Math.floor(timers * 0.9)] / quietTimerMs;
}

const middle = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
