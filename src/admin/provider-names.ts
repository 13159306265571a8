import { AdminError } from './admin-error.js';
import type { AdminParts } from './service.js';

/** Providers that can be stored (spec/api.md §5.2, §5.4) though no row says yet how they are called. */
const storedOnly: ReadonlySet<string> = new Set([
  'anyscale',
  'cortex',
  'nomic',
  'oracle',
  'palm',
  'predibase',
  'reka-ai',
  'sagemaker',
  'segmind',
  'stability-ai',
  'workers-ai',
]);

/** Older spellings. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['open-ai', 'openai'],
  ['hugging-face', 'huggingface'],
]);

/** The provider that a request names. Throws AB01 for one that nobody knows. */
export function providerNamed(parts: AdminParts, name: string, path: string): string {
  const provider = renamed.get(name) ?? name;
  if (parts.isProvider(provider) || storedOnly.has(provider)) return provider;
  throw AdminError.field(
    path,
    `is no provider that the gateway knows: ${JSON.stringify(name.slice(0, 80))}.`,
  );
}

/** Servers of one's own, and providers whose credential stands in their configurations. */
const keyless: ReadonlySet<string> = new Set([
  'bedrock',
  'sagemaker',
  'oracle',
  'ollama',
  'vllm',
  'lm-studio',
]);

/** Can nobody call this provider without a key? */
export function needsKey(provider: string, configurations: Readonly<Record<string, unknown>>): boolean {
  if (keyless.has(provider) || configurations['custom_host'] !== undefined) return false;
  if (provider === 'vertex-ai') {
    const type = configurations['vertex_auth_type'];
    return type !== 'serviceAccount' && type !== 'workloadIdentity';
  }
  const mode = configurations['azure_auth_mode'];
  return mode === undefined || mode === 'default';
}
