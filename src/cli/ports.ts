import { createServer } from 'node:net';
import type { Settings } from '../common/settings/settings.js';

/** The ports that a gateway of these settings listens on, each with the flag that moves it. */
export function portsOf(settings: Settings): readonly { port: number; flag: string; use: string }[] {
  const admin = { port: settings.grpcPort, flag: '--grpc-port', use: 'admin gRPC' };
  return [
    { port: settings.port, flag: '--port', use: 'data plane' },
    ...(settings.role === 'all' ? [admin] : []),
    { port: settings.opsPort, flag: '--ops-port', use: 'health and metrics' },
  ];
}

/** Tries to bind; null when it worked, else the error's code. */
export function tryPort(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(codeOf(error)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

/** One sentence for a port that cannot be had. */
export function portProblem(host: string, port: number, flag: string, code: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use. Stop what listens there (ss -ltnp 'sport = :${port}' shows it), or choose another with ${flag}.`;
    case 'EACCES':
      return `Port ${port} needs rights that this user does not have. Choose one above 1023 with ${flag}.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine (${code}). Choose one with --host; 0.0.0.0 is all of them.`;
    default:
      return `Port ${port} on ${host} cannot be listened on (${code}). Choose another with ${flag}.`;
  }
}

/** The code of a system error, or its message. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
