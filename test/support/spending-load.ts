import { Pool } from 'undici';
import type { BillingProvider } from './billing-provider.js';
import { pause } from './gateway.js';

/** Tokens that each request may be answered with. */
export const maxTokens = 2000;
/** A client that is refused for want of budget asks again: what others hold back comes back as they end. */
const mostTries = 25;
const againMs = 60;
/** A client that disconnects does so within this time after the provider was asked. Milliseconds. */
const longestStayMs = 70;

/** How clients and gateways are reached; each client asks until it has an answer or has disconnected. */
export interface SpendingOptions {
  readonly urls: readonly string[];
  readonly key: string;
  readonly clients: number;
  readonly provider: BillingProvider;
  /** Called once, when so many requests were answered. */
  readonly meanwhile: { readonly after: number; readonly work: () => Promise<void> };
}

export interface Spending {
  sent: number;
  answered: number;
  /** Requests that had no budget left. */
  refused: number;
  /** Requests whose budget could not be checked. */
  unavailable: number;
  /** Requests whose connection broke. */
  broken: number;
  /** Traces of requests whose client disconnected. */
  readonly left: Set<string>;
  /** Other answers, by status. */
  readonly others: number[];
}

/** Clients, all at a time, of which every fifth disconnects while the provider answers it. */
export async function spend({ urls, key, clients, provider, meanwhile }: SpendingOptions): Promise<Spending> {
  const pools = urls.map((url) => new Pool(url, { connections: Math.ceil(clients / urls.length) }));
  const done: Spending = {
    sent: 0,
    answered: 0,
    refused: 0,
    unavailable: 0,
    broken: 0,
    left: new Set(),
    others: [],
  };
  let work: Promise<void> | null = null;
  const leaving = new Map<string, AbortController>();
  provider.onCall = (user) => {
    const client = leaving.get(user);
    if (client !== undefined) setTimeout(() => client.abort(), Math.random() * longestStayMs);
  };

  /** Has the client what it wants? */
  const ask = async (client: number): Promise<boolean> => {
    const trace = `spender-${client}-${done.sent++}`;
    const connection = new AbortController();
    if (client % 5 === 0) leaving.set(trace, connection);
    try {
      const { statusCode, body } = await pools[client % pools.length]!.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': key,
          'x-gateway-provider': '@billing',
          'x-gateway-trace-id': trace,
        },
        body: JSON.stringify({
          ...{ model: 'gpt-4o', user: trace, max_tokens: maxTokens, stream: client % 2 === 0 },
          messages: [{ role: 'user', content: 'Hello' }],
        }),
        signal: connection.signal,
      });
      await body.dump({ limit: 1_000_000 });
      if (statusCode === 200 && ++done.answered === meanwhile.after) work = meanwhile.work();
      if (statusCode === 200) return true;
      if (statusCode === 412) done.refused++;
      else if (statusCode === 503) done.unavailable++;
      else done.others.push(statusCode);
      return false;
    } catch {
      if (connection.signal.aborted) done.left.add(trace);
      else done.broken++;
      return connection.signal.aborted;
    } finally {
      leaving.delete(trace);
    }
  };
  const one = async (client: number): Promise<void> => {
    for (let tries = 0; tries < mostTries && !(await ask(client)); tries++)
      await pause(againMs * (0.5 + Math.random()));
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => one(client)));
  await work;
  await Promise.all(pools.map((pool) => pool.destroy()));
  return done;
}
