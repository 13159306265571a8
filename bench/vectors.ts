import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteVectors } from '../src/control-plane/vectors/sqlite.js';
import { VectorStore } from '../src/control-plane/vectors/store.js';

/**
 * What a look-up by meaning costs the control process: the questions behind one scope are compared on a thread of
 * SQLite's, and the event loop goes on. `node dist/bench/vectors.js [dimensions]`.
 */
const dimensions = Number(process.argv[2] ?? 1536);
const lookups = 200;
const inFlight = 8;

function random(): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, () => Math.random() - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Milliseconds that the event loop's own thread has run. */
const onLoop = (): number =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

const dataDir = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
const log = { info() {}, warn() {}, error: (fields: object) => console.error(fields) };
const store = new VectorStore(await openSqliteVectors(dataDir), { maxBytes: 2 ** 40, log });
console.log(`${dimensions} dimensions`);
for (const questions of [10, 100, 1000, 2048]) {
  const scope = `${questions}`;
  for (let i = 0; i < questions; i++) await store.add(scope, `${i}`, random(), 3600);
  const asked = Array.from({ length: lookups }, random);
  const loopBegan = onLoop();
  const began = process.cpuUsage();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      for (let vector = asked.pop(); vector !== undefined; vector = asked.pop())
        await store.nearest(scope, vector, 0.95);
    }),
  );
  const { user, system } = process.cpuUsage(began);
  const cpu = ((user + system) / 1000 / lookups).toFixed(2);
  const loop = ((onLoop() - loopBegan) / lookups).toFixed(2);
  console.log(
    `${questions} questions in the scope: ${cpu} ms of CPU a look-up, ${loop} ms of it on the event loop`,
  );
}
await store.close();
rmSync(dataDir, { recursive: true });
