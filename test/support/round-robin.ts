import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pause } from './gateway.js';

/** A node as a load balancer sees it. */
interface Backend {
  readonly port: number;
  readonly opsUrl: string;
}

/** A load balancer that asks each node every 100 ms whether it is ready, and never sends a request twice. */
export interface RoundRobin {
  readonly url: string;
  /** Ports of the nodes that are ready at the moment. */
  readonly ready: ReadonlySet<number>;
  close(): Promise<void>;
}

const checkMs = 100;

export async function startRoundRobin(backends: readonly Backend[]): Promise<RoundRobin> {
  const ready = new Set<number>();
  const agents = new Map(backends.map(({ port }) => [port, new Agent({ keepAlive: true })]));
  let closed = false;
  let turn = 0;

  async function check({ port, opsUrl }: Backend): Promise<void> {
    while (!closed) {
      const isReady = await fetch(`${opsUrl}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (isReady) ready.add(port);
      else ready.delete(port);
      await pause(checkMs);
    }
  }

  function forward(incoming: IncomingMessage, answer: ServerResponse): void {
    const ports = backends.map(({ port }) => port).filter((port) => ready.has(port));
    const port = ports[turn++ % ports.length];
    if (port === undefined) {
      answer.writeHead(502).end('no node is ready');
      return;
    }
    const { method, url: path, headers } = incoming;
    const sent = request({ port, method, path, headers, agent: agents.get(port)! }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
      reply.on('error', () => answer.destroy());
    });
    sent.on('error', (error) => {
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(502).end(`the node on port ${port}: ${error.message}`);
    });
    incoming.pipe(sent);
  }

  const server = createServer({ keepAliveTimeout: 60_000 }, forward);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const checks = backends.map(check);
  while (ready.size < backends.length) await pause(20);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ready,
    async close() {
      closed = true;
      await Promise.all(checks);
      for (const agent of agents.values()) agent.destroy();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
