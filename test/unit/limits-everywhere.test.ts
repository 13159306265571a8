import { expect } from 'chai';
import {
  type BudgetMeasure,
  type BudgetPolicy,
  type BudgetRule,
  budgetName,
} from '../../src/common/core/budget-rules.js';
import type { EndpointName, Format } from '../../src/common/core/endpoint.js';
import type { RateMeasure, RatePolicy, RateRule } from '../../src/common/core/rate-rules.js';
import { endpoints } from '../../src/data-plane/endpoints/table.js';
import type { Ask } from '../support/bare-worker.js';
import { LimitedWorkers } from '../support/limited-workers.js';

const model = 'gpt-4o-mini';
const messages = [{ role: 'user', content: 'Hello' }];
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
const gemini = (method: string): string => `/v1beta/models/${model}:${method}`;

/** Of endpoints that the gateway answers itself, or not at all, where the provider has none: one that has. */
const providers: Partial<Record<EndpointName, string>> = {
  rerank: 'cohere',
  'count-tokens': 'anthropic',
  'gemini-count-tokens': 'google',
};

/** A request of each endpoint. */
const requests: Readonly<Record<Exclude<EndpointName, 'admin' | 'health'>, Partial<Record<Format, Ask>>>> = {
  chat: { 'openai-chat': { body: { model, messages } } },
  completions: { 'openai-completions': { path: '/v1/completions', body: { model, prompt: 'Hello' } } },
  embeddings: { 'openai-embeddings': { path: '/v1/embeddings', body: { model, input: 'Hello' } } },
  moderations: { 'openai-moderations': { path: '/v1/moderations', body: { input: 'Hello' } } },
  rerank: { rerank: { path: '/v1/rerank', body: { model, query: 'Hello', documents: ['a'] } } },
  responses: { 'openai-responses': { path: '/v1/responses', body: { model, input: 'Hello' } } },
  'stored-responses': { none: { method: 'GET', path: '/v1/responses/resp_1' } },
  messages: { 'anthropic-messages': { path: '/v1/messages', body: { model, max_tokens: 10, messages } } },
  'count-tokens': {
    'anthropic-count-tokens': { path: '/v1/messages/count_tokens', body: { model, messages } },
  },
  'gemini-generate': {
    'gemini-generate-content': { path: gemini('generateContent'), body: { contents } },
  },
  'gemini-count-tokens': { 'gemini-count-tokens': { path: gemini('countTokens'), body: { contents } } },
  'gemini-embed': {
    'gemini-embed-content': { path: gemini('embedContent'), body: { content: contents[0]! } },
    'gemini-batch-embed-contents': {
      path: gemini('batchEmbedContents'),
      body: { requests: [{ model: `models/${model}`, content: contents[0]! }] },
    },
  },
  models: { none: { method: 'GET', path: '/v1/models' } },
  // Reading files, batches and jobs goes on without a budget.
  passthrough: { none: { method: 'GET', path: '/v1/assistants' } },
};

/** Requests that reach the same endpoints in another way. */
const others: Readonly<Record<string, readonly [EndpointName, Ask]>> = {
  'a chat that streams': ['chat', { stream: true, body: { model, messages, stream: true } }],
  'messages that stream': [
    'messages',
    { path: '/v1/messages', stream: true, body: { model, max_tokens: 10, messages, stream: true } },
  ],
  'a response that streams': [
    'responses',
    { path: '/v1/responses', stream: true, body: { model, input: 'Hello', stream: true } },
  ],
  'contents that stream': [
    'gemini-generate',
    { path: gemini('streamGenerateContent'), query: 'alt=sse', stream: true, body: { contents } },
  ],
  'a picture to be made': [
    'passthrough',
    { path: '/v1/images/generations', body: { model, prompt: 'a cat' } },
  ],
  'a batch to be made': ['passthrough', { path: '/v1/batches', body: { input_file_id: 'file_1' } }],
  'a path of the provider that is deleted': [
    'passthrough',
    { method: 'DELETE', path: '/v1/assistants/asst_1' },
  ],
};

const rule = (of: RateRule['of'], measure: RateMeasure): RateRule => ({
  counter: `org/${of}/1/${measure}/`,
  of,
  name: of,
  measure,
  unit: measure === 'concurrency' ? null : 'rpm',
  value: 0,
  shadow: false,
});
const policy = (key: string, measure: 'requests' | 'tokens'): RatePolicy => ({
  id: key,
  organisationId: 'org',
  name: null,
  conditions: [{ key, value: '*' }],
  groupBy: ['workspace_id'],
  measure,
  unit: 'rpm',
  value: 0,
  shadow: false,
});

const budget = (of: BudgetRule['of'], measure: BudgetMeasure): BudgetRule => ({
  budget: budgetName('org', of, '1', measure),
  of,
  name: of,
  ...noneLeft(measure),
});
const budgetPolicy = (key: string, measure: BudgetMeasure): BudgetPolicy => ({
  id: key,
  organisationId: 'org',
  name: null,
  conditions: [{ key, value: '*' }],
  groupBy: ['workspace_id'],
  ...noneLeft(measure),
});
const noneLeft = (measure: BudgetMeasure) => ({
  measure,
  limit: 0,
  threshold: null,
  shadow: false,
  since: 0,
  nextResetAt: null,
  periodicReset: null,
  periodicResetDays: null,
});

interface Kind {
  readonly name: string;
  readonly budgets?: {
    readonly ofKey?: BudgetRule;
    readonly ofProvider?: BudgetRule;
    readonly ofWorkspace?: BudgetPolicy;
  };
  readonly ofKey?: RateRule;
  readonly ofProvider?: RateRule;
  readonly ofWorkspace?: RatePolicy;
}

/** Every kind of limit, each of which has no room. */
const kinds: readonly Kind[] = [
  ...(['requests', 'tokens', 'concurrency'] as const).flatMap((measure) => [
    { name: `the key's ${measure}`, ofKey: rule('api_key', measure) },
    { name: `the workspace's ${measure}`, ofKey: rule('workspace', measure) },
    { name: `the provider's ${measure}`, ofProvider: rule('virtual_key', measure) },
    { name: `the integration's ${measure}`, ofProvider: rule('integration', measure) },
  ]),
  ...(['requests', 'tokens'] as const).flatMap((measure) => [
    { name: `a policy's ${measure}`, ofWorkspace: policy('endpoint_type', measure) },
    { name: `a policy's ${measure} by provider`, ofWorkspace: policy('provider', measure) },
  ]),
  ...(['cost', 'tokens', 'requests'] as const).flatMap((measure) => [
    { name: `the key's budget of ${measure}`, budgets: { ofKey: budget('api_key', measure) } },
    { name: `the workspace's budget of ${measure}`, budgets: { ofKey: budget('workspace', measure) } },
    { name: `the provider's budget of ${measure}`, budgets: { ofProvider: budget('virtual_key', measure) } },
    {
      name: `the integration's budget of ${measure}`,
      budgets: { ofProvider: budget('integration', measure) },
    },
    {
      name: `a policy's budget of ${measure}`,
      budgets: { ofWorkspace: budgetPolicy('workspace_id', measure) },
    },
    {
      name: `a policy's budget of ${measure} by provider`,
      budgets: { ofWorkspace: budgetPolicy('provider', measure) },
    },
  ]),
];

describe('a limit without room', () => {
  let all: LimitedWorkers;

  before(async () => {
    all = await LimitedWorkers.start(1);
  });
  after(() => all.close());

  for (const { name, format } of endpoints)
    it(`keeps every request to ${name} (${format}) from the provider, whichever it is`, async () => {
      const request = name === 'admin' || name === 'health' ? undefined : requests[name][format];
      expect(request, 'there is no request for this endpoint').to.not.equal(undefined);
      await expectKept(name, `${name}-${format}`, request!);
    });

  for (const [what, [name, request]] of Object.entries(others))
    it(`keeps ${what} from the provider, whichever it is`, () =>
      expectKept(name, what.replaceAll(' ', '-'), request));

  async function expectKept(name: EndpointName, label: string, request: Ask): Promise<void> {
    const worker = all.workers[0]!;
    for (const [i, kind] of kinds.entries()) {
      const slug = `${label}-${i}`;
      worker.addProvider(slug, {
        provider: providers[name] ?? 'openai',
        ...(kind.ofProvider && { limits: [kind.ofProvider] }),
        ...(kind.budgets?.ofProvider && { budgets: [kind.budgets.ofProvider] }),
      });
      // A list of models is of no endpoint type: only policies by provider are about it.
      if (name === 'models' && kind.ofWorkspace?.id === 'endpoint_type') continue;
      const workspaceId = `ws${i}`;
      if (kind.ofWorkspace !== undefined) worker.policies.set(workspaceId, { rates: [kind.ofWorkspace] });
      if (kind.budgets?.ofWorkspace !== undefined)
        worker.policies.set(workspaceId, { rates: [], budgets: [kind.budgets.ofWorkspace] });
      const key = worker.key({
        workspaceId,
        ...(kind.ofKey && { limits: [kind.ofKey] }),
        ...(kind.budgets?.ofKey && { budgets: [kind.budgets.ofKey] }),
      });
      const before = all.sent;
      const { status, text } = await all.ask(key, { ...request, config: `{"provider":"@${slug}"}` });
      expect(status, `${kind.name}: ${text}`).to.equal(kind.budgets === undefined ? 429 : 412);
      expect(all.sent, kind.name).to.equal(before);
    }
  }
});
