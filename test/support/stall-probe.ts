// Preloaded into the gateway's processes (`node --import`): tells how long a data worker's event loop was held up.
import { closeSync, openSync, readSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';

const socket = process.env['STALL_PROBE'];
if (socket !== undefined && process.argv[1]?.endsWith('data-worker.js')) {
  const stat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  process.on('exit', () => closeSync(stat));
  const buffer = Buffer.alloc(64);
  /** Milliseconds that the processor has worked for this thread. */
  const worked = (): number => {
    const length = readSync(stat, buffer, 0, buffer.length, 0);
    return Number(buffer.toString('latin1', 0, length).split(' ')[0]) / 1e6;
  };
  let longest = 0;
  let at = performance.now();
  let cpu = worked();
  setInterval(() => {
    const now = performance.now();
    const spent = worked();
    // A turn that took longer than the processor worked for it waited for the processor, as on any busy machine.
    longest = Math.max(longest, Math.min(now - at, spent - cpu));
    at = performance.now();
    cpu = worked();
  }, 1).unref();
  rmSync(socket, { force: true });
  createServer((asker) => {
    asker.on('error', () => {});
    // A turn later: the one that is going on counts too.
    setTimeout(() => {
      asker.end(String(longest));
      longest = 0;
    }, 5);
  })
    .listen(socket)
    .unref();
}
