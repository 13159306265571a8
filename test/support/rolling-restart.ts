import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { FirstKeys } from '../../src/control-plane/store/store.js';
import { eventually, pause, type RunningGateway, startGateway } from './gateway.js';
import { startRoundRobin } from './round-robin.js';
import { timeScale } from './time-limits.js';

/** Milliseconds from the end of each to the next one: of four callers, and of one that makes changes. */
export interface Pace {
  readonly requests: number;
  readonly changes: number;
}
const usual: Pace = { requests: 20, changes: 200 };

/** What became of the load while nodes were restarted. */
export interface Rolled {
  readonly nodes: RunningGateway[];
  readonly requests: number;
  readonly streams: number;
  readonly changes: number;
  /** A line each, of whatever did not end as it should. */
  readonly failures: readonly string[];
}

/**
 * Restarts one node after the other, so many times all of them, under load through a load balancer. `main`: the program
 * that a node is started with next, in place of its own.
 */
export async function restartAll(
  before: readonly RunningGateway[],
  keys: FirstKeys,
  rounds: number,
  main: (round: number) => string | undefined = () => undefined,
  pace = usual,
): Promise<Rolled> {
  const nodes = [...before];
  const balancer = await startRoundRobin(nodes);
  const counts = { requests: 0, streams: 0, changes: 0 };
  const failures: string[] = [];
  let over = false;

  const send = (path: string, key: string, body: object, headers: object = {}): Promise<Response> =>
    fetch(`${balancer.url}${path}`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': key,
        'x-gateway-provider': '@simulated',
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
    });
  const chat = (model: string, stream: boolean): Promise<Response> =>
    send('/v1/chat/completions', keys.workspace_key, {
      ...{ model, stream },
      messages: [{ role: 'user', content: 'Hello' }],
    });

  async function repeat(what: keyof typeof counts, pauseMs: number, once: () => Promise<string | null>) {
    while (!over) {
      const problem = await once().catch((error: Error) => `${error.message} (${String(error.cause)})`);
      counts[what]++;
      if (problem !== null) failures.push(`${what}: ${problem}`);
      await pause(pauseMs);
    }
  }

  const request = async (): Promise<string | null> => {
    const response = await chat('gpt-4o-mini', false);
    const text = await response.text();
    return response.status === 200 ? null : `${response.status} ${text}`;
  };
  const stream = async (): Promise<string | null> => {
    const text = await (await chat('sim-fault:chunks=20,delay=50', true)).text();
    return text.endsWith('data: [DONE]\n\n') ? null : `cut: ${text.slice(-200)}`;
  };
  /**
   * As clients do: a change that PostgreSQL was too busy for (503) is sent again under the same key, and on a busy machine one
   * whose answer took too long (504).
   */
  const change = async (): Promise<string | null> => {
    const config = { retry: { attempts: 1 } };
    const body = { name: 'rolled', workspace_id: keys.workspace_id, config };
    const repeatable = { 'idempotency-key': randomUUID() };
    for (let tries = 1; ; tries++) {
      const response = await send('/v1/configs', keys.admin_key, body, repeatable);
      const text = await response.text();
      if (response.status === 200) return null;
      const mayRepeat = response.status === 503 || (response.status === 504 && timeScale() > 1);
      if (!mayRepeat || tries === 5) return `${response.status} ${text}`;
      await pause(1000);
    }
  };
  const load = [
    ...[0, 1, 2, 3].map(() => repeat('requests', pace.requests, request)),
    ...[0, 1, 2].map(() => repeat('streams', 0, stream)),
    repeat('changes', pace.changes, change),
  ];

  try {
    for (let round = 0; round < rounds; round++) {
      for (const [i, node] of nodes.entries()) {
        expect(await node.stop({ keep: true }), 'exit code').to.equal(0);
        const { env, dataDir } = node;
        nodes[i] = await startGateway({ env, dataDir, keys, ...optional(main(round)) });
        await eventually('the node is back', async () => balancer.ready.has(node.port));
      }
    }
  } finally {
    over = true;
    await Promise.all(load);
    await balancer.close();
  }
  return { nodes, ...counts, failures };
}

const optional = (main: string | undefined) => (main === undefined ? {} : { main });
