import type { ProviderDefinition } from './provider.js';
import { providers } from './rows.js';

/** They name a request, a conversation or an application, and change nothing of the answer. */
const names: ReadonlySet<string> = new Set([
  'idempotency-key',
  'x-client-request-id',
  'x-ms-client-request-id',
  'x-grok-conv-id',
]);

/** Client headers that one of these is sent as they came, and that may change what it answers; lower case. */
export function mayChangeAnswers(rows: Iterable<ProviderDefinition>): string[] {
  return [...rows]
    .flatMap(({ passHeaders = [], headers = {} }) => [...passHeaders, ...Object.keys(headers)])
    .filter((name) => !names.has(name));
}

/** The same of the gateway's own providers. */
export const sentOnHeaders: ReadonlySet<string> = new Set(mayChangeAnswers(providers.values()));
