/**
 * Paths of the administration that have no route yet. They are refused (501) and never passed through to a provider:
 * what clients send there (credentials, prompts, feedback) is meant for the gateway. `/**`: the path itself and
 * everything under it. A route wins over a row here, so a row goes when its routes exist.
 */
export const reservedPaths: readonly string[] = [
  '/v1/agent-integrations/**',
  '/v1/agent-servers/**',
  '/v1/auth/**',
  '/v1/gateway/**',
  '/v1/mcp-integrations/**',
  '/v1/mcp-servers/**',
  '/v1/prompts/**',
  '/v1/utils/**',
  '/v1/v2/organisations/**',
  '/v1/v2/tools/**',
  '/v2/organisations/**',
  '/v2/tools/**',
];
