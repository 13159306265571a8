import type { Format } from '../core/endpoint.js';
import type { Provider, Quirk } from './provider.js';
import { rename, revalue } from './quirks.js';

const chat = { 'openai-chat': '/chat/completions' } as const;
const completions = { 'openai-completions': '/completions' } as const;
const embeddings = { 'openai-embeddings': '/embeddings' } as const;

interface Compatible {
  readonly base: string;
  readonly source: string;
  readonly paths?: Readonly<Partial<Record<Format, string>>>;
  readonly passHeaders?: readonly string[];
  readonly quirks?: readonly Quirk[];
}

/**
 * Who speaks OpenAI's wire with a bearer key: an address and the endpoints it has, chat alone unless said. Bodies pass
 * as they come, so fields that only this provider knows reach it. `source` is the provider's own page to check a row by.
 */
const compatible: Readonly<Record<string, Compatible>> = {
  cerebras: {
    base: 'https://api.cerebras.ai/v1',
    source: 'https://inference-docs.cerebras.ai/resources/openai',
    paths: { ...chat, ...completions },
  },
  cometapi: {
    base: 'https://api.cometapi.com/v1',
    source: 'https://api.cometapi.com/doc',
    paths: { ...chat, ...embeddings },
  },
  dashscope: {
    base: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    source: 'https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope',
    paths: { ...chat, ...embeddings },
  },
  deepinfra: {
    base: 'https://api.deepinfra.com/v1/openai',
    source: 'https://deepinfra.com/docs/openai_api',
    paths: { ...chat, ...completions, ...embeddings },
  },
  deepseek: { base: 'https://api.deepseek.com/v1', source: 'https://api-docs.deepseek.com' },
  'featherless-ai': {
    base: 'https://api.featherless.ai/v1',
    source: 'https://featherless.ai/docs/overview',
    paths: { ...chat, ...completions },
  },
  'fireworks-ai': {
    base: 'https://api.fireworks.ai/inference/v1',
    source: 'https://docs.fireworks.ai/tools-sdks/openai-compatibility',
    paths: { ...chat, ...completions, ...embeddings },
  },
  github: {
    base: 'https://models.github.ai/inference',
    source: 'https://docs.github.com/en/rest/models/inference',
    paths: { ...chat, ...embeddings },
  },
  groq: { base: 'https://api.groq.com/openai/v1', source: 'https://console.groq.com/docs/openai' },
  huggingface: {
    base: 'https://router.huggingface.co/v1',
    source: 'https://huggingface.co/docs/inference-providers/tasks/chat-completion',
  },
  hyperbolic: {
    base: 'https://api.hyperbolic.xyz/v1',
    source: 'https://docs.hyperbolic.xyz/docs/inference-api',
    paths: { ...chat, ...completions },
  },
  'inference-net': { base: 'https://api.inference.net/v1', source: 'https://docs.inference.net' },
  iointelligence: {
    base: 'https://api.intelligence.io.solutions/api/v1',
    source: 'https://docs.io.net/docs/ai-models',
    paths: { ...chat, ...embeddings },
  },
  jina: { base: 'https://api.jina.ai/v1', source: 'https://jina.ai/embeddings', paths: embeddings },
  'kluster-ai': {
    base: 'https://api.kluster.ai/v1',
    source: 'https://docs.kluster.ai',
    paths: { ...chat, ...embeddings },
  },
  lambda: {
    base: 'https://api.lambdalabs.com/v1',
    source: 'https://docs.lambda.ai/public-cloud/lambda-inference-api',
    paths: { ...chat, ...completions },
  },
  'lemonfox-ai': { base: 'https://api.lemonfox.ai/v1', source: 'https://www.lemonfox.ai/apis/chat' },
  'mistral-ai': {
    base: 'https://api.mistral.ai/v1',
    source: 'https://docs.mistral.ai/api',
    paths: { ...chat, ...embeddings, 'openai-moderations': '/moderations' },
    // Unknown fields are refused with 422 `extra_forbidden` (github.com/editor-code-assistant/eca/issues/231).
    quirks: [
      rename('max_completion_tokens', 'max_tokens'),
      rename('seed', 'random_seed'),
      revalue('tool_choice', 'required', 'any'),
    ],
  },
  moonshot: { base: 'https://api.moonshot.cn/v1', source: 'https://platform.moonshot.ai/docs/api/chat' },
  monsterapi: { base: 'https://llm.monsterapi.ai/v1', source: 'https://developer.monsterapi.ai' },
  nebius: {
    base: 'https://api.studio.nebius.ai/v1',
    source: 'https://docs.nebius.com/studio/inference/api',
    paths: { ...chat, ...completions, ...embeddings },
  },
  'novita-ai': {
    base: 'https://api.novita.ai/v3/openai',
    source: 'https://novita.ai/docs/guides/llm-api',
    paths: { ...chat, ...completions },
  },
  nscale: {
    base: 'https://inference.api.nscale.com/v1',
    source: 'https://docs.nscale.com/docs/inference/chat',
  },
  openrouter: {
    base: 'https://openrouter.ai/api/v1',
    source: 'https://openrouter.ai/docs/api-reference/overview',
    paths: { ...chat, ...completions, ...embeddings },
    passHeaders: ['http-referer', 'x-title'],
  },
  ovhcloud: {
    base: 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1',
    source: 'https://help.ovhcloud.com/csm/en-public-cloud-ai-endpoints-getting-started',
  },
  'perplexity-ai': {
    base: 'https://api.perplexity.ai',
    source: 'https://docs.perplexity.ai/api-reference/chat-completions-post',
  },
  sambanova: { base: 'https://api.sambanova.ai/v1', source: 'https://docs.sambanova.ai/cloud/api-reference' },
  siliconflow: {
    base: 'https://api.siliconflow.cn/v1',
    source: 'https://docs.siliconflow.cn/en/api-reference',
    paths: { ...chat, ...embeddings },
  },
  'together-ai': {
    base: 'https://api.together.xyz/v1',
    source: 'https://docs.together.ai/docs/openai-api-compatibility',
    paths: { ...chat, ...completions, ...embeddings },
  },
  upstage: {
    base: 'https://api.upstage.ai/v1/solar',
    source: 'https://console.upstage.ai/api/chat',
    paths: { ...chat, ...embeddings },
  },
  voyage: {
    base: 'https://api.voyageai.com/v1',
    source: 'https://docs.voyageai.com/reference/embeddings-api',
    paths: embeddings,
    // voyageai names the length of a vector differently.
    quirks: [rename('dimensions', 'output_dimension')],
  },
  'x-ai': {
    base: 'https://api.x.ai/v1',
    source: 'https://docs.x.ai/docs/api-reference',
    paths: { ...chat, ...completions, ...embeddings },
  },
  'z-ai': {
    base: 'https://api.z.ai/api/paas/v4',
    source: 'https://docs.z.ai/api-reference/llm/chat-completion',
  },
  zhipu: {
    base: 'https://open.bigmodel.cn/api/paas/v4',
    source: 'https://docs.bigmodel.cn/cn/guide/develop/openai/introduction',
    paths: { ...chat, ...embeddings },
  },
  // Servers one runs oneself. They have no address of their own: `.invalid` (RFC 6761) resolves nowhere, so a call
  // without a custom host or a stored base URL cannot reach whatever listens on the gateway's own machine. A key is
  // sent where there is one.
  ollama: {
    base: 'http://ollama.needs-a-base-url.invalid/v1',
    source: 'https://docs.ollama.com/api/openai-compatibility',
    paths: { ...chat, ...completions, ...embeddings },
  },
  vllm: {
    base: 'http://vllm.needs-a-base-url.invalid/v1',
    source: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
    paths: { ...chat, ...completions, ...embeddings },
  },
};

/** The rows of all of them. */
export const compatibleProviders: readonly Provider[] = Object.entries(compatible).map(([name, given]) => ({
  name,
  auth: { kind: 'bearer' },
  paths: chat,
  ...given,
}));
