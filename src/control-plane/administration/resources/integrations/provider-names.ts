import { nearestName } from '../../../../common/text/nearest.js';
import { AdminError } from '../../admin-error.js';
import type { AdminParts } from '../../service.js';

/** Older spellings. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['open-ai', 'openai'],
  ['hugging-face', 'huggingface'],
]);

/** The gateway's own name of a provider. */
export const currentName = (name: string): string => renamed.get(name) ?? name;

/** The provider that a request names. Throws AB01 for one that has no row: nothing could ever be called by it. */
export function providerNamed(parts: AdminParts, name: string, path: string): string {
  const provider = currentName(name);
  if (parts.providers.has(provider)) return provider;
  const meant = nearestName(provider, parts.providers.names());
  const hint =
    meant === null
      ? 'docs/providers.md lists those that it can; openai-compatible with a custom_host is any other server that follows the API of OpenAI'
      : `did you mean ${meant}?`;
  throw AdminError.field(
    path,
    `is no provider that the gateway can call: ${JSON.stringify(name.slice(0, 80))}: ${hint}${meant === null ? '.' : ''}`,
  );
}

/** Throws AB01 where calls would have nowhere to go: `hasAddress`: is one stored, or mapped to a secret? */
export function checkAddress(parts: AdminParts, provider: string, path: string, hasAddress: boolean): void {
  if (hasAddress || !parts.providers.needsAddress(provider)) return;
  throw AdminError.field(
    path,
    `is required for ${provider}, which has no address of its own: give its base URL, version segment included.`,
  );
}

/** Servers of one's own, and providers whose credential is in their configurations. */
const keyless: ReadonlySet<string> = new Set([
  'bedrock',
  'sagemaker',
  'oracle',
  'ollama',
  'vllm',
  'lm-studio',
]);

/** Does this provider require a key? */
export function needsKey(provider: string, configurations: Readonly<Record<string, unknown>>): boolean {
  if (keyless.has(provider) || configurations['custom_host'] !== undefined) return false;
  if (provider === 'vertex-ai') {
    const type = configurations['vertex_auth_type'];
    return type !== 'serviceAccount' && type !== 'workloadIdentity';
  }
  const mode = configurations['azure_auth_mode'];
  return mode === undefined || mode === 'default';
}
