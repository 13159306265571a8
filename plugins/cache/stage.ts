import { defineStage } from '../../src/common/plugin-host/plugin.js';

const mebibyte = 1024 * 1024;
/** 90 days. */
const longestSeconds = 7_776_000;

export default defineStage({
  name: 'cache',
  needs: ['upstream', 'costs', 'tokens', 'bodies', 'channel'],
  control: true,
  settings: {
    memoryBytes: {
      unit: 'bytes',
      minimum: 0,
      maximum: 64 * 1024 * mebibyte,
      default: 64 * mebibyte,
      doc: 'Cached answers that each data worker keeps in memory.',
    },
    storeBytes: {
      unit: 'bytes',
      minimum: 0,
      maximum: 1024 * 1024 * mebibyte,
      default: 1024 * mebibyte,
      doc: 'Cached answers kept on disk for all data workers; 0: none.',
    },
    entryBytes: {
      unit: 'bytes',
      minimum: 0,
      maximum: 64 * mebibyte,
      default: mebibyte,
      doc: 'Longest answer that is cached.',
    },
    maxAge: {
      unit: 'seconds',
      minimum: 1,
      maximum: longestSeconds,
      default: longestSeconds,
      doc: 'No answer is cached for longer, even if a config or header requests it.',
    },
    waitMs: {
      unit: 'milliseconds',
      minimum: 0,
      maximum: 86_400_000,
      default: 50,
      doc: 'How long a call waits for an answer that other data workers or nodes may have; after that it is sent to the provider.',
    },
    embedding: {
      type: 'provider/model',
      pattern: '^@?[A-Za-z0-9][A-Za-z0-9._-]{0,127}/\\S{1,256}$',
      wanted: 'must be a provider and an embedding model, as in @openai-prod/text-embedding-3-small',
      default: null,
      doc: "The provider and model that embed questions for the semantic cache where a config names none: a provider's name, or the @slug of one stored in the caller's workspace, a slash, and the model.",
    },
    vectorBytes: {
      unit: 'bytes',
      minimum: 0,
      maximum: 1024 * 1024 * mebibyte,
      default: 256 * mebibyte,
      doc: 'Vectors of questions kept for the semantic cache; 0: none, so that the semantic cache finds nothing.',
    },
    checkPercent: {
      unit: 'percent',
      minimum: 0,
      maximum: 100,
      default: 1,
      doc: "Percentage of the semantic cache's hits that are compared with a new answer, whose cost is added.",
    },
  },
  replyHeaders: {
    'cache-status': '`HIT`, `MISS`, `REFRESH`, `SEMANTIC HIT`, `SEMANTIC MISS`, or `DISABLED`.',
  },
  metrics: {
    gateway_cache_hits_total: 'Answers from the cache.',
    gateway_cache_misses_total: 'Calls that the cache had no answer to.',
    gateway_cache_semantic_hits_total: 'Answers from the cache to a question in other words.',
    gateway_cache_semantic_misses_total: 'Calls that nothing known resembled.',
    gateway_cache_semantic_checks_total: 'Semantic hits checked against a fresh answer, by outcome.',
    gateway_cache_memory_bytes: 'Answers in memory.',
  },
});
