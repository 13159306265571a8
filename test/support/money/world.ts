import { expect } from 'chai';
import type { RunningGateway } from '../gateway.js';
import {
  boundedKeys,
  type Dice,
  deadTarget,
  embedTarget,
  keyCount,
  lentTarget,
  mirrorTarget,
  plainTargets,
} from './plan.js';
import type { MoneyProvider } from './provider.js';

/** What a budget or a limit is set on, and of which requests it counts what. */
export interface Rule {
  readonly on: 'api_key' | 'workspace' | 'virtual_key' | 'integration' | 'policy';
  /** Number of the key, slug of the provider, or what the policy groups by. */
  readonly of: string;
  /** Of a policy and of what is read back: its id. */
  readonly id: string;
  readonly type: 'cost' | 'tokens' | 'requests' | 'concurrency';
  readonly value: number;
}

export interface World {
  readonly keys: readonly { readonly id: string; readonly key: string }[];
  readonly budgets: readonly Rule[];
  readonly rates: readonly Rule[];
  readonly admin: Admin;
}

export type Admin = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>;

/** The administration of a gateway, by the key of its first start. */
export const adminOf =
  (gateway: Pick<RunningGateway, 'url'>, adminKey: string): Admin =>
  async (method, path, body) => {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { 'x-gateway-api-key': adminKey, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.status, `${method} ${path}: ${text}`).to.equal(200);
    return JSON.parse(text || '{}') as Record<string, unknown>;
  };

const day = (from: number): string => new Date(Date.now() + from * 86_400_000).toISOString().slice(0, 10);

/** Far above what a run uses: what such a limit has left shows whether anything was lost. */
const ample = { cost: 1_000_000, tokens: 2_000_000_000, requests: 1_000_000 };
/** What some runs reach. */
const tight = { cost: [1, 2, 5], tokens: [2000, 20_000, 400_000], requests: [7, 25, 60] };

/** Providers, keys, prices, limits, budgets and policies, as the dice have them. */
export async function makeWorld(
  admin: Admin,
  workspaceId: string,
  provider: MoneyProvider,
  dice: Dice,
): Promise<World> {
  const budgets: Rule[] = [];
  const rates: Rule[] = [];
  const types = ['cost', 'tokens', 'requests'] as const;
  const budget = (on: Rule['on'], of: string, tightShare: number): object | null => {
    const type = dice.one(types);
    const value = dice.chance(tightShare) ? dice.one(tight[type]) : ample[type];
    const limit = value;
    budgets.push({ on, of, id: of, type, value: limit });
    return { type, credit_limit: limit };
  };
  const rate = (on: Rule['on'], of: string, tightShare: number): object[] => {
    const all: object[] = [];
    for (const type of ['requests', 'tokens', 'concurrency'] as const) {
      if (type === 'concurrency' && on === 'integration') continue;
      if (on === 'integration' && all.length > 0) break;
      const isTight = dice.chance(tightShare);
      const value =
        type === 'concurrency' ? (isTight ? 2 : 1000) : isTight ? dice.one(tight[type]) : ample[type];
      rates.push({ on, of, id: of, type, value });
      all.push({ type, value, ...(type !== 'concurrency' && { unit: dice.one(['rph', 'rpd']) }) });
    }
    return all;
  };

  for (const slug of [...plainTargets, mirrorTarget, embedTarget, deadTarget]) {
    const isLimited = slug === 'p0' || slug === 'p1';
    const from = [budgets.length, rates.length] as const;
    const made = await admin('POST', '/v1/providers', {
      ...{ workspace_id: workspaceId, name: slug, slug, provider: 'openai', key: `sk-${slug}` },
      custom_host: slug === deadTarget ? 'http://127.0.0.1:9/v1' : provider.addressOf(slug),
      ...(isLimited && {
        usage_limits: budget('virtual_key', slug, 0.1),
        rate_limits: rate('virtual_key', slug, 0.1),
      }),
    });
    const id = made['id'] as string;
    for (const [all, first] of [
      [budgets, from[0]],
      [rates, from[1]],
    ] as const)
      for (let i = first; i < all.length; i++) all[i] = { ...all[i]!, id };
  }
  await admin('POST', '/v1/integrations', {
    ...{ name: 'Lent', slug: 'lent', ai_provider_id: 'openai', key: 'sk-lent' },
    configurations: { custom_host: provider.addressOf(lentTarget) },
    create_default_provider: false,
    pricing_adjustments: { multiplier: { default: 0.5, response_token: 2 } },
  });
  await admin('PUT', '/v1/integrations/lent/models', {
    allow_all_models: true,
    models: [
      {
        ...{ slug: 'fz-own', enabled: true, is_custom: true },
        pricing_config: {
          type: 'static',
          pay_as_you_go: { request_token: { price: 0.0001 }, response_token: { price: 0.0002 } },
        },
      },
    ],
  });
  await admin('PUT', '/v1/integrations/lent/workspaces', {
    workspaces: [
      {
        ...{ id: workspaceId, enabled: true },
        usage_limits: [budget('integration', 'lent', 0.2)],
        rate_limits: rate('integration', 'lent', 0.1),
      },
    ],
    create_default_provider: false,
  });
  await admin('POST', '/v1/providers', {
    ...{ workspace_id: workspaceId, name: 'Lent', slug: lentTarget, integration_id: 'lent' },
  });
  for (const [since, request] of [
    [day(-1), 0.0002],
    [day(2), 9],
  ] as const)
    await admin('PUT', '/v1/model-configs/pricing/openai/fz-contract', {
      pay_as_you_go: { request_token: { price: request }, response_token: { price: 4 * request } },
      ...{ since, source: 'contract' },
    });
  await admin('PUT', `/v1/admin/workspaces/${workspaceId}`, {
    usage_limits: [budget('workspace', '', 0)],
    rate_limits: rate('workspace', '', 0),
  });
  for (const group of ['metadata.team', 'model', 'api_key', 'provider']) {
    const terms = budget('policy', group, group === 'api_key' ? 0.3 : 0);
    const scope = { workspace_id: workspaceId, conditions: [{ key: 'workspace_id', value: workspaceId }] };
    const made = await admin('POST', '/v1/policies/usage-limits', {
      ...{ name: `spends by ${group}`, group_by: [{ key: group }], ...scope, ...terms },
    });
    budgets.push({ ...budgets.pop()!, id: made['id'] as string });
    const type = dice.one(['requests', 'tokens'] as const);
    const value = dice.chance(group === 'api_key' ? 0.3 : 0) ? dice.one(tight[type]) : ample[type];
    const limited = await admin('POST', '/v1/policies/rate-limits', {
      ...{ name: `calls by ${group}`, group_by: [{ key: group }], ...scope, type, unit: 'rpd', value },
    });
    rates.push({ on: 'policy', of: group, id: limited['id'] as string, type, value });
  }
  const keys = [];
  for (let i = 0; i < keyCount; i++) {
    const of = String(i);
    const { id, key } = (await admin('POST', '/v1/api-keys/workspace/service', {
      ...{ name: `key ${i}`, workspace_id: workspaceId, scopes: ['completions.write'] },
      ...(dice.chance(0.8) && { usage_limits: budget('api_key', of, i < boundedKeys ? 0.7 : 0.3) }),
      ...(dice.chance(0.6) && { rate_limits: rate('api_key', of, 0.2) }),
    })) as { id: string; key: string };
    keys.push({ id, key });
  }
  return { keys, budgets, rates, admin };
}
