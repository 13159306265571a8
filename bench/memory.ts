import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chatBody } from './chat.js';
import type { BenchRow } from './comparison.js';
import { childrenOf, residentBytes } from './cpu.js';
import { clientRequest, drive } from './load.js';
import { drivePaced } from './paced.js';
import { record, summary } from './results.js';
import { ended, endsWithThis, freePort, here, pause, untilOpen } from './servers.js';

/**
 * Resident memory of everything that `npm start` leaves running with one data worker and the simulated provider, at the
 * start and after minutes of chats of 1 KB with bodies logged: `node dist/bench/memory.js [minutes] [requests a second]`.
 * 5 minutes at 300 a second by default; 0: as many as 32 connections can have.
 */
const minutes = Number(process.argv[2] ?? 5);
const rate = Number(process.argv[3] ?? 300);

const dir = mkdtempSync(join(tmpdir(), 'headgate-memory-'));
const [port, grpcPort, opsPort] = [await freePort(), await freePort(), await freePort()];
const npm = endsWithThis(
  spawn('npm', ['start', '--', '--simulated', '--workers', '1'], {
    cwd: here('../..'),
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      HEADGATE_PORT: String(port),
      HEADGATE_GRPC_PORT: String(grpcPort),
      HEADGATE_OPS_PORT: String(opsPort),
      HEADGATE_DATA_DIR: dir,
      HEADGATE_LOG_LEVEL: 'warn',
    },
  }),
);
const keys = join(dir, 'first-keys.json');
while (!existsSync(keys)) await pause(100);
await untilOpen(port);
const { workspace_key: key } = JSON.parse(readFileSync(keys, 'utf8')) as { workspace_key: string };

const withChildren = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(withChildren)];
const kinds = ['npm', 'control process with the simulated provider', 'data worker'];
/** Megabytes of each process, in the order in which one starts the next. */
const memory = (): number[] => withChildren(npm.pid ?? 0).map((pid) => residentBytes([pid]) / 1e6);

await pause(3000);
const atStart = memory();
const headers = { 'x-gateway-api-key': key, 'x-gateway-provider': '@simulated' };
const request = clientRequest('/v1/chat/completions', headers, chatBody(false));
const until = performance.now() + minutes * 60_000;
let [requests, errors] = [0, 0];
while (performance.now() < until) {
  const load = { port, request, seconds: 5 };
  const result = await (rate > 0
    ? drivePaced({ ...load, rate })
    : drive({ ...load, connections: 32, chunked: false }));
  requests += result.requests;
  errors += result.errors;
}
const afterLoad = memory();
console.log(`${requests} requests, ${errors} errors`);
const rows: BenchRow[] = kinds.map((server, i) => ({
  work: 'memory',
  server,
  isFloor: false,
  figures: { at_start_mb: [atStart[i] ?? 0], after_load_mb: [afterLoad[i] ?? 0] },
}));
for (const { server, figures } of rows)
  console.log(
    `${server.padEnd(46)} ${figures['at_start_mb']![0]!.toFixed(0).padStart(4)} MB ${figures['after_load_mb']![0]!.toFixed(0).padStart(4)} MB`,
  );
const sum = (values: readonly number[]): string => values.reduce((all, mb) => all + mb, 0).toFixed(0);
console.log(`all ${atStart.length} processes: ${sum(atStart)} MB at the start, ${sum(afterLoad)} MB after`);
await ended(npm, 'SIGTERM');
rmSync(dir, { recursive: true, force: true });
console.log(summary(record({ command: 'memory', options: { minutes, rate }, rows })).join('\n'));
process.exit(0);
