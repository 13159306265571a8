import { Pool } from 'undici';
import { pause } from '../gateway.js';
import type { Meter } from './judge.js';
import { type Case, embedTarget, lentTarget, mirrorTarget, plainTargets, teams, textOf } from './plan.js';
import type { Rule, World } from './world.js';

/** How a request ended for its client. 0: it disconnected, or the connection broke. */
export interface Done {
  readonly of: Case;
  readonly status: number;
  readonly body: string;
  readonly cache: string | null;
}

const retries = { attempts: 2, on_status_codes: [429, 500, 502, 503] };

/** The config that a request brings along. */
function configOf({ way, targets, question }: Case): object {
  const all = targets.map((slug) => ({ provider: `@${slug}` }));
  const first = all[0]!;
  if (way === 'simple') return { ...first, cache: { mode: 'simple' } };
  if (way === 'semantic') {
    const embedding = { provider: `@${embedTarget}`, model: 'text-embedding-3-small' };
    return { ...first, cache: { mode: 'semantic', embedding } };
  }
  if (question !== null || way === 'single') return first;
  if (way === 'retry') return { ...first, retry: retries };
  if (way === 'late') return { strategy: { mode: 'fallback' }, request_timeout: 100, targets: all };
  if (way === 'mirror') return { ...first, mirror: { share: 1, target: { provider: `@${mirrorTarget}` } } };
  if (way === 'balance') return { strategy: { mode: 'loadbalance' }, targets: all };
  const hedge = way === 'hedge' ? { hedge: { percentile: 95, min_delay: 40, max_extra: 1 } } : {};
  return { strategy: { mode: 'fallback', ...hedge }, targets: all };
}

/** `extra_body` of a request: what it is, apart from its headers. */
export function bodyOf(asked: Case): object {
  const { model, question, name, isStream, maxTokens } = asked;
  return {
    ...{ model, user: question ?? name, messages: [{ role: 'user', content: textOf(asked) }] },
    ...(maxTokens !== null && { max_tokens: maxTokens }),
    ...(isStream && { stream: true, stream_options: { include_usage: true } }),
  };
}

export const headersOf = (asked: Case): Record<string, string> => ({
  'x-gateway-config': JSON.stringify(configOf(asked)),
  'x-gateway-metadata': JSON.stringify({ team: asked.team, who: asked.question ?? asked.name }),
  'x-gateway-trace-id': asked.name,
  ...(asked.question !== null && { 'x-gateway-cache-namespace': 'shared' }),
});

/** Sends the requests to the gateways, `clients` at a time. `meanwhile` is called before each. */
export async function sendAll(
  urls: readonly string[],
  { keys }: World,
  cases: readonly Case[],
  clients: number,
  meanwhile: (sent: number) => Promise<void>,
): Promise<Done[]> {
  const pools = urls.map((url) => new Pool(url, { connections: clients }));
  const done: Done[] = [];
  let next = 0;
  const send = async (asked: Case, pool: Pool): Promise<Done> => {
    const leaving = new AbortController();
    const timer = asked.leavesAfter === null ? null : setTimeout(() => leaving.abort(), asked.leavesAfter);
    try {
      const { statusCode, headers, body } = await pool.request({
        ...{ method: 'POST', path: '/v1/chat/completions', signal: leaving.signal },
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': keys[asked.key]!.key,
          ...headersOf(asked),
        },
        body: JSON.stringify(bodyOf(asked)),
      });
      const cache = (headers['x-gateway-cache-status'] as string | undefined) ?? null;
      return { of: asked, status: statusCode, body: await body.text(), cache };
    } catch {
      return { of: asked, status: 0, body: '', cache: null };
    } finally {
      if (timer !== null) clearTimeout(timer);
    }
  };
  const client = async (number: number): Promise<void> => {
    while (next < cases.length) {
      const i = next++;
      await meanwhile(i);
      const one = await send(cases[i]!, pools[(number + i) % pools.length]!);
      done.push(one);
      // The gateway is being started again.
      if (one.status === 0 && one.of.leavesAfter === null) await pause(20);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, i) => client(i)));
  await Promise.all(pools.map((pool) => pool.destroy()));
  return done;
}

/** Everything that requests of each key, to targets in turn, would meet, and what is left of it. */
export async function metersOf({ admin, keys }: World): Promise<Meter[]> {
  const meters: Meter[] = [];
  const targets = [...plainTargets, lentTarget];
  for (const [i, { id }] of keys.entries()) {
    const target = targets[i % targets.length]!;
    const of = { key: id, target, team: teams[i % teams.length]!, model: 'fz-plain' };
    const explained = (await admin('POST', '/v1/requests/explain', {
      api_key_id: id,
      headers: {
        'x-gateway-provider': `@${target}`,
        'x-gateway-metadata': JSON.stringify({ team: of.team }),
      },
      request_body: { model: of.model, messages: [{ role: 'user', content: 'Hello' }] },
    })) as { limits: Omit<Meter, 'of'>[]; nodes: { limits: Omit<Meter, 'of'>[] }[] };
    for (const limit of [...explained.limits, ...explained.nodes.flatMap(({ limits }) => limits)])
      meters.push({ ...limit, of });
  }
  return meters;
}

interface Used {
  readonly current_usage: number;
}

/** What the administration shows as used of each budget. */
export async function usageOf(
  { admin, keys, budgets }: World,
  workspaceId: string,
): Promise<Map<Rule, number>> {
  const usage = new Map<Rule, number>();
  for (const rule of budgets) {
    const { on, of, id } = rule;
    if (on === 'policy') {
      const { data } = await admin('GET', `/v1/policies/usage-limits/${id}/entities?page_size=100`);
      const sum = (data as Used[]).reduce((all, { current_usage }) => all + current_usage, 0);
      usage.set(rule, sum);
      continue;
    }
    const path =
      on === 'api_key'
        ? `/v1/api-keys/${keys[Number(of)]!.id}`
        : on === 'workspace'
          ? `/v1/admin/workspaces/${workspaceId}?include_usage=true`
          : on === 'virtual_key'
            ? `/v1/providers/${of}`
            : '/v1/integrations/lent/workspaces';
    const found = await admin('GET', path);
    const holder = on === 'integration' ? (found['workspaces'] as Record<string, unknown>[])[0]! : found;
    const limits = holder['usage_limits'] as Used | Used[];
    usage.set(rule, (Array.isArray(limits) ? limits[0]! : limits).current_usage);
  }
  return usage;
}

/** What analytics show of everything until now. Cost in cents. */
export interface Totals {
  readonly requests: number;
  readonly cost: number;
  readonly tokens: number;
}

export async function totalsOf({ admin }: World): Promise<Totals> {
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const span = `time_of_generation_min=${at(-3_600_000)}&time_of_generation_max=${at(60_000)}`;
  const total = async (graph: string): Promise<number> =>
    ((await admin('GET', `/v1/analytics/graphs/${graph}?${span}`))['summary'] as { total: number }).total;
  return { requests: await total('requests'), cost: await total('cost'), tokens: await total('tokens') };
}
