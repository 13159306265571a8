import { providers } from './rows.js';

/** They name a request, a conversation or an application, and change nothing of the answer. */
const names: ReadonlySet<string> = new Set([
  'idempotency-key',
  'x-client-request-id',
  'x-ms-client-request-id',
  'x-grok-conv-id',
]);

/** Client headers that some provider is sent as they came, and that may change what it answers; lower case. */
export const sentOnHeaders: ReadonlySet<string> = new Set(
  [...providers.values()]
    .flatMap(({ passHeaders = [], headers = {} }) => [...passHeaders, ...Object.keys(headers)])
    .filter((name) => !names.has(name)),
);
