import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

/**
 * Watches the main thread of a data worker with custom plugins, and reports to the control process when it is blocked. In
 * `headgate plugin test` and its like it ends the process, which could not end itself.
 */
interface Watched {
  readonly marks: SharedArrayBuffer;
  readonly names: SharedArrayBuffer;
  readonly nameBytes: number;
  /** Descriptor of the pipe to the control process. null: there is none, the process is ended. */
  readonly pipe: number | null;
}

const { marks: memory, names, nameBytes, pipe } = workerData as Watched;
const marks = new Int32Array(memory);
/** Milliseconds between two looks. */
const lookMs = 50;
/** Milliseconds without a beat that a hook may take, if it computes for most of them; and if it only waits. */
const stallMs = { computing: 700, waiting: 5000 };
/** While a plugin is imported or set up it may take longer: nothing else can be done meanwhile. */
const setUpMs = 5000;
/** Milliseconds of the processor after which a process is ended: loading this program takes a second of them. */
const endMs = 8000;

function nameOf(number: number): readonly string[] {
  const bytes = Buffer.from(new Uint8Array(names, (number - 1) * nameBytes, nameBytes));
  return bytes.toString('utf8', 0, bytes.indexOf(0)).split(' ');
}

/** The hooks that may be to blame: the one that runs, or those whose promises are open. */
function suspects(): number[] {
  if (marks[1]! > 0) return [marks[1]!];
  const found: number[] = [];
  for (let number = 1; number + 1 < marks.length; number++) if (marks[1 + number]! > 0) found.push(number);
  return found;
}

let beats = -1;
let since = performance.now();
let cpu = process.cpuUsage();
let isReported = false;

function look(): void {
  const now = Atomics.load(marks, 0);
  if (now !== beats) {
    beats = now;
    since = performance.now();
    cpu = process.cpuUsage();
    isReported = false;
    return;
  }
  if (isReported) return;
  const ms = performance.now() - since;
  if (ms < stallMs.computing) return;
  const { user, system } = process.cpuUsage(cpu);
  if (pipe === null) {
    if ((user + system) / 1000 >= endMs) endProcess();
    return;
  }
  const isComputing = (user + system) / 1000 >= stallMs.computing * 0.8;
  if (!isComputing && ms < stallMs.waiting) return;
  const found = suspects().map(nameOf);
  const isSetUp = found.length > 0 && found.every(([, hook]) => hook === 'setup' || hook === 'import');
  if (found.length === 0 || (isSetUp && ms < setUpMs)) return;
  isReported = true;
  const hooks = found.map(([plugin, hook]) => ({ plugin, hook }));
  writeSync(pipe, `${JSON.stringify({ ms: Math.round(ms), hooks })}\n`);
}

function endProcess(): void {
  const [found] = suspects().map(nameOf);
  const where = found === undefined ? '' : ` in ${found[1]} of ${found[0]}`;
  writeSync(2, `headgate: the plugin does not come to an end${where}: it computed for ${endMs / 1000} s.\n`);
  process.kill(process.pid, 'SIGKILL');
}

setInterval(look, lookMs);
