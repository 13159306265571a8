// A process that runs lanes, one after the other, and is started again where a lane has ended it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { root } from '../prepare.mjs';
import { killGroup, lingerMs, nothing, running } from './mocha-run.mjs';

const program = join(root, 'tools/test/lane-process.mjs');
/** As .mocharc.json has them, but for tsx. */
const nodeOptions = ['--disable-proto=delete'];

export class LaneRunner {
  #slot;
  #timeScale;
  #words;
  #child = null;
  /** Resolves when the process has ended: its exit code or signal. */
  #ended = null;
  #output = { stdout: '', stderr: '' };
  /** The lane that runs, or that was the last to; a sentence about each time that the process ended between two. */
  #lane = '';
  #isRunning = false;
  #problems = [];
  /** One for each process that was told to end. */
  #retired = [];

  /**
   * @param {object} runner
   * @param {string[]} runner.words options of mocha
   * @param {number} runner.slot which of those that run at the same time it is: each has ports of its own
   * @param {number} runner.timeScale how many times longer its time limits are than on a quiet machine
   */
  constructor({ words, slot, timeScale }) {
    this.#words = words;
    this.#slot = slot;
    this.#timeScale = timeScale;
  }

  /**
   * @param {import('./lanes.mjs').Lane} lane
   * @param {string} results a file that is created, with what the reporter writes; `<results>.live` while it runs
   * @returns what the reporter wrote, `output`, and `problem`: a sentence where mocha itself failed, else null
   */
  async run(lane, results) {
    this.#child ??= this.#start();
    const child = this.#child;
    this.#lane = lane.name;
    this.#isRunning = true;
    const end = `\0${randomUUID()}\0`;
    const message = once(child, 'message').then(([said]) => said);
    child.send({ words: this.#words, files: lane.files, results, lane: lane.name, end });
    const how = await Promise.race([message, this.#ended]);
    this.#isRunning = false;
    const output = await this.#outputUntil(end);
    const seen = existsSync(results) ? JSON.parse(readFileSync(results, 'utf8')) : nothing;
    let problem = null;
    if (how.isLoaded === false) problem = `The tests could not be loaded (${lane.name}): see above.`;
    else if (how.isLoaded === undefined) problem = `mocha ended with ${how} (${lane.name}).`;
    if (how.isLarge) this.#retire();
    return { ...seen, output, problem };
  }

  /** Of the lanes from here on, that which runs included. */
  setTimeScale(timeScale) {
    this.#timeScale = timeScale;
    if (this.#child?.connected) this.#child.send({ timeScale });
  }

  /** Lets the process end. Resolves with the problems that there were with it and with those before it. */
  async close() {
    this.#retire();
    await Promise.all(this.#retired);
    return this.#problems;
  }

  /** The next lane is run by another process; this one may take its time to end. */
  #retire() {
    const child = this.#child;
    if (child === null) return;
    const ended = this.#ended;
    const lane = this.#lane;
    const output = this.#output;
    output.stderr = '';
    this.#child = null;
    child.disconnect();
    const inTime = Promise.race([
      ended.then(() => true),
      setTimeout(lingerMs * this.#timeScale, false, { ref: false }),
    ]);
    this.#retired.push(
      inTime.then((isOver) => {
        if (isOver) return;
        this.#problems.push(
          `A test left a socket, timer or process open: mocha did not exit by itself (last: ${lane}; open: ${output.stderr.trim()}).`,
        );
        killGroup(child, 'SIGKILL');
      }),
    );
  }

  #start() {
    const child = spawn(process.execPath, [...nodeOptions, program], {
      cwd: root,
      // A group of its own, with what the tests start.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, TEST_SLOT: String(this.#slot), TEST_TIME_SCALE: String(this.#timeScale) },
    });
    running.add(child);
    const output = { stdout: '', stderr: '' };
    this.#output = output;
    for (const name of ['stdout', 'stderr'])
      child[name].setEncoding('utf8').on('data', (text) => (output[name] += text));
    this.#ended = once(child, 'exit').then(([code, signal]) => {
      running.delete(child);
      const isCurrent = this.#child === child;
      if (isCurrent) this.#child = null;
      const how = signal ?? code;
      if (how !== 0 && !(isCurrent && this.#isRunning) && this.#problems.length === 0)
        this.#problems.push(`mocha ended with ${how} after its tests, of which the last were ${this.#lane}.`);
      return how;
    });
    return child;
  }

  /** Both streams, up to where the lane has ended; what a process printed that ended itself, after a moment. */
  async #outputUntil(end) {
    const isThere = () => Object.values(this.#output).every((text) => text.includes(end));
    for (let i = 0; i < 40 && !isThere(); i++) await setTimeout(50);
    let output = '';
    for (const [name, text] of Object.entries(this.#output)) {
      const [before, after = ''] = text.split(end);
      output += before;
      this.#output[name] = after;
    }
    return output;
  }
}
