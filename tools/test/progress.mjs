// How far a run of the tests is, and how long it will take: from the seconds of each file in the run before.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../prepare.mjs';

/** Seconds of the processor by file, of the last run, those that took most first. Written to be read. */
const processorFile = join(root, 'dist', 'test-processor.json');
/** Kept beside the build, and not committed: seconds by file, of the last time that each ran. */
const durationsFile = join(root, 'dist', 'test-durations.json');
/** The same for a first run, committed: it would not know which lanes are long, and begins with these. */
const usualFile = join(root, 'tools', 'test', 'seconds.json');
/** Seconds of a file that is new, and of loading a lane. */
const unknownFileSeconds = { unit: 0.5, golden: 1, fuzz: 2, contract: 4, e2e: 5, fault: 8 };
const loadSeconds = 0.5;

export function readDurations() {
  const usual = JSON.parse(readFileSync(usualFile, 'utf8'));
  try {
    return { ...usual, ...JSON.parse(readFileSync(durationsFile, 'utf8')) };
  } catch {
    return usual;
  }
}

export function keepDurations(before, now) {
  keep(durationsFile, { ...before, ...rounded(now) });
}

export function keepProcessor(now) {
  const most = Object.entries(rounded(now)).sort(([, one], [, other]) => other - one);
  keep(processorFile, Object.fromEntries(most));
}

const rounded = (seconds) =>
  Object.fromEntries(Object.entries(seconds).map(([file, s]) => [file, Number(s.toFixed(2))]));
const keep = (file, seconds) => writeFileSync(file, `${JSON.stringify(seconds, null, 1)}\n`);

export const expectedFileSeconds = (file, durations) =>
  durations[file] ?? unknownFileSeconds[file.split('/')[1]];

const expectedSeconds = (lane, durations) =>
  loadSeconds + lane.files.reduce((sum, file) => sum + expectedFileSeconds(file, durations), 0);

/** One line that is rewritten on a terminal; elsewhere one line for each lane that ends. */
export class Progress {
  #began = performance.now();
  #lanes;
  #width;
  #durations;
  #state = new Map();
  #passed = 0;
  /** Of the lanes that have ended: seconds, and those that were expected. Their ratio is the pace of this run. */
  #took = 0;
  #expected = 0;
  #timer = null;
  #isTerminal = process.stdout.isTTY === true;

  /** `width` of the lanes run at a time. */
  constructor(lanes, width, durations) {
    this.#lanes = lanes;
    this.#width = width;
    this.#durations = durations;
    for (const lane of lanes) this.#state.set(lane, { phase: 'waits' });
    if (this.#isTerminal) this.#timer = setInterval(() => this.#draw(), 500);
  }

  /** `live`: a file with the passes of the lane so far, once there are some. */
  began(lane, live) {
    Object.assign(this.#state.get(lane), { phase: 'runs', began: performance.now(), live });
  }

  ended(lane, { passes, failures, seconds, processor }) {
    this.#state.get(lane).phase = 'ended';
    this.#passed += passes;
    this.#took += (performance.now() - this.#state.get(lane).began) / 1000;
    this.#expected += expectedSeconds(lane, this.#durations);
    const failing = failures > 0 ? `, ${failures} failing` : '';
    const took = `${seconds.toFixed(0)} s, ${sumOf(processor).toFixed(0)} s of the processor`;
    this.line(
      `${lane.name}: ${passes} passing${failing} (${took}). ${this.#isTerminal ? '' : this.#summary()}`,
    );
  }

  line(text) {
    this.#clear();
    console.log(text.trimEnd());
  }

  end() {
    clearInterval(this.#timer);
    this.#clear();
  }

  get seconds() {
    return (performance.now() - this.#began) / 1000;
  }

  #summary() {
    const states = [...this.#state.values()];
    const done = states.filter(({ phase }) => phase === 'ended').length;
    const left = this.#secondsLeft();
    const remaining = done === states.length ? '' : `, about ${spoken(left)} left`;
    return `${done}/${states.length} lanes, ${this.#passed + this.#live()} tests passed, ${spoken(this.seconds)}${remaining}`;
  }

  #live() {
    let passes = 0;
    for (const { phase, live } of this.#state.values()) {
      if (phase === 'runs' && existsSync(live)) passes += Number(readFileSync(live, 'utf8')) || 0;
    }
    return passes;
  }

  /** As the lanes will be taken: each by the slot that is free first. */
  #secondsLeft() {
    const slots = [];
    const waiting = [];
    const pace = this.#expected === 0 ? 1 : this.#took / this.#expected;
    for (const lane of this.#lanes) {
      const state = this.#state.get(lane);
      const expected = expectedSeconds(lane, this.#durations) * pace;
      if (state.phase === 'ended') continue;
      const left =
        state.phase === 'runs' ? Math.max(1, expected - (performance.now() - state.began) / 1000) : expected;
      if (state.phase === 'runs') slots.push(left);
      else waiting.push(left);
    }
    while (slots.length < this.#width) slots.push(0);
    for (const seconds of waiting) slots[slots.indexOf(Math.min(...slots))] += seconds;
    return Math.max(...slots);
  }

  #draw() {
    process.stdout.write(`\r\x1b[K${this.#summary()}`.slice(0, (process.stdout.columns ?? 80) + 3));
  }

  #clear() {
    if (this.#isTerminal) process.stdout.write('\r\x1b[K');
  }
}

/** Of the seconds of files. */
export const sumOf = (seconds) => Object.values(seconds).reduce((sum, each) => sum + each, 0);

function spoken(seconds) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
