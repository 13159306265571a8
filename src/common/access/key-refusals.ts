/** Sentences of the administration for a call without a key. */
export const missingKey = 'Send a gateway key in x-gateway-api-key, or in authorization as a bearer token.';
/** One for keys that are malformed, unknown, deleted or expired. */
export const invalidKey = 'This gateway key is not known, or no longer valid.';
/** To a key of an organisation with several workspaces that names none of them. */
export const severalWorkspaces = 'workspace_id is required: this organisation has several workspaces.';
export const severalKeys = 'Send one key.';
export const bareAuthorization =
  'authorization must be "Bearer <gateway key>"; send a key alone in x-gateway-api-key.';
