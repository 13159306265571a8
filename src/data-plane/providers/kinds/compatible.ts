import type { Format } from '../../../common/core/endpoint.js';
import { openAiDialect } from '../formats/openai-dialect.js';
import type { ChatFormat, ProviderDefinition, Quirk } from '../provider.js';
import { developerAsSystem, mistralQuirks, noEffortAsNoThinking, rename } from '../quirks.js';

const chat = { 'openai-chat': '/chat/completions' } as const;
const completions = { 'openai-completions': '/completions' } as const;
const embeddings = { 'openai-embeddings': '/embeddings' } as const;
const responses = { 'openai-responses': '/responses' } as const;
const rerank = { 'jina-rerank': '/rerank' } as const;

interface Compatible {
  readonly base: string;
  readonly source: string;
  readonly paths?: Readonly<Partial<Record<Format, string>>>;
  readonly passHeaders?: readonly string[];
  readonly quirks?: readonly Quirk[];
  readonly dialect?: ChatFormat;
  readonly wantsThinkingBack?: true;
}

/**
 * A provider of OpenAI's format with a bearer key: its address and its endpoints, by default chat alone. Bodies pass
 * unchanged, so fields that only this provider has reach it. `source` is the provider's own page to check a row by.
 */
const compatible: Readonly<Record<string, Compatible>> = {
  '302ai': { base: 'https://api.302.ai/v1', source: 'https://doc.302.ai' },
  ai21: {
    base: 'https://api.ai21.com/studio/v1',
    source: 'https://docs.ai21.com/reference/jamba-1-6-api-ref',
  },
  baseten: {
    base: 'https://inference.baseten.co/v1',
    source: 'https://docs.baseten.co/inference/model-apis/overview',
  },
  cerebras: {
    base: 'https://api.cerebras.ai/v1',
    source: 'https://inference-docs.cerebras.ai/resources/openai',
    paths: { ...chat, ...completions },
  },
  chutes: { base: 'https://llm.chutes.ai/v1', source: 'https://llm.chutes.ai/v1/models' },
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
  deepseek: {
    base: 'https://api.deepseek.com/v1',
    source: 'https://api-docs.deepseek.com/api/create-chat-completion',
    quirks: [developerAsSystem, noEffortAsNoThinking],
    dialect: openAiDialect,
    // 400 "Missing `reasoning_content` field" without (api-docs.deepseek.com/guides/thinking_mode#tool-calls).
    wantsThinkingBack: true,
  },
  digitalocean: {
    base: 'https://inference.do-ai.run/v1',
    source: 'https://docs.digitalocean.com/products/gradient-ai-platform/details/models/',
  },
  'featherless-ai': {
    base: 'https://api.featherless.ai/v1',
    source: 'https://featherless.ai/docs/overview',
    paths: { ...chat, ...completions },
  },
  'fireworks-ai': {
    base: 'https://api.fireworks.ai/inference/v1',
    source: 'https://docs.fireworks.ai/tools-sdks/openai-compatibility, /guides/response-api',
    paths: { ...chat, ...completions, ...embeddings, ...responses },
  },
  friendli: {
    base: 'https://api.friendli.ai/serverless/v1',
    source: 'https://friendli.ai/docs/guides/serverless_endpoints/introduction',
    paths: { ...chat, ...completions },
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
  inception: { base: 'https://api.inceptionlabs.ai/v1', source: 'https://platform.inceptionlabs.ai/docs' },
  'inference-net': { base: 'https://api.inference.net/v1', source: 'https://docs.inference.net' },
  iointelligence: {
    base: 'https://api.intelligence.io.solutions/api/v1',
    source: 'https://docs.io.net/docs/ai-models',
    paths: { ...chat, ...embeddings },
  },
  jina: {
    base: 'https://api.jina.ai/v1',
    source: 'https://api.jina.ai/redoc',
    paths: { ...embeddings, ...rerank },
  },
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
  lingyi: { base: 'https://api.lingyiwanwu.com/v1', source: 'https://platform.lingyiwanwu.com/docs' },
  minimax: {
    base: 'https://api.minimax.io/v1',
    source: 'https://platform.minimax.io/docs/api-reference/text-openai-api',
    paths: { ...chat, ...responses },
  },
  'mistral-ai': {
    base: 'https://api.mistral.ai/v1',
    source: 'https://docs.mistral.ai/api',
    paths: { ...chat, ...embeddings, 'openai-moderations': '/moderations' },
    quirks: mistralQuirks,
    dialect: openAiDialect,
  },
  monsterapi: { base: 'https://llm.monsterapi.ai/v1', source: 'https://developer.monsterapi.ai' },
  moonshot: {
    base: 'https://api.moonshot.cn/v1',
    source: 'https://platform.moonshot.ai/docs/api/chat',
    // 400 "thinking is enabled but reasoning_content is missing" without (github.com/continuedev/continue/issues/11600).
    wantsThinkingBack: true,
  },
  morph: {
    base: 'https://api.morphllm.com/v1',
    source: 'https://docs.morphllm.com/api-reference/introduction',
  },
  nebius: {
    base: 'https://api.tokenfactory.nebius.com/v1',
    source: 'https://docs.tokenfactory.nebius.com/',
    paths: { ...chat, ...completions, ...embeddings },
  },
  'novita-ai': {
    base: 'https://api.novita.ai/openai/v1',
    source: 'https://novita.ai/docs/api-reference/model-apis-llm-create-chat-completion',
    paths: { ...chat, ...completions, ...embeddings, ...rerank },
  },
  nscale: {
    base: 'https://inference.api.nscale.com/v1',
    source: 'https://docs.nscale.com/docs/inference/chat',
  },
  nvidia: {
    base: 'https://integrate.api.nvidia.com/v1',
    source: 'https://docs.api.nvidia.com/nim/',
    paths: { ...chat, ...embeddings },
  },
  openrouter: {
    base: 'https://openrouter.ai/api/v1',
    source: 'https://openrouter.ai/docs/api-reference/overview',
    paths: { ...chat, ...completions, ...embeddings },
    // `X-Title` is the older name of `X-OpenRouter-Title`.
    passHeaders: ['http-referer', 'x-title', 'x-openrouter-title', 'x-openrouter-categories'],
  },
  ovhcloud: {
    base: 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1',
    source: 'https://help.ovhcloud.com/csm/en-public-cloud-ai-endpoints-getting-started',
  },
  'perplexity-ai': {
    base: 'https://api.perplexity.ai',
    source: 'https://docs.perplexity.ai/api-reference/chat-completions-post',
  },
  poe: {
    base: 'https://api.poe.com/v1',
    source: 'https://creator.poe.com/docs/external-applications/openai-compatible-api',
  },
  sambanova: { base: 'https://api.sambanova.ai/v1', source: 'https://docs.sambanova.ai/cloud/api-reference' },
  scaleway: {
    base: 'https://api.scaleway.ai/v1',
    source: 'https://www.scaleway.com/en/docs/generative-apis/',
    paths: { ...chat, ...embeddings },
  },
  siliconflow: {
    base: 'https://api.siliconflow.cn/v1',
    source: 'https://docs.siliconflow.cn/en/api-reference',
    paths: { ...chat, ...embeddings, ...rerank },
  },
  stepfun: {
    base: 'https://api.stepfun.com/v1',
    source: 'https://platform.stepfun.com/docs/zh/overview/concept',
  },
  'together-ai': {
    base: 'https://api.together.xyz/v1',
    source: 'https://docs.together.ai/reference/chat-completions-1',
    paths: { ...chat, ...completions, ...embeddings, ...rerank },
    dialect: openAiDialect,
  },
  upstage: {
    base: 'https://api.upstage.ai/v1/solar',
    source: 'https://console.upstage.ai/api/chat',
    paths: { ...chat, ...embeddings },
  },
  voyage: {
    base: 'https://api.voyageai.com/v1',
    source: 'https://docs.voyageai.com/reference/embeddings-api',
    paths: { ...embeddings, 'voyage-rerank': '/rerank' },
    // voyageai names the length of a vector differently.
    quirks: [rename('dimensions', 'output_dimension')],
  },
  vultr: { base: 'https://api.vultrinference.com/v1', source: 'https://api.vultrinference.com/' },
  wandb: {
    base: 'https://api.inference.wandb.ai/v1',
    source: 'https://docs.wandb.ai/guides/integrations/inference/',
  },
  'x-ai': {
    base: 'https://api.x.ai/v1',
    source: 'https://docs.x.ai/developers/rest-api-reference/inference/responses, /chat',
    paths: { ...chat, ...completions, ...embeddings, ...responses },
    // Leads the calls of a conversation to the server that has cached its beginning.
    passHeaders: ['x-grok-conv-id'],
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
  // Servers one runs oneself, and services that give each customer an address. They have none of their own: `.invalid`
  // (RFC 6761) resolves nowhere, so a call without a custom host or a stored base URL cannot reach whatever listens on
  // the gateway's own machine. A key is sent where there is one.
  databricks: {
    base: 'http://databricks.needs-a-base-url.invalid/serving-endpoints',
    source: 'https://docs.databricks.com/aws/en/machine-learning/model-serving/score-foundation-models',
    paths: { ...chat, ...completions, ...embeddings, ...responses },
  },
  ollama: {
    base: 'http://ollama.needs-a-base-url.invalid/v1',
    source: 'https://docs.ollama.com/api/openai-compatibility',
    paths: { ...chat, ...completions, ...embeddings },
    // It reads `max_tokens` alone, and hands roles on to templates that leave out one they have no place for
    // (github.com/ollama/ollama/blob/main/openai/openai.go): a limit or the instructions would be lost in silence.
    quirks: [rename('max_completion_tokens', 'max_tokens'), developerAsSystem],
  },
  vllm: {
    base: 'http://vllm.needs-a-base-url.invalid/v1',
    source: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
    paths: { ...chat, ...completions, ...embeddings, ...rerank },
  },
  'lm-studio': {
    base: 'http://lm-studio.needs-a-base-url.invalid/v1',
    source: 'https://lmstudio.ai/docs/developer/openai-compat',
    paths: { ...chat, ...completions, ...embeddings },
  },
  /** Any server that follows OpenAI's API. */
  'openai-compatible': {
    base: 'http://openai-compatible.needs-a-base-url.invalid/v1',
    source: 'https://platform.openai.com/docs/api-reference',
    paths: { ...chat, ...completions, ...embeddings, 'openai-moderations': '/moderations', ...rerank },
  },
};

/** The rows of all of them. */
export const compatibleProviders: readonly ProviderDefinition[] = Object.entries(compatible).map(
  ([name, given]) => ({
    name,
    auth: { kind: 'bearer' },
    paths: chat,
    ...given,
  }),
);
