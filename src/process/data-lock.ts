import { createHash } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RefusedStart } from '../control-plane/store/files/refused-start.js';

/** A socket's path may have about a hundred bytes; a longer one is replaced by a hash of it in the temporary folder. */
function socketPath(dataDir: string): string {
  const path = join(dataDir, 'control.sock');
  if (Buffer.byteLength(path) <= 100) return path;
  return join(tmpdir(), `headgate-${createHash('sha256').update(path).digest('hex').slice(0, 32)}.sock`);
}

/**
 * Holds a data directory for this control process: two on one directory would miss each other's revoked keys.
 * The hold is a listening socket, so it ends with the process however that ends; one that a killed process left
 * refuses connections and is taken over. Returns the function that releases it.
 */
export async function holdDataDir(dataDir: string): Promise<() => void> {
  const path = socketPath(dataDir);
  for (let tries = 0; tries < 3; tries++) {
    const server = await listen(path);
    if (server !== null) {
      server.unref();
      return () => {
        server.close();
      };
    }
    const holder = await holderOf(path);
    if (holder !== null) {
      throw new RefusedStart(
        `The data directory ${dataDir} is in use by process ${holder}. Stop that gateway, or give this one another with --data-dir.`,
      );
    }
    unlinkSync(path);
  }
  throw new RefusedStart(`The data directory ${dataDir} cannot be held: remove ${path} if no gateway runs.`);
}

function listen(path: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.end(String(process.pid), () => socket.destroy());
    });
    // Kept afterwards: a connection that could not be accepted must not end the process.
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(error);
    });
    server.listen(path, () => resolve(server));
  });
}

/** The process id that answers there; null: none does. */
function holderOf(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    let pid = '';
    socket.setTimeout(1000, () => socket.destroy(new Error('silent')));
    socket.on('data', (text) => {
      pid += text.toString();
    });
    socket.on('end', () => resolve(pid));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? null : 'unknown'),
    );
  });
}
