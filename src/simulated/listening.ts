import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, 4096, () => {
      server.removeListener('error', reject);
      // A connection that could not be accepted must not end the process.
      server.on('error', () => {});
      resolve((server.address() as AddressInfo).port);
    });
  });
}

export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
