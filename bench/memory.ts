import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chatBody } from './chat.js';
import type { BenchRow } from './comparison.js';
import { childrenOf, proportionalBytes, residentBytes } from './cpu.js';
import { clientRequest, drive } from './load.js';
import { drivePaced } from './paced.js';
import { record, summary } from './results.js';
import { ended, endsWithThis, freePort, here, pause, untilOpen } from './servers.js';

/**
 * Memory of everything that `npm start` leaves running with one data worker and the simulated provider, at the start and
 * after minutes of chats of 1 KB with bodies logged: `node dist/bench/memory.js [minutes] [requests a second]`. 5 minutes at
 * 300 a second by default; 0: as many as 32 connections can have. Resident memory counts what processes share, such as
 * Node's own program, in each of them; of the proportional set size each has its part.
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
interface Memory {
  readonly resident: number;
  readonly proportional: number;
}

/** Megabytes of each process, in the order in which one starts the next. */
const memory = (): Memory[] =>
  withChildren(npm.pid ?? 0).map((pid) => ({
    resident: residentBytes([pid]) / 1e6,
    proportional: proportionalBytes(pid) / 1e6,
  }));

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
  figures: {
    at_start_mb: [atStart[i]?.resident ?? 0],
    after_load_mb: [afterLoad[i]?.resident ?? 0],
    at_start_pss_mb: [atStart[i]?.proportional ?? 0],
    after_load_pss_mb: [afterLoad[i]?.proportional ?? 0],
  },
}));
const sumOf = (values: readonly number[]): number =>
  Math.round(values.reduce((all, value) => all + value, 0));
const shown = (of: 'resident' | 'proportional', i: number | null): Record<string, number> =>
  Object.fromEntries(
    Object.entries({ 'at the start': atStart, 'under load': afterLoad }).map(([when, all]) => [
      `${of}, ${when}`,
      sumOf(all.filter((_, at) => i === null || i === at).map((one) => one[of])),
    ]),
  );
const line = (what: string, i: number | null) => [
  what,
  { ...shown('resident', i), ...shown('proportional', i) },
];
console.log('Megabytes:');
console.table(Object.fromEntries([...kinds.map(line), line(`all ${atStart.length} processes`, null)]));
await ended(npm, 'SIGTERM');
rmSync(dir, { recursive: true, force: true });
console.log(summary(record({ command: 'memory', options: { minutes, rate }, rows })).join('\n'));
process.exit(0);
